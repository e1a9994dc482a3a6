"""The order of a join whose inputs are spread over shards: which are joined where they are, and which are sent.

Left-deep orders by dynamic programming over sets of inputs, in which the placement of what has been joined plays the
part that the order of rows has in Selinger et al., "Access Path Selection in a Relational Database Management System".
What is joined at one place without an exchange in between is one join again, of which each shard plans the paths.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from ivm.analysis.equivalences import equivalences
from ivm.analysis.expected_joins import Joined
from ivm.analysis.ranges import can_raise
from ivm.analysis.selectivity import selectivity
from ivm.distribute.exchange import LEVEL, Exchanges, Option, cheapest
from ivm.distribute.placement import REPLICATED, Hashed, Placement, Replicated
from ivm.sql.ir.classes import merged_classes, representatives
from ivm.sql.ir.conditions import comparison
from ivm.sql.ir.rebuild import offsets, row
from ivm.sql.ir.relation import Join, Relation
from ivm.sql.ir.scalar import Column, Scalar, columns_of, substitute
from ivm.transform.rewrite import Peeled, as_certain, expressed, filtered, names

_WHOLE = 9
"""Joins of more inputs are ordered by the best so far of each size."""
_BEAM = 48
_TO_BUILD = 4

OptionsOf = Callable[[Relation], Sequence[Option]]


@dataclass(frozen=True, slots=True)
class _Part:
    """Some inputs, joined: an input as one of its options has it, a part that was sent, or two parts at one place.

    The columns of `placement` are those that stand for their classes.
    """

    inputs: int
    placement: Placement
    cost: float
    level: int
    leaf: Option | None = None
    sent: _Part | None = None
    sides: tuple[_Part, _Part] | None = None

    @property
    def key(self) -> tuple[float, int]:
        return self.cost + LEVEL * self.level, self.level


class JoinOrder:
    """The ways to have a join, what is filtered and computed right above it included."""

    def __init__(self, relation: Relation, peeled: Peeled, options_of: OptionsOf, exchanges: Exchanges) -> None:
        assert isinstance(peeled.base, Join), "it is for joins"
        self._join, self._peeled, self._schema, self._names = peeled.base, peeled, relation.schema, names(relation)
        self._starts = offsets(self._join.inputs)
        self._options_of, self._exchanges = options_of, exchanges
        inner = (
            [start + c for c in group]
            for start, each in zip(self._starts, self._join.inputs, strict=False)
            for group in equivalences(each).classes
        )
        self._stands = representatives(merged_classes((*self._join.equivalences, *inner)))
        self._same = equivalences(self._join)
        self._joins = Joined([exchanges.rows.of(each) for each in self._join.inputs], self._join.equivalences)
        self._sizes: dict[int, tuple[float, int]] = {}
        self._values: dict[int, float] = {}
        self._built: dict[_Part, Option] = {}

    def options(self) -> tuple[Option, ...]:
        """The cheapest, with different placements."""
        best = self._best()
        found = sorted(best[(1 << len(self._join.inputs)) - 1].values(), key=lambda part: part.key)
        return cheapest(self._finished(part) for part in found[:_TO_BUILD])

    def _best(self) -> dict[int, dict[Placement, _Part]]:
        count = len(self._join.inputs)
        best: dict[int, dict[Placement, _Part]] = {1 << i: {} for i in range(count)}
        for i, relation in enumerate(self._join.inputs):
            for option in self._options_of(relation):
                placement = option.placement.moved(lambda c, i=i: self._stand(self._starts[i] + c))  # type: ignore[misc]
                _keep(best[1 << i], _Part(1 << i, placement, option.cost, option.level, option))
        singles = dict(best)
        layer = list(best)
        for _ in range(count - 1):
            found: dict[int, dict[Placement, _Part]] = {}
            for done in layer:
                near = [one for one in singles if not one & done]
                near = [one for one in near if self._shared(done, one)] or near
                for one in near:
                    kept = found.setdefault(done | one, {})
                    for left in best[done].values():
                        for right in singles[one].values():
                            for joined in self._together(left, right):
                                _keep(kept, joined)
            best |= found
            layer = list(found)
            if count > _WHOLE:
                layer = sorted(layer, key=lambda each: min(part.key for part in found[each].values()))[:_BEAM]
        return best

    def _together(self, left: _Part, right: _Part) -> Iterator[_Part]:
        """The ways to join two parts at one place."""
        shared = self._shared(left.inputs, right.inputs)
        targets: dict[Placement, None] = {Hashed((c,)): None for c in shared}
        if shared:
            targets[Hashed(shared)] = None
        for part in (left, right):
            if isinstance(part.placement, Hashed) and set(part.placement.columns) <= set(shared):
                targets[part.placement] = None
        for to in targets:
            yield _joined(self._at(left, to), self._at(right, to), to)
        for one, other in ((left, right), (right, left)):
            if not isinstance(one.placement, Replicated) or isinstance(other.placement, Replicated):
                yield _joined(one, self._at(other, REPLICATED), one.placement)
        if isinstance(left.placement, Replicated):
            yield _joined(left, right, right.placement)

    def _at(self, part: _Part, to: Placement) -> _Part:
        if part.placement == to:
            return part
        rows, width = self._size(part.inputs)
        values = prod(map(self._value, to.columns)) if isinstance(to, Hashed) else 1.0
        cost = self._exchanges.cost(rows, width, to, min(values, max(rows, 1.0)))
        return _Part(part.inputs, to, part.cost + cost, part.level + 1, sent=part)

    def _shared(self, one: int, other: int) -> tuple[int, ...]:
        """The columns that stand for the classes which two sets of inputs have in common."""
        classes = (group for group in self._join.equivalences if self._meets(group, one) and self._meets(group, other))
        return tuple(sorted({self._stand(group[0]) for group in classes}))

    def _meets(self, columns: Sequence[int], inputs: int) -> bool:
        return any(self._has(inputs, c) for c in columns)

    def _has(self, inputs: int, column: int) -> bool:
        return bool(inputs >> self._owner(column) & 1)

    def _owner(self, column: int) -> int:
        return bisect_right(self._starts, column) - 1

    def _stand(self, column: int) -> int:
        return self._stands.get(column, column)

    def _value(self, column: int) -> float:
        """The distinct values of the class that a column stands for: the fewest that one of its columns has."""
        if column not in self._values:
            members = [c for c in range(self._starts[-1]) if self._stand(c) == column]
            owned = ((self._join.inputs[self._owner(c)], c - self._starts[self._owner(c)]) for c in members)
            self._values[column] = min(self._exchanges.rows.distinct(*each) for each in owned)
        return self._values[column]

    def _size(self, inputs: int) -> tuple[float, int]:
        """The rows and the columns of a set of inputs, joined."""
        known = self._sizes.get(inputs)
        if known is None:
            share = prod(selectivity(self._peeled.predicates[i]) for i in self._ready(inputs, ()))
            known = self._sizes[inputs] = self._joins.rows(inputs) * share, len(self._needed(inputs))
        return known

    def _ready(self, inputs: int, applied: Sequence[int]) -> list[int]:
        """The predicates over these inputs alone that are not applied; one that can raise waits for those before it."""
        found, before = [], True
        for i, predicate in enumerate(self._peeled.predicates):
            if i in applied:
                continue
            over = all(self._has(inputs, c) for c in columns_of(predicate))
            if over and (before or not can_raise(predicate)):
                found.append(i)
            else:
                before = False
        return found

    @cached_property
    def _wanted(self) -> frozenset[int]:
        return frozenset[int]().union(*map(columns_of, self._peeled.columns))

    def _needed(self, inputs: int) -> tuple[int, ...]:
        """The columns of some inputs that are read above their join; of those that are the same, one."""
        needed = {c for c in self._wanted if self._has(inputs, c)}
        ready = self._ready(inputs, ())
        for i, predicate in enumerate(self._peeled.predicates):
            if i not in ready:
                needed |= {c for c in columns_of(predicate) if self._has(inputs, c)}
        everything = (1 << len(self._join.inputs)) - 1
        for group in self._join.equivalences:
            if self._meets(group, inputs) and self._meets(group, everything & ~inputs):
                needed.add(next(c for c in group if self._has(inputs, c)))
        chosen: dict[int, int] = {}
        for column in sorted(needed):
            chosen.setdefault(self._same.representative(column), column)
        return tuple(sorted(chosen.values()))

    def _finished(self, part: _Part) -> Option:
        """A part with all inputs, with what is filtered and computed above the join."""
        relation, columns, applied = self._relation(part)
        values = self._over(relation, columns)
        predicates = self._peeled.predicates
        left = [substitute(predicates[i], values) for i in range(len(predicates)) if i not in applied]
        wanted = tuple(substitute(each, values) for each in self._peeled.columns)
        made = expressed(filtered(relation, left), as_certain(wanted, self._schema), self._names)
        places = {self._stand(each.index): i for i, each in reversed(list(enumerate(self._peeled.columns)))
                  if isinstance(each, Column)}  # fmt: skip
        return Option(made, part.placement.moved(places.get), part.cost, part.level)

    def _over(self, relation: Relation, columns: Sequence[int]) -> tuple[Scalar, ...]:
        """For each column of the join the column of `relation` that has its values; those that are not there are not
        asked for.
        """
        own = row(relation)
        by_same = {self._same.representative(c): own[i] for i, c in reversed(list(enumerate(columns)))}
        exact = {c: own[i] for i, c in enumerate(columns)}
        return tuple(
            exact.get(c) or by_same.get(self._same.representative(c)) or Column(-1, field.type, field.nullable)
            for c, field in enumerate(self._join.schema)
        )

    def _relation(self, part: _Part) -> tuple[Relation, tuple[int, ...], tuple[int, ...]]:
        """What each shard has of a part: a relation, the join's columns that its own are, and predicates applied."""
        pieces = list(self._pieces(part))
        columns = tuple(c for _, own, _ in pieces for c in own)
        applied = tuple(dict.fromkeys(i for _, _, done in pieces for i in done))
        if len(pieces) == 1:
            return pieces[0][0], columns, applied
        groups = self._classes(columns)
        return Join(tuple(relation for relation, _, _ in pieces), groups), columns, applied

    def _classes(self, columns: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        stands = {self._stand(group[0]) for group in self._join.equivalences}
        groups: dict[int, list[int]] = {}
        for place, column in enumerate(columns):
            if self._stand(column) in stands:
                groups.setdefault(self._stand(column), []).append(place)
        return merged_classes(groups.values())

    def _pieces(self, part: _Part) -> Iterator[tuple[Relation, tuple[int, ...], tuple[int, ...]]]:
        """The inputs of the join that a shard computes for a part, each as `_relation` has it."""
        if part.sides is not None:
            for side in part.sides:
                yield from self._pieces(side)
        elif part.leaf is not None:
            i = part.inputs.bit_length() - 1
            yield part.leaf.relation, tuple(range(self._starts[i], self._starts[i + 1])), ()
        else:
            assert part.sent is not None, "a part is one of the three"
            columns = self._needed(part.inputs)
            sent = self._sent(part, part.sent, columns)
            yield sent.relation, columns, tuple(self._ready(part.inputs, ()))

    def _sent(self, part: _Part, below: _Part, columns: tuple[int, ...]) -> Option:
        if part not in self._built:
            relation, own, applied = self._relation(below)
            values = self._over(relation, own)
            tested: list[Scalar] = [
                comparison("eq", row(relation)[one], row(relation)[other])
                for one, *others in (() if below.leaf is None else self._classes(own))
                for other in others
            ]
            ready = (i for i in self._ready(part.inputs, ()) if i not in applied)
            tested += [substitute(self._peeled.predicates[i], values) for i in ready]
            kept = tuple(values[c] for c in columns)
            titles = tuple(self._join.schema[c].name for c in columns)
            made = expressed(filtered(relation, tested), kept, titles)
            places = {self._stand(c): i for i, c in reversed(list(enumerate(columns)))}
            to = part.placement.moved(places.get)
            placement = below.placement.moved(places.get)
            self._built[part] = self._exchanges.through(Option(made, placement, below.cost, below.level), to)
        return self._built[part]


def _keep(best: dict[Placement, _Part], part: _Part) -> None:
    known = best.get(part.placement)
    if known is None or part.key < known.key:
        best[part.placement] = part


def _joined(left: _Part, right: _Part, placement: Placement) -> _Part:
    return _Part(
        left.inputs | right.inputs, placement, left.cost + right.cost, max(left.level, right.level), sides=(left, right)
    )
