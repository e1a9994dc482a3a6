"""Grouping by a unique key makes groups of one row: the aggregates are computed from that row."""

from __future__ import annotations

from collections.abc import Callable

from ivm.analysis.unique_keys import is_unique
from ivm.catalog.types import BIGINT
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.conditions import is_null
from ivm.sql.ir.relation import Reduce, Relation
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar
from ivm.transform.rewrite import at_each, expressed

_ONE, _NONE = Literal(1, BIGINT), Literal(0, BIGINT)


@at_each(Reduce)
def elide_reduce(relation: Reduce) -> Relation:
    """Replace a Reduce by a Map where its plain key columns are unique in its input.

    Only for count, sum of exact numbers, min and max: averages and deviations round in ways of their own. A Reduce
    without keys stays: it has a row over an empty input too.
    """
    if not relation.keys:
        return relation
    plain = [k.index for k in relation.keys if isinstance(k, Column)]
    rules = [(_RULES.get(aggregate.function), aggregate) for aggregate in relation.aggregates]
    values = [rule(aggregate) if rule is not None else None for rule, aggregate in rules]
    found = [value for value in values if value is not None]
    if len(found) < len(values) or not is_unique(relation.input, plain):
        return relation
    return expressed(relation.input, (*relation.keys, *found), relation.names)


def _count(aggregate: Aggregate) -> Scalar:
    arg = aggregate.arg
    if arg is None or not arg.nullable:
        return _ONE
    return Call("case", (is_null(arg), _NONE, _ONE), BIGINT, False)


def _sum(aggregate: Aggregate) -> Scalar | None:
    arg = aggregate.arg
    if arg is None or arg.type.is_float:
        return None
    return arg if arg.type == aggregate.type else Call("cast", (arg,), aggregate.type, arg.nullable)


_RULES: dict[str, Callable[[Aggregate], Scalar | None]] = {
    "count_star": _count,
    "count": _count,
    "sum": _sum,
    "min": lambda aggregate: aggregate.arg,
    "max": lambda aggregate: aggregate.arg,
}
