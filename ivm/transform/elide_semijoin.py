"""Rows that are joined with the distinct keys of those that have a partner are asked for partners themselves.

So EXISTS comes out of decorrelation where it compares by more than equality: the distinct keys of the rows outside are
joined with the rows inside, what is found is made distinct, and joined with the rows outside again.
"""

from __future__ import annotations

from dataclasses import dataclass

from ivm.analysis.unique_keys import unique_keys
from ivm.sql.ir.conditions import is_null, negation
from ivm.sql.ir.rebuild import offsets, row
from ivm.sql.ir.relation import Get, Join, Reduce, Relation
from ivm.sql.ir.scalar import Column, Scalar, remap, substitute
from ivm.transform.rewrite import at_each, filtered, names, peeled, projected


@at_each(Join)
def elide_semijoin(join: Join) -> Relation:
    """Join(X, D) by all columns of D, where D is distinct keys of Join(M, R, ..), all columns of M, and M the distinct
    keys of X, becomes the distinct rows of Join(X, R, ..).

    For X of which each row is there once, and where few rows have a key: their own keys number rows within it. A join,
    two indexes and the groups of M are saved; there is a group for each row in place of each key. X and R must not
    become one join with what X is made of: a change of R would then meet all of that, in place of the few rows of X.
    """
    if len(join.inputs) != 2:
        return join
    for outer in (0, 1):
        found = _asked(join, outer)
        if found is not None:
            return found
    return join


@dataclass(frozen=True)
class _Partners:
    """Distinct keys of a join of `own`, an input that has distinct keys itself, with others: input `number` of it."""

    join: Join
    number: int
    own: Reduce
    predicates: tuple[Scalar, ...]
    columns: tuple[int, ...]
    """The column of `own` that each of the keys is."""


def _asked(join: Join, outer: int) -> Relation | None:
    relation, partners = join.inputs[outer], _partners(join.inputs[1 - outer])
    if partners is None:
        return None
    keys = _same_rows(relation, partners.own)
    starts = offsets(join.inputs)
    if keys is None or not unique_keys(relation) or _numbered(relation).isdisjoint(keys):
        return None
    wanted = [{starts[outer] + keys[c], starts[1 - outer] + i} for i, c in enumerate(partners.columns)]
    if sorted(map(sorted, wanted)) != sorted(map(sorted, join.equivalences)):
        return None
    width = len(relation.schema)
    found = _distinct(relation, keys, partners)
    copies = tuple(keys[c] for c in partners.columns)
    columns = (*range(width), *copies) if outer == 0 else (*copies, *range(width))
    return projected(found, columns, names(join))


def _partners(relation: Relation) -> _Partners | None:
    if not isinstance(relation, Reduce) or relation.aggregates or not relation.keys:
        return None
    below = peeled(relation.input)
    if not isinstance(below.base, Join):
        return None
    starts = offsets(below.base.inputs)
    keys = [substitute(key, below.columns) for key in relation.keys]
    for number, each in enumerate(below.base.inputs):
        if isinstance(each, Reduce) and not each.aggregates:
            own = {start: c for c, start in enumerate(range(starts[number], starts[number] + len(each.keys)))}
            columns = tuple(own[key.index] for key in keys if isinstance(key, Column) and key.index in own)
            if len(columns) == len(keys) and set(columns) == set(own.values()) and len(set(columns)) == len(columns):
                return _Partners(below.base, number, each, below.predicates, columns)
    return None


def _same_rows(relation: Relation, distinct: Reduce) -> list[int] | None:
    """The column of `relation` that each key of `distinct` is, if it is over the same rows."""
    one, other = peeled(relation), peeled(distinct.input)
    if one.base != other.base or frozenset(one.predicates) != frozenset(other.predicates):
        return None
    keys = [substitute(key, other.columns) for key in distinct.keys]
    places = {scalar: i for i, scalar in reversed(list(enumerate(one.columns)))}
    found = [places[key] for key in keys if key in places]
    return found if len(found) == len(keys) else None


def _distinct(relation: Relation, keys: list[int], partners: _Partners) -> Relation:
    """The distinct rows of `relation` that have partners."""
    inputs = tuple(relation if i == partners.number else each for i, each in enumerate(partners.join.inputs))
    before, after = offsets(partners.join.inputs), offsets(inputs)
    places: dict[int, int] = {}
    for number, each in enumerate(partners.join.inputs):
        for c in range(len(each.schema)):
            places[before[number] + c] = after[number] + (keys[c] if number == partners.number else c)
    moved = Join(inputs, tuple(tuple(sorted(places[c] for c in group)) for group in partners.join.equivalences))
    own = row(moved)[after[partners.number] : after[partners.number] + len(relation.schema)]
    known = [negation(is_null(own[c])) for c in keys if own[c].nullable]
    tested = [remap(p, places.__getitem__) for p in partners.predicates]
    return Reduce(filtered(moved, (*known, *tested)), own, (), names(relation))


def _numbered(relation: Relation) -> frozenset[int]:
    """The columns by which a table numbers its rows: the first of a key of several columns, or all of a key of one."""
    below = peeled(relation)
    plain = {i: s.index for i, s in enumerate(below.columns) if isinstance(s, Column)}
    if isinstance(below.base, Get):
        found = frozenset(key[0] for key in below.base.keys if key)
    elif isinstance(below.base, Join):
        starts = offsets(below.base.inputs)
        each = zip(starts, below.base.inputs, strict=False)
        found = frozenset(start + c for start, inner in each for c in _numbered(inner))
    elif isinstance(below.base, Reduce):
        inner = _numbered(below.base.input)
        found = frozenset(i for i, key in enumerate(below.base.keys) if isinstance(key, Column) and key.index in inner)
    else:
        return frozenset()
    return frozenset(i for i, c in plain.items() if c in found)
