"""Groups that a join would drop are not kept in the first place (sideways information passing)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import reduce
from math import prod

from ivm.analysis.fact import fact
from ivm.analysis.selectivity import selectivity
from ivm.analysis.unique_keys import unique_keys
from ivm.sql.ir.conditions import comparison
from ivm.sql.ir.rebuild import map_inputs, offsets, row
from ivm.sql.ir.relation import Filter, Get, Join, Reduce, Relation, inputs_of
from ivm.sql.ir.scalar import Column, Scalar, columns_of
from ivm.transform.rewrite import filtered, names, peeled, projected

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
    if isinstance(after, Join):
        after = reduce(_restricted, range(len(after.inputs)), after)
    return map_inputs(after, restrict_reduce)


def _restricted(join: Join, number: int) -> Join:
    """The join with its input `number` restricted, if that is a Reduce and something restricts it."""
    below, starts = peeled(join.inputs[number]), offsets(join.inputs)
    grouped = below.base
    if not isinstance(grouped, Reduce):
        return join
    plain = ((starts[number] + i, s.index) for i, s in enumerate(below.columns) if isinstance(s, Column))
    key_of = {column: key for column, key in plain if key < len(grouped.keys)}
    for other, relation in enumerate(join.inputs):
        equal = _equal_keys(join, key_of, range(starts[other], starts[other + 1]))
        if other != number and is_selective(relation, equal) and not _reads(grouped.input, relation):
            unique = next((sorted(each) for each in unique_keys(relation) if each and each <= equal.keys()), None)
            if unique is not None:
                narrower = _narrower(grouped, relation, {c: equal[c] for c in unique})
                after = _replaced(join.inputs[number], grouped, narrower)
                return Join((*join.inputs[:number], after, *join.inputs[number + 1 :]), join.equivalences)
    return join


def is_selective(relation: Relation, shared: Collection[int] = ()) -> bool:
    """Whether filters leave few of the rows, so that to look a row up here is worth it; `shared`: columns that are
    equal to those of the row, so that what is asked of them alone is asked there, too.
    """
    whole = peeled(relation)
    own = (each for each in whole.predicates if not {*map(whole.place, columns_of(each))}.issubset(shared))
    return prod(map(selectivity, own)) <= _MOST


def _reads(relation: Relation, restricting: Relation) -> bool:
    """Whether `relation` is restricted by the same filters on the same table already."""
    return not _filtered_tables(restricting).isdisjoint(_filtered_tables(relation))


@fact
def _filtered_tables(relation: Relation) -> frozenset[tuple[Get, tuple[Scalar, ...]]]:
    if isinstance(relation, Filter) and isinstance(relation.input, Get):
        return frozenset([(relation.input, relation.predicates)])
    return frozenset[tuple[Get, tuple[Scalar, ...]]]().union(*map(_filtered_tables, inputs_of(relation)))


def _equal_keys(join: Join, key_of: dict[int, int], own: range) -> dict[int, int]:
    """For each of the columns `own` of an input that equals a key of the Reduce: that key."""
    found: dict[int, int] = {}
    for group in join.equivalences:
        key = next((key_of[c] for c in group if c in key_of), None)
        if key is not None:
            found |= {c - own.start: key for c in group if c in own}
    return found


def _narrower(reduce: Reduce, by: Relation, keys: dict[int, int]) -> Reduce:
    """The Reduce of those rows alone whose keys are in `by`: its columns, and the key that each is equal to."""
    below, width = reduce.input, len(reduce.input.schema)
    joined = Join((below, projected(by, tuple(keys), tuple(names(by)[c] for c in keys))))
    columns = row(joined)
    equalities = [comparison("eq", reduce.keys[key], columns[width + i]) for i, key in enumerate(keys.values())]
    return replace(reduce, input=projected(filtered(joined, equalities), tuple(range(width)), names(below)))


def _replaced(relation: Relation, old: Reduce, new: Reduce) -> Relation:
    return new if relation is old else map_inputs(relation, lambda each: _replaced(each, old, new))
