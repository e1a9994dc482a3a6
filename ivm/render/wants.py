"""What a node can want of the rows of its input, as the dataflow routes by it."""

from __future__ import annotations

from catalog.types import Physical
from ivm.analysis.wanted import wanted
from ivm.dataflow.routing import Wants
from ivm.trace.text.dictionary import Literals, TextDictionary
from sql.ir.scalar import Scalar


def wants_of(predicates: tuple[Scalar, ...], first: int, width: int, dictionary: TextDictionary) -> tuple[Wants, ...]:
    """What predicates want of the `width` columns of an input, which are columns `first` and following to them."""
    found = []
    for each in wanted(predicates, first + width):
        ranges, held = each.ranges, None
        if each.column < first:
            continue
        if each.type.physical is Physical.CODE:
            held = Literals(dictionary)
            ranges = tuple((code, code) for code in held.codes([str(text) for text, _ in ranges]))
        found.append(Wants(each.column - first, each.type.physical, ranges, held))
    return tuple(found)
