"""What a node can want of the rows of its input, as the dataflow routes by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ivm.analysis.wanted import wanted
from ivm.catalog.types import Physical
from ivm.dataflow.routing import Range, Wants
from ivm.sql.ir.scalar import Scalar
from ivm.trace.text.dictionary import Literals, TextDictionary


def wants_of(predicates: tuple[Scalar, ...], first: int, width: int, dictionary: TextDictionary) -> tuple[Wants, ...]:
    """What predicates want of the `width` columns of an input, which are columns `first` and following to them."""
    found = []
    for each in wanted(predicates, first + width):
        column, physical = each.column - first, each.type.physical
        if physical is Physical.CODE:
            held = Literals(dictionary)
            codes = held.codes([str(text) for text, _ in each.ranges])
            found.append(Wants(column, physical, [(code, code) for code in codes], held))
        else:
            found.append(Wants(column, physical, cast(Sequence[Range], each.ranges)))
    return tuple(found)
