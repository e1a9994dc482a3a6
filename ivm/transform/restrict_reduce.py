"""Groups that a join would drop are not kept in the first place (sideways information passing)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ivm.analysis.fact import fact
from ivm.analysis.selectivity import selectivity
from ivm.analysis.unique_keys import unique_keys
from ivm.transform.peeled import peeled
from ivm.transform.rewrite import filtered, names, projected
from sql.ir.conditions import comparison
from sql.ir.rebuild import offsets, row, with_inputs
from sql.ir.relation import Filter, Get, Join, Reduce, Relation, inputs_of
from sql.ir.scalar import Column, Scalar

# A filter that leaves more than this share of the keys is not worth a lookup for each row that is grouped.
_MOST = 0.2


@fact
def restrict_reduce(relation: Relation) -> Relation:
    """Join(X, Reduce by k) with X.key = k, where X holds each key at most once and few of them: the Reduce's input is
    joined with X's keys first, so that it groups no row whose group the join would drop.

    Each row then meets at most one key, so the groups that are left are as they were. To be run once: it would find
    the same join again.
    """
    after = relation
    for number in range(len(after.inputs) if isinstance(after, Join) else 0):
        assert isinstance(after, Join), "the loop is empty for all else"
        after = _restricted(after, number)
    return with_inputs(after, tuple(map(restrict_reduce, inputs_of(after))))


@dataclass(frozen=True)
class _Restriction:
    """An input of a join, `by`, whose columns `keys` are a unique key and equal keys `grouped` of the Reduce."""

    by: Relation
    keys: tuple[int, ...]
    grouped: tuple[int, ...]


def _restricted(join: Join, number: int) -> Join:
    """The join with its input `number` restricted, if that is a Reduce and something restricts it."""
    target = join.inputs[number]
    found = _reduce_below(target)
    if found is None:
        return join
    reduce, places = found
    starts = offsets(join.inputs)
    for other, relation in enumerate(join.inputs):
        if other != number and is_selective(relation) and not _reads(reduce.input, relation):
            keys = _equal_keys(join, starts[number], places, starts[other], len(relation.schema))
            restriction = _restriction(relation, keys)
            if restriction is not None:
                after = _replaced(target, reduce, _narrower(reduce, restriction))
                return Join((*join.inputs[:number], after, *join.inputs[number + 1 :]), join.equivalences)
    return join


def _reduce_below(relation: Relation) -> tuple[Reduce, dict[int, int]] | None:
    """The Reduce below maps, filters and projections, and which of its keys each column of `relation` is."""
    below = peeled(relation)
    reduce = below.base
    if not isinstance(reduce, Reduce) or not reduce.keys:
        return None
    plain = ((i, s.index) for i, s in enumerate(below.columns) if isinstance(s, Column))
    return reduce, {i: column for i, column in plain if column < len(reduce.keys)}


def is_selective(relation: Relation) -> bool:
    """Whether filters leave few of the rows, so that to look a row up here is worth it."""
    return prod(map(selectivity, peeled(relation).predicates)) <= _MOST


def _reads(relation: Relation, restricting: Relation) -> bool:
    """Whether `relation` is restricted by the same filters on the same table already."""
    return not _filtered_tables(restricting).isdisjoint(_filtered_tables(relation))


@fact
def _filtered_tables(relation: Relation) -> frozenset[tuple[Get, tuple[Scalar, ...]]]:
    if isinstance(relation, Filter) and isinstance(relation.input, Get):
        return frozenset([(relation.input, relation.predicates)])
    return frozenset[tuple[Get, tuple[Scalar, ...]]]().union(*map(_filtered_tables, inputs_of(relation)))


def _equal_keys(join: Join, start: int, places: dict[int, int], other: int, width: int) -> dict[int, int]:
    """For each column of the input at `other` that equals a key of the Reduce: that key."""
    found: dict[int, int] = {}
    for group in join.equivalences:
        grouped = [places[c - start] for c in group if c - start in places]
        if grouped:
            found.update({c - other: grouped[0] for c in group if other <= c < other + width})
    return found


def _restriction(relation: Relation, keys: dict[int, int]) -> _Restriction | None:
    for unique in unique_keys(relation):
        if unique and unique <= keys.keys():
            columns = tuple(sorted(unique))
            return _Restriction(relation, columns, tuple(keys[c] for c in columns))
    return None


def _narrower(reduce: Reduce, restriction: _Restriction) -> Reduce:
    below = reduce.input
    width = len(below.schema)
    by = projected(restriction.by, restriction.keys, tuple(names(restriction.by)[c] for c in restriction.keys))
    joined = Join((below, by))
    columns = row(joined)
    equalities = [comparison("eq", reduce.keys[g], columns[width + i]) for i, g in enumerate(restriction.grouped)]
    kept = projected(filtered(joined, equalities), tuple(range(width)), names(below))
    return Reduce(kept, reduce.keys, reduce.aggregates, reduce.names)


def _replaced(relation: Relation, old: Reduce, new: Reduce) -> Relation:
    if relation is old:
        return new
    return with_inputs(relation, tuple(_replaced(each, old, new) for each in inputs_of(relation)))
