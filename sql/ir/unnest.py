"""Rows made of the elements of lists."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from catalog.schema import Field, Schema
from catalog.types import BIGINT, SqlType
from sql.ir.compared_once import Remembering, compared_once
from sql.ir.functions.series import COUNTED
from sql.ir.scalar import Call, Scalar

if TYPE_CHECKING:
    from sql.ir.relation import Relation


@compared_once
class Unnest(Remembering):
    """R'(r, e1, .., en) = R(r) for each place in the longest of the lists of r, with the element of each list there.

    A list that is shorter has NULL there, and a list that is NULL is an empty one. With `numbered` the place, from 1,
    stands behind the elements. With `optional` a row whose lists are all empty has one place, which is NULL as its
    elements are. `names` are those of the columns that are added. Memory: none.
    """

    input: Relation
    lists: tuple[Scalar, ...]
    names: tuple[str, ...]
    numbered: bool = False
    optional: bool = False

    @cached_property
    def schema(self) -> Schema:
        """The input's fields, then one for each list, then the place."""
        return (*self.input.schema, *self.added)

    @property
    def added(self) -> Schema:
        """The fields that are added."""
        several = len(self.lists) > 1 or self.optional
        fields = [
            Field(name, _element_of(each), several or _has_nulls(each))
            for name, each in zip(self.names, self.lists, strict=False)
        ]
        return (*fields, *([Field(self.names[-1], BIGINT, self.optional)] if self.numbered else []))


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
