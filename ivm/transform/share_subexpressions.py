"""A value that several expressions of a Reduce need is computed once, by a Map below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ivm.analysis.ranges import can_raise
from ivm.sql.ir.functions import function_of
from ivm.sql.ir.rebuild import with_inputs, with_scalars
from ivm.sql.ir.relation import Reduce, Relation
from ivm.sql.ir.scalar import Call, Column, Scalar, walk
from ivm.transform.rewrite import at_each, mapped


@at_each(Reduce)
def share_subexpressions(relation: Reduce) -> Relation:
    """Move the calls that several expressions of a Reduce (keys, arguments of aggregates) contain into Maps below it.

    `sum(a * b), sum(a * b * c)` becomes two sums over `m := a * b`, of `m` and `m * c`. A branch of a CASE runs on some
    rows only, so a call in it moves only if it cannot raise, or if it runs on all rows elsewhere. Whole arguments that
    occur twice need no map: the planner computes each distinct argument once.
    """
    roots = (*relation.keys, *(scalar for a in relation.aggregates for scalar in a.scalars))
    below = relation.input
    places: dict[Scalar, Column] = {}
    # A larger one may contain a smaller one.
    for scalar in sorted(_shared(tuple(dict.fromkeys(roots))), key=lambda each: sum(1 for _ in walk(each))):
        inner = _replaced(scalar, places)
        places[scalar] = Column(len(below.schema), scalar.type, scalar.nullable)
        below = mapped(below, (inner,), (f"shared{len(places)}",))
    if not places:
        return relation
    return with_inputs(with_scalars(relation, lambda s: _replaced(s, places)), (below,))


def _shared(roots: tuple[Scalar, ...]) -> list[Scalar]:
    """The calls that are referred to more than once, a reference from one and the same call counting once.

    So the parts of a repeated call are not shared for its sake: they are referred to by that one call.
    """
    references = Counter(roots)
    certain = {s for root in references for s in _certain(root)}
    for call in {s for root in references for s in walk(root) if isinstance(s, Call)}:
        references.update(set(call.args))
    repeated = (s for s, n in references.items() if n > 1 and isinstance(s, Call))
    return [s for s in repeated if s in certain or not can_raise(s)]


def _certain(scalar: Scalar) -> Iterable[Scalar]:
    """The sub-expressions that run on every row."""
    yield scalar
    if isinstance(scalar, Call):
        for arg in scalar.args[:1] if function_of(scalar.function).lazy else scalar.args:
            yield from _certain(arg)


def _replaced(scalar: Scalar, places: dict[Scalar, Column]) -> Scalar:
    """The expression with the largest calls that have a place read from there."""
    if scalar in places:
        return places[scalar]
    if not isinstance(scalar, Call):
        return scalar
    return Call(scalar.function, tuple(_replaced(a, places) for a in scalar.args), scalar.type, scalar.nullable)
