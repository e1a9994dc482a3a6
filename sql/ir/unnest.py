"""What rows get that are made of lists.

A list that is shorter than another has NULL at the places that it does not have, and a list that is NULL is an empty
one. If they are `numbered`, the place, from 1, stands behind the elements. With `optional` a row whose lists are all
empty has one place, which is NULL as its elements are.
"""

from __future__ import annotations

from collections.abc import Sequence

from ivm.catalog.schema import Field, Schema
from ivm.catalog.types import BIGINT, SqlType
from ivm.sql.ir.functions.series import COUNTED
from ivm.sql.ir.scalar import Call, Scalar


def elements(lists: Sequence[Scalar], names: Sequence[str], numbered: bool, optional: bool) -> Schema:
    """A field for the elements of each list, and one for the place."""
    several = len(lists) > 1 or optional
    fields = [
        Field(name, _element_of(each), several or _has_nulls(each)) for name, each in zip(names, lists, strict=False)
    ]
    return (*fields, *([Field(names[-1], BIGINT, optional)] if numbered else []))


def _element_of(scalar: Scalar) -> SqlType:
    assert scalar.type.element is not None, "it is a list"
    return scalar.type.element


def _has_nulls(scalar: Scalar) -> bool:
    """Whether an element may be NULL."""
    if not isinstance(scalar, Call):
        return True
    if scalar.function == "list_value":
        return any(arg.nullable for arg in scalar.args)
    return scalar.function not in COUNTED
