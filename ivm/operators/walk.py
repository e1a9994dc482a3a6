"""Walks: changes pass stages, as many as may be in one call of machine code, and the others in Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from ivm.operators.faster import Faster
from ivm.operators.stage import Stage
from ivm.operators.way import Key, Lent, Passed, Way, flags_of
from ivm.trace.concatenation import concat_deltas
from ivm.trace.delta import Delta, Layout
from ivm.trace.helpers import LARGE, alone, at_hand
from ivm.trace.state import Marks

_MOST_WAYS, _MOST_OTHERS = 64, 3


class Walk:
    """The way of changes through `stages`. What is known of it is remembered by how their columns are placed."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self.stages = tuple(each for stage in stages for each in stage.stages)
        ends = [number for number, stage in enumerate(self.stages) if isinstance(stage, LastStage)]
        self._is_led = any(ends)
        self._faster = Faster()
        """Whether one thread had better walk alone where others might help it."""
        self._apart = (Walk(self.stages[: ends[0]]), Walk(self.stages[ends[0] :])) if self._is_led and ends[0] else None
        """The walks to the first end, and from there on."""
        self._ways: dict[Key, Way] = {}
        self._others: dict[Key, list[Way]] = {}
        """Further ways, the last to fit first, for columns that lie otherwise."""

    def all(self, delta: Delta, onward: Onward | None = None, layout: Layout | None = None) -> list[Delta]:
        """What comes of a delta, in parts that have rows. Raises NumericError.

        It may go `onward` in one call; see `Onward`. `layout`: where its columns lie, if not where it says.
        """
        if layout is None:
            layout = delta.layout
        walk = self if onward is None else self.led(onward)
        if delta.length >= LARGE and at_hand(delta.length) is not None:
            return walk._with_others(delta.laid(layout))
        first = walk.stages[0]
        variant = first.variant(delta.laid(layout)) if first.varies else 0
        way = walk._ways.get((0, layout, flags_of(delta), variant))
        if way is not None:
            return walk.along(way, delta)
        return [part for part in walk.parts(delta.laid(layout)) if part.length]

    def _with_others(self, delta: Delta) -> list[Delta]:
        """The same of so many rows that others may help: stretches go to the first end side by side, and together from
        there on. Or this thread goes alone, if that has taken less time lately.
        """
        with self._faster.next(delta.length) as is_alone:
            if is_alone:
                with alone():
                    return [part for part in self.parts(delta) if part.length]
            if self._apart is None:
                return [part for part in self.parts(delta) if part.length]
            before, behind = self._apart
            whole = concat_deltas([part for part in before.parts(delta) if part.length])
            return [] if whole is None else [part for part in behind.parts(whole) if part.length]

    def along(self, way: Way, delta: Delta) -> list[Delta]:
        """The same of a delta that goes along a way of the first stages; see `Way.run`."""
        passed = way.run(delta)
        if isinstance(passed, list):
            if way.end == len(self.stages) or not passed:
                return passed
            passed = iter([(part, way.end, False) for part in passed])
        return list(self.after(way, passed))

    def goes(self, way: Way) -> bool:
        """Whether this is the way that deltas of its key go, which may change with each that does."""
        return self._ways.get(way.key) is way

    def led(self, onward: Onward) -> Walk:
        """The walk that goes onward."""
        return onward.walks.get(self) or onward.after(self)

    def lend(self, delta: Delta) -> Lent | None:
        """A route to the end for deltas whose columns lie as those of this one, for somebody else to let them go along.

        None if there is none, or none that needs nothing of a delta before.
        """
        way = self.way(delta)
        return Lent(way, delta) if way is not None and way.is_plain and way.end == len(self.stages) else None

    def way(self, delta: Delta) -> Way | None:
        """The way on which deltas begin whose columns lie as those of this one, as far as it is known."""
        return self._ways.get(self.key(delta, 0))

    def rest(self, lent: Lent, said: int, delta: Delta) -> list[Delta]:
        """What is left to come of a delta where somebody else's walk has stopped; the route is not lent any more."""
        return list(self.after(lent.way, lent.way.rest([(lent.route, said)], delta, [lent.kept], lent.route)))

    def after(self, way: Way, passed: Iterable[Passed]) -> Iterator[Delta]:
        """What comes of what has come where along a way: parts that have rows."""
        for each in passed:
            yield from (part for part in self._after(way, *each) if part.length)

    def parts(self, delta: Delta, first: int = 0, by_python: bool = False) -> Iterator[Delta]:
        """What comes of a delta from stage `first` on, bit by bit; some without rows. Raises NumericError."""
        if first == len(self.stages) or not delta.length:
            yield delta
            return
        stage, way = self.stages[first], None
        if not by_python and (not stage.is_light or (self._is_led and not first)):
            key = self.key(delta, first)
            way = self._ways.get(key) or self._begun(key, delta)
        if way is None and stage.holds:
            yield delta
            return
        if way is None:
            for part in stage.passed(delta):
                yield from self.parts(part, first + 1)
            return
        passed = way.run(delta)
        for each in [(part, way.end, False) for part in passed] if isinstance(passed, list) else passed:
            yield from self._after(way, *each)

    def _after(self, way: Way, part: Delta, at: int, failed: bool) -> Iterator[Delta]:
        """What comes of a part that a way has led to a stage, or that it has `failed` to lead through it."""
        if at < way.end and not failed:  # columns lie otherwise than they did
            if at == way.first and (other := self._along_another(way, part)) is not None:
                return other
            self._cut(way, at)
            if self.stages[at].is_light:
                self._ways.pop(self.key(part, at), None)
        elif at < len(self.stages) and not failed:
            self._join(way, part, at)
        return self.parts(part, at, failed)

    def key(self, delta: Delta, first: int) -> Key:
        """By what a way is found: a loop is written for groups with references or without, and so on."""
        stage = self.stages[first]
        return first, delta.layout, flags_of(delta), stage.variant(delta) if stage.varies else 0

    def _begun(self, key: Key, delta: Delta) -> Way | None:
        """The way from a stage on, which ends behind it; None if Python has to do it."""
        leg = self.stages[key[0]].leg(delta)
        if leg is None:
            return None
        if len(self._ways) >= _MOST_WAYS:
            self._ways.clear()
            self._others.clear()
        way = self._ways[key] = Way(key, len(delta.groups), [leg])
        return way

    def _along_another(self, way: Way, part: Delta) -> Iterator[Delta] | None:
        """What comes of a part along another way of the same key, whose columns lie as one of those takes them.

        So batches of which some have NULLs and others none, or values in fewer bytes, go to and fro between two.
        """
        others = self._others.get(way.key, []) if self.key(part, way.first) == way.key else []
        for number, other in enumerate(others):
            found = other.run(part)
            passed = iter([(each, other.end, False) for each in found] if isinstance(found, list) else found)
            first = next(passed, None)
            if first is not None and first[1] == other.first and not first[2]:
                list(passed)  # it does not fit either
                continue
            others[number], self._ways[way.key] = way, other
            there = passed if first is None else chain([first], passed)
            return chain.from_iterable(self._after(other, *each) for each in there)
        return None

    def _cut(self, way: Way, at: int) -> None:
        """Let a way end before a stage; one that is left without any may fit again."""
        kept = way.legs[: at - way.first]
        if kept:
            self._ways[way.key] = Way(way.key, way.groups, kept)
            return
        self._ways.pop(way.key, None)
        others = self._others.setdefault(way.key, [])
        others.insert(0, way)
        del others[_MOST_OTHERS:]

    def _join(self, way: Way, part: Delta, at: int) -> None:
        """Let a way go on to where the next one leads, which what has come of the delta takes."""
        key = self.key(part, at)
        following = self._ways.get(key) or self._begun(key, part)
        if following is None or way.legs[-1].is_last or following.legs[0].is_first:
            return
        if following.legs[-1].is_end and way.first:
            return  # what has come so far may be some of the changes
        self._ways[way.key] = Way(way.key, way.groups, [*way.legs, *following.legs])


class LastStage(Stage):
    """One of the last stages of walks that lead to it, which does nothing in Python: changes stay as they are.

    Its leg does all with them that their only reader would, and what comes of that comes of the walk, or goes on to the
    next one. `rows`: of how many changes that was so, which else come of the walk themselves. `gives`: whether anything
    comes of it. `makes`: whether that is something else than what has come to it. `follows`: whether it has to be
    behind another one, which does not.
    """

    is_light = True
    rows = 0
    gives = makes = True
    follows = False
    marks: Marks

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.passed`."""
        yield delta


class Onward:
    """Where walks may go on to: stages, and the walks that do, by those that end before them.

    `ends`: of each node on the way the stage that says what has come to it.
    """

    def __init__(self, ends: Sequence[LastStage], stages: Sequence[Stage]) -> None:
        self.ends, self.stages = tuple(ends), tuple(stages)
        self.walks: dict[Walk, Walk] = {}  # not of the stages, which they hold: all goes when nobody has this any more

    def after(self, walk: Walk) -> Walk:
        """A walk that goes on through the stages."""
        longer = self.walks[walk] = Walk([*walk.stages, *self.stages])
        return longer

    @property
    def has_come(self) -> bool:
        """Whether something has come to the first end."""
        return self.ends[0].rows > 0

    def begin(self) -> None:
        """Nothing has gone through the stages yet."""
        for end in self.ends:
            end.rows = 0
