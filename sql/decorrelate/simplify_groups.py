"""Groups over a left join: the rows without partner serve only to make groups be there."""

from __future__ import annotations

from dataclasses import replace

from sql.decorrelate.expand_joins import padded
from sql.decorrelate.expand_predicates import null_with
from sql.ir.aggregates import aggregate_of
from sql.ir.relation import Aggregate, Apply, Project, Reduce, Relation, Union
from sql.ir.scalar import Scalar, columns_of, remap


def over_matches(reduce: Reduce) -> Reduce:
    """The reduce over (L join R) + (L with NULLs) in place of L left join R, where that is the same.

    It is if the keys read L and each aggregate skips the rows in which all columns of R are NULL: those rows only say
    that a group is there, and that they do as well for a group that has partners. So no row has to be taken away
    when its first partner comes, and nobody has to know which rows have one.
    """
    renamed = _below(reduce)
    if renamed is None:
        return reduce
    apply, keys, aggregates = renamed
    width, total = len(apply.left.schema), len(apply.schema)
    if not all(c < width for key in keys for c in columns_of(key)):
        return reduce
    if not all(_skips(aggregate, width, total) for aggregate in aggregates):
        return reduce
    matches: Relation = replace(apply, kind="inner")
    if keys:
        matches = Union((matches, padded(apply.left, apply.right.schema)))
    return Reduce(matches, keys, aggregates, reduce.names)


def _below(reduce: Reduce) -> tuple[Apply, tuple[Scalar, ...], tuple[Aggregate, ...]] | None:
    """The left join that is reduced, with keys and aggregates over its columns."""
    keys, aggregates, relation = reduce.keys, reduce.aggregates, reduce.input
    while isinstance(relation, Project):
        columns = relation.columns
        if any(a.arg is None or _has_more(a) for a in aggregates):
            return None
        keys = tuple(remap(key, columns.__getitem__) for key in keys)
        aggregates = tuple(replace(a, arg=remap(a.arg, columns.__getitem__)) for a in aggregates if a.arg is not None)
        relation = relation.input
    if isinstance(relation, Apply) and relation.kind == "left":
        return relation, keys, aggregates
    return None


def _has_more(aggregate: Aggregate) -> bool:
    """Whether the aggregate reads more than its argument."""
    return aggregate != Aggregate(aggregate.function, aggregate.arg, aggregate.type, aggregate.nullable)


def _skips(aggregate: Aggregate, width: int, total: int) -> bool:
    arg = aggregate.arg
    if arg is None or not aggregate_of(aggregate.function).skips_nulls:
        return False
    return any(null_with(arg, column) for column in range(width, total))
