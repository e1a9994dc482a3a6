"""A join whose input is a join is one join of all their inputs; what stood between the two is done after it."""

from __future__ import annotations

from dataclasses import dataclass

from ivm.analysis.ranges import can_raise
from ivm.sql.ir.rebuild import nodes, offsets, row
from ivm.sql.ir.relation import Join, Relation
from ivm.sql.ir.scalar import Column, Scalar, columns_of, remap, walk
from ivm.transform.rewrite import at_each, peeled, rejoined

# Flattening a stack of maps repeats the values that later maps read; beyond this size it is not worth it.
_LARGEST = 500
MOST_INPUTS = 16
"""A join of n inputs has n paths of n - 1 lookups. Beyond this number a state in between is the lesser evil."""


@at_each(Join)
def fuse_joins(relation: Join) -> Relation:
    """Join(Project/Map/Filter over Join, ..) becomes Project(Map(Filter(Join(..)))).

    The lifted expressions then run on joined rows only, so none sees a row that it did not see before. A class that
    holds a computed column is split off as an equality, for `derive_equivalences` to give to the input that the
    column is computed from; where it is computed from several inputs, or can raise, the two joins stay apart, since
    the equality could no longer be looked up. Joins of very many inputs stay apart too, and a join that another input
    reads somewhere below: it is worked out for that one anyway, as what a correlated subquery asks of the rows
    outside is, so that one path of what it finds takes the place of one for each of its inputs. That costs its rows.
    """
    starts = offsets(relation.inputs)
    keyed = {c for group in relation.equivalences for c in group}
    parts = [
        _flat(relation, each, {c - start for c in keyed if 0 <= c - start < len(each.schema)}) or _whole(each)
        for start, each in zip(starts, relation.inputs, strict=False)
    ]
    parts = _within_limit(relation, parts)
    if all(len(part.inputs) == 1 for part in parts):
        return relation
    return _joined(relation, parts)


@dataclass(frozen=True)
class _Part:
    """One input of the outer join, as inputs of the fused one: its columns and predicates are over their row."""

    inputs: tuple[Relation, ...]
    equivalences: tuple[tuple[int, ...], ...]
    predicates: tuple[Scalar, ...]
    columns: tuple[Scalar, ...]


def _within_limit(relation: Join, parts: list[_Part]) -> list[_Part]:
    """The parts, the first ones taken apart as long as there are not too many inputs."""
    total = len(parts)
    kept: list[_Part] = []
    for part, each in zip(parts, relation.inputs, strict=True):
        added = len(part.inputs) - 1
        fits = total + added <= MOST_INPUTS
        total += added if fits else 0
        kept.append(part if fits else _whole(each))
    return kept


def _whole(relation: Relation) -> _Part:
    return _Part((relation,), (), (), row(relation))


def _flat(outer: Join, relation: Relation, keyed: set[int]) -> _Part | None:
    """The parts of a join below maps, filters and projections; None if there is none or it has to stay."""
    below = peeled(relation)
    join, columns = below.base, below.columns
    if not isinstance(join, Join) or sum(1 for s in columns for _ in walk(s)) > _LARGEST or _is_read(join, outer):
        return None
    starts = offsets(join.inputs)
    stays = all(_stays_keyed(columns[c], starts) for c in keyed)
    return _Part(join.inputs, join.equivalences, below.predicates, columns) if stays else None


def _is_read(join: Join, outer: Join) -> bool:
    """Whether an input of `outer` reads `join`, other than by maps, filters and projections of it."""
    bases = [peeled(each).base for each in outer.inputs]
    return any(node == join for base in bases if base != join for node in nodes(base))


def _stays_keyed(scalar: Scalar, starts: tuple[int, ...]) -> bool:
    if isinstance(scalar, Column):
        return True
    inputs = {sum(start <= c for start in starts) for c in columns_of(scalar)}
    return len(inputs) == 1 and not can_raise(scalar)


def _joined(outer: Join, parts: list[_Part]) -> Relation:
    inputs = tuple(each for part in parts for each in part.inputs)
    starts = offsets(inputs)
    columns: list[Scalar] = []
    predicates: list[Scalar] = []
    classes: list[tuple[int, ...]] = []
    before = 0
    for part in parts:
        start = starts[before]
        before += len(part.inputs)
        columns += [remap(s, start.__add__) for s in part.columns]
        predicates += [remap(p, start.__add__) for p in part.predicates]
        classes += [tuple(start + c for c in group) for group in part.equivalences]
    return rejoined(outer, inputs, columns, classes, predicates)
