"""A Reduce over a join is computed from another one over the same join that has finer groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations

from ivm.analysis.non_negative import is_non_negative
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.coarser import coarser, decomposes
from ivm.sql.ir.rebuild import nodes, rebuilt
from ivm.sql.ir.relation import Join, Reduce, Relation
from ivm.sql.ir.scalar import Scalar, substitute
from ivm.transform.rewrite import names, peeled, projected


def coarsen_reduce(relation: Relation) -> Relation:
    """`sum(x)` over a join, beside `sum(x) GROUP BY k` over the same one, becomes the sum of those sums.

    So for counts, sums but of DOUBLE, which would be rounded twice, and extremes, of groups by fewer keys; and for any
    aggregates of groups by the same ones. The join must have no negative multiplicities: a group that there is not
    would count for nothing. Only over joins: to group a table twice costs less than what it saves.
    """
    reduces = [_Grouped.of(each) for each in nodes(relation) if isinstance(each, Reduce)]
    for coarse, fine in permutations((each for each in reduces if isinstance(each.base, Join)), 2):
        after = _from_finer(coarse, fine)
        if after is not None:
            return rebuilt(relation, lambda node, old=coarse.reduce, new=after: new if node is old else node)  # type: ignore[misc]
    return relation


@dataclass(frozen=True)
class _Grouped:
    """A Reduce with its keys and aggregates over `base`, where `predicates` hold."""

    reduce: Reduce
    base: Relation
    predicates: frozenset[Scalar]
    keys: tuple[Scalar, ...]
    aggregates: tuple[Aggregate, ...]

    @staticmethod
    def of(reduce: Reduce) -> _Grouped:
        below = peeled(reduce.input)
        return _Grouped(
            reduce,
            below.base,
            frozenset(below.predicates),
            tuple(substitute(key, below.columns) for key in reduce.keys),
            tuple(_canonical(each.map(lambda s: substitute(s, below.columns))) for each in reduce.aggregates),
        )


def _canonical(aggregate: Aggregate) -> Aggregate:
    """For comparison: whether there may be no row does not matter; to count what is never NULL is to count rows."""
    arg = aggregate.arg
    if aggregate.function == "count" and arg is not None and not arg.nullable and not aggregate.distinct:
        return replace(aggregate, function="count_star", arg=None, nullable=True)
    return replace(aggregate, nullable=True)


def _from_finer(coarse: _Grouped, fine: _Grouped) -> Relation | None:
    """The relation that `coarse` is, made of `fine`; None if it cannot be."""
    alike = coarse.predicates == fine.predicates and coarse.base == fine.base
    if not (alike and set(coarse.keys) <= set(fine.keys) and set(coarse.aggregates) <= set(fine.aggregates)):
        return None
    wanted = [fine.aggregates.index(each) for each in coarse.aggregates]
    keys = [fine.keys.index(key) for key in coarse.keys]
    if set(coarse.keys) == set(fine.keys):
        width = len(fine.keys)
        return projected(fine.reduce, (*keys, *(width + i for i in wanted)), names(coarse.reduce))
    if not decomposes(coarse.aggregates) or not is_non_negative(fine.base):
        return None
    made = coarser(fine.reduce, keys, wanted)
    if any(new.nullable and not old.nullable for new, old in zip(made.schema, coarse.reduce.schema, strict=True)):
        return None
    return projected(made, tuple(range(len(made.schema))), names(coarse.reduce))
