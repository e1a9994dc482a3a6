"""Which keys a join looks its inputs up by: few arrangements for all of its paths together, and none that is slow.

A path that goes its cheapest way looks each input up by all columns that are bound, and asks for an arrangement by
just those. Here the paths of a join agree: an arrangement is given up where the paths that used it can take another,
by fewer columns and a test after the lookup, at a price below that of keeping it. Sizes of tables decide where they
are known; where they are not, as in an empty database, unique keys tell a key with few rows from one with many.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import inf, log2, prod
from typing import NamedTuple

from ivm.analysis.expected import Expected
from ivm.analysis.expected_joins import found
from ivm.plan.node import Plan, Sizes

Key = tuple[int, ...]
PROBE = 2.0
"""What a lookup costs beside the rows that it finds, in rows."""
READ, UNIQUE = 0.2, 0.6
"""What a row costs that is read in its order, and one that is looked up by a unique key, where there are many."""
PRICE = 4.0
"""An arrangement of the largest input is worth its memory where it makes a path 2 ** PRICE times cheaper."""
MOVED = 16.0
"""What a lookup by a moved bound alone is taken to find."""
MOST_FOUND = 64.0
"""A key that leaves bound columns out may find this many rows, most of them in vain; no more."""
MOST_WAYS = 32
"""So many orders of its inputs are tried for a path."""
MOST_LOOKED_AT = 5000
"""So many lookups are looked at for a join; beyond it, as for twenty inputs, each path takes what seems best next."""
_MOST_ROWS = 1e100
"""Beyond this, products of many inputs are taken to be alike."""

# The same without sizes, by what a key has: a column that is unique elsewhere leaves a share of the rows, and so on.
_ROWS = 1000.0
_MOST_FOUND_UNSIZED = 16.0
_REFERENCE, _PAIR_REFERENCE, _LEADING, _LEADING_ELSEWHERE, _PART, _ANY = 32.0, 125.0, 8.0, 2.0, 2.0, 10.0


@dataclass(frozen=True)
class Side:
    """One input of a join as the choice sees it; columns are the input's own.

    `classes`: the class of each column that is in one. `unique`: keys of which there is at most one row. `existing`:
    keys by which it is arranged whatever is chosen. `expected`: its rows and their values, None if nothing is known.
    `filtered`: whether predicates concern it alone. `silent`: whether its changes need no path.
    """

    classes: dict[int, int]
    unique: tuple[Key, ...]
    existing: frozenset[Key]
    expected: Expected | None
    filtered: bool
    silent: bool = False

    @property
    def rows(self) -> float | None:
        """How many there are to be, None if that is unknown."""
        return None if self.expected is None else self.expected.rows

    def columns_of(self, classes: Container[int]) -> Key:
        """The columns in these classes."""
        return tuple(sorted(column for column, group in self.classes.items() if group in classes))

    def unique_key(self, bound: Key) -> Key | None:
        """Its unique key among columns that are bound, rather one by which it is arranged anyway."""
        unique = [key for key in self.unique if set(key) <= set(bound)]
        return next((key for key in unique if key in self.existing), unique[0]) if unique else None


def sides_of(plans: Sequence[Plan], classes: Iterable[tuple[int, ...]], sizes: Sizes | None) -> tuple[Side, ...]:
    """What plans with equal `classes` of columns, counted through all of them, say of themselves; None: no sizes."""
    owners = [(number, column) for number, plan in enumerate(plans) for column in range(len(plan.row))]
    own: list[dict[int, int]] = [{} for _ in plans]
    for group, columns in enumerate(classes):
        for number, column in map(owners.__getitem__, columns):
            own[number][column] = group
    expected = [None if sizes is None else sizes.of(plan) for plan in plans]
    return tuple(Side(own[i], plan.unique, frozenset(), expected[i], False) for i, plan in enumerate(plans))


class Step(NamedTuple):
    """Look `input` up by `key`."""

    input: int
    key: Key


Chosen = frozenset[Step]
"""Arrangements, by what looks something up in them."""


@dataclass(frozen=True)
class KeyedPath:
    """The steps of one path; `cost` in rows met for a change of the source, at least 1.

    `work` is the same for many rows of the source together, of which most are read and looked up at little cost.
    """

    cost: float
    steps: tuple[Step, ...]
    work: float


@dataclass
class Choice:
    """The joined inputs, and for each predicate over them the inputs it reads and the share of rows that it keeps.

    `bounds`: inputs that a predicate compares with a bound, and the inputs that this is made of.
    """

    sides: tuple[Side, ...]
    predicates: tuple[tuple[frozenset[int], float], ...]
    bounds: frozenset[tuple[int, frozenset[int]]] = frozenset()
    _found: dict[tuple[int, Key], float] = field(default_factory=dict)
    _ways: dict[tuple[int, Chosen | None], KeyedPath | None] = field(default_factory=dict)
    looked_at: int = 0

    def ways(self) -> tuple[KeyedPath, ...]:
        """A way for the changes of each of `sources`.

        Cost: up to ten milliseconds for eight inputs, a tenth of a second for any.

        The paths that take the first step that seems best are always found.
        """
        free = [self._way(source, None) for source in self.sources]
        ways = tuple(way for way in free if way is not None)
        while (better := self._with_fewer(ways)) is not None:
            ways = better
        return ways

    def for_all_rows(self, ways: tuple[KeyedPath, ...]) -> int:
        """By which of the ways the whole join costs least to compute; the last one where sizes are not known."""
        if not self._sized:
            return len(ways) - 1
        sides = [self.sides[source] for source in self.sources]
        work = [(side.rows or 0.0) * way.work for side, way in zip(sides, ways, strict=True)]
        return work.index(min(work))

    @cached_property
    def sources(self) -> tuple[int, ...]:
        """The inputs whose changes need a way."""
        return tuple(i for i, side in enumerate(self.sides) if not side.silent)

    @cached_property
    def _expected(self) -> tuple[Expected, ...] | None:
        """What is expected of each side, if it is of all."""
        known = tuple(side.expected for side in self.sides if side.expected is not None)
        return known if len(known) == len(self.sides) else None

    @property
    def _sized(self) -> bool:
        return self._expected is not None

    @cached_property
    def _largest(self) -> float:
        return max((side.rows or 1.0 for side in self.sides), default=1.0)

    def _with_fewer(self, ways: tuple[KeyedPath, ...]) -> tuple[KeyedPath, ...] | None:
        """The best of the ways that give up an arrangement, or two for one; None if none of them is worth it."""
        used = self._new(ways)
        found: list[tuple[float, int, tuple[KeyedPath, ...]]] = []
        for number, allowed in enumerate(self._moves(used)):
            if self.exhausted:
                break
            other = self._within(ways, used, allowed)
            if other is not None:
                gain = self._value(ways, used) - self._value(other, self._new(other))
                found.append((-gain, number, other))
        if not found:
            return None
        loss, _, best = min(found, key=lambda f: f[:2])
        return best if loss < -1e-9 else None

    def _moves(self, used: Chosen) -> list[Chosen]:
        """What remains of `used` without one of them, or with what two have in common in place of these."""
        ordered = sorted(step for step in used if step.key not in self.sides[step.input].unique)
        moves = [used - {each} for each in ordered]
        for one, two in combinations(ordered, 2):
            common = Step(one.input, tuple(c for c in one.key if c in two.key))
            if one.input == two.input and common.key and common not in used:
                moves.append(used - {one, two} | {common})
        return moves

    def _within(self, ways: tuple[KeyedPath, ...], used: Chosen, allowed: Chosen) -> tuple[KeyedPath, ...] | None:
        """The ways, those that use what is not allowed being replaced; None if there is none for one of them."""
        given_up = used - allowed
        found: list[KeyedPath] = []
        for source, way in zip(self.sources, ways, strict=True):
            concerned = not given_up.isdisjoint(way.steps)
            other = self._way(source, allowed) if concerned else way
            if other is None:
                return None
            found.append(other)
        return tuple(found)

    def _new(self, ways: tuple[KeyedPath, ...]) -> Chosen:
        return frozenset(step for way in ways for step in way.steps if step.key not in self.sides[step.input].existing)

    def _value(self, ways: tuple[KeyedPath, ...], used: Chosen) -> float:
        """The price of the ways and of the new arrangements. Ways are compared by the factor that they differ by, since
        how often each input changes is not known; arrangements by their rows.
        """
        rows = (1.0 if not self._sized else (self.sides[i].rows or 1.0) / self._largest for i, _ in used)
        return sum(log2(way.cost) for way in ways) + PRICE * sum(rows)

    def _way(self, source: int, allowed: Chosen | None) -> KeyedPath | None:
        if (source, allowed) not in self._ways:
            self._ways[source, allowed] = _Search(self, source, allowed).best()
        return self._ways[source, allowed]

    def found(self, target: int, key: Key) -> float:
        """The rows that a lookup by `key` is expected to find."""
        known = self._found.get((target, key))
        if known is None:
            known = self._found[target, key] = self._estimated(target, key)
        return known

    @property
    def exhausted(self) -> bool:
        """Whether the search has taken as long as it may."""
        return self.looked_at > MOST_LOOKED_AT

    @property
    def most_found(self) -> float:
        """The rows that a lookup may find by a key that leaves bound columns out."""
        return MOST_FOUND if self._sized else _MOST_FOUND_UNSIZED

    def _estimated(self, target: int, key: Key) -> float:
        side = self.sides[target]
        if any(set(unique) <= set(key) for unique in side.unique):
            return 1.0
        if self._expected is not None:
            return max(1.0, found(target, key, self._expected, [each.classes for each in self.sides]))
        pending = {side.classes[c]: c for c in reversed(key)}
        shares: list[float] = []
        for classes in self._references(target):
            if classes <= pending.keys():
                shares.append(_REFERENCE if len(classes) == 1 else _PAIR_REFERENCE)
                shares += [self._part_share(target, pending[g]) for g in classes]
                for group in classes:
                    del pending[group]
        shares += [_ANY * self._part_share(target, column) for column in pending.values()]
        return max(1.0, _ROWS / prod(shares))

    def _references(self, target: int) -> list[frozenset[int]]:
        """Unique keys of other inputs, as classes; those of most columns first."""
        found: list[frozenset[int]] = []
        for number, side in enumerate(self.sides):
            for unique in side.unique if number != target else ():
                if unique and all(c in side.classes for c in unique):
                    found.append(frozenset(side.classes[c] for c in unique))
        return sorted(found, key=lambda classes: -len(classes))

    def _part_share(self, target: int, column: int) -> float:
        """What it tells that a column is part of a unique key: the first is what the others are numbered within."""
        own, group = self.sides[target], self.sides[target].classes[column]
        longer = [key for key in own.unique if len(key) > 1]
        if any(key[0] == column for key in longer):
            return _LEADING
        if any(column in key for key in longer):
            return _PART
        others = (side for number, side in enumerate(self.sides) if number != target)
        leads = any(len(key) > 1 and side.classes.get(key[0]) == group for side in others for key in side.unique)
        return _LEADING_ELSEWHERE if leads else 1.0


@dataclass(frozen=True)
class _Candidate:
    """A possible next step; the smallest rank is tried first. `kept`: rows that go on, for each that came."""

    step: Step
    unique: bool
    found: float
    kept: float
    rank: tuple[float, ...]


class _Search:
    """Looks for the cheapest way of one source: unique lookups at once, branching where there may be many rows."""

    def __init__(self, choice: Choice, source: int, allowed: Chosen | None) -> None:
        self._choice = choice
        self._source = source
        self._allowed = allowed
        self._best: KeyedPath | None = None
        self._cheapest = inf
        self._left = MOST_WAYS

    def best(self) -> KeyedPath | None:
        """The cheapest way of those tried; None if what is allowed leaves none."""
        bound = frozenset((self._source,))
        known = frozenset(self._choice.sides[self._source].classes.values())
        self._go(bound, known, KeyedPath(1.0, (), READ), self._kept(bound, bound))
        return self._best

    def _go(self, bound: frozenset[int], known: frozenset[int], way: KeyedPath, rows: float) -> None:
        if len(bound) == len(self._choice.sides):
            self._left -= 1
            if way.cost < self._cheapest * (1 - 1e-9):
                self._best, self._cheapest = way, way.cost
            return
        candidates = sorted(self._candidates(bound, known), key=lambda c: c.rank)
        for each in candidates[:1] if candidates and candidates[0].unique else candidates:
            if self._choice.exhausted and each is not candidates[0]:
                break
            met = PROBE + each.found
            work = way.work + rows * (UNIQUE if each.unique else met)
            longer = KeyedPath(min(way.cost + rows * met, _MOST_ROWS), (*way.steps, each.step), work)
            if self._left > 0 and longer.cost < self._cheapest:
                after = known.union(self._choice.sides[each.step.input].classes.values())
                self._go(bound | {each.step.input}, after, longer, min(rows * each.kept, _MOST_ROWS))

    def _candidates(self, bound: frozenset[int], known: frozenset[int]) -> list[_Candidate]:
        """The lookups that are possible next; all rows of an input only where no input can be looked up by a key."""
        sides = self._choice.sides
        left = [i for i in range(len(sides)) if i not in bound]
        met = [i for i in left if not known.isdisjoint(sides[i].classes.values())]
        columns = {i: sides[i].columns_of(known) for i in met}
        single = [i for i in left if () in sides[i].unique]
        found = (self._candidate(i, columns.get(i, ()), bound) for i in dict.fromkeys((*single, *(met or left))))
        return [each for each in found if each is not None]

    def _candidate(self, target: int, bound_columns: Key, bound: frozenset[int]) -> _Candidate | None:
        self._choice.looked_at += 1
        side = self._choice.sides[target]
        key = side.unique_key(bound_columns)
        kept = self._kept(bound | {target}, bound)
        if key is not None:
            filtered = side.filtered or len(key) < len(bound_columns)
            rank = (0.0, 0.0 if filtered else 1.0, float(-len(key)), float(target))
            return _Candidate(Step(target, key), True, 1.0, kept, rank)
        looked_up = self._key(target, bound_columns)
        if looked_up is None:
            return None
        if not bound_columns and any(target == i and others <= bound for i, others in self._choice.bounds):
            return _Candidate(Step(target, ()), False, MOVED, MOVED, (1.5, MOVED, 0.0, float(target)))
        kept *= self._choice.found(target, bound_columns)
        rank = (1.0 if bound_columns else 2.0, kept, float(-len(looked_up)), float(target))
        return _Candidate(Step(target, looked_up), False, self._choice.found(target, looked_up), kept, rank)

    def _key(self, target: int, bound_columns: Key) -> Key | None:
        """The key among the bound columns that finds the fewest rows, of those that may be used."""
        if self._allowed is None or not bound_columns:
            return bound_columns
        side = self._choice.sides[target]
        usable = side.existing | {key for i, key in self._allowed if i == target}
        fitting = [key for key in usable if key and set(key) <= set(bound_columns)]
        ranked = [(self._choice.found(target, key), -len(key), key) for key in fitting]
        cheap = [r for r in ranked if r[0] <= self._choice.most_found or -r[1] == len(bound_columns)]
        return min(cheap)[2] if cheap else None

    def _kept(self, bound: frozenset[int], before: frozenset[int]) -> float:
        """The share of rows that the predicates keep which can be tested from here on."""
        ready = (
            s for reads, s in self._choice.predicates if reads <= bound and (bound == before or not reads <= before)
        )
        return prod(ready)
