"""Walks: changes pass stages, as many as may be in one call of machine code, and the others in Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ivm.kernels.memory.places import PLACES, REFERENCES, SOURCE
from ivm.kernels.step.records import (
    ASKS,
    AT,
    DIFFS,
    FIRST,
    GROUPS,
    LENGTH,
    STARTED,
    STRIDED,
    TIMES,
    TOLD,
)
from ivm.operators.stage import Leg, Stage
from ivm.trace.columns.column import Array
from ivm.trace.delta import Delta, Group, Layout, Source
from ivm.trace.helpers import at_hand
from ivm.trace.made import Made
from ivm.trace.route import Route, listed_of, side_by_side

_MOST_WAYS = 64
_LISTED: list[Array | None] = []
Key = tuple[int, Layout, int, int]
Passed = tuple[Delta, int, bool]
"""What has come so far; the stage that is next; whether Python has to do that one."""


class Walk:
    """The way of changes through `stages`. What is known of it is remembered by how their columns are placed."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self.stages = tuple(each for stage in stages for each in stage.stages)
        self._alone = self.stages[0] if len(self.stages) == 1 and self.stages[0].is_light else None
        self._ways: dict[Key, Way] = {}

    def all(self, delta: Delta, onward: Onward | None = None) -> list[Delta]:
        """What comes of a delta, in parts that have rows. Raises NumericError.

        It may go `onward` in one call; see `Onward`.
        """
        if self._alone is not None:
            return self._alone.all(delta)
        walk = self
        if onward is not None and at_hand(delta.length) is None:
            walk = onward.walks.get(self) or onward.after(self)
        way = walk._ways.get(walk.key(delta, 0))
        if way is not None and len(way.legs) == len(walk.stages):
            passed = way.run(delta)
            if isinstance(passed, list):
                return passed
            return list(walk.after(way, passed))
        return [part for part in walk.parts(delta) if part.length]

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
        if not by_python and not stage.is_light:
            key = self.key(delta, first)
            way = self._ways.get(key) or self._begun(key, delta)
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
            self._cut(way, at)
        elif at < len(self.stages) and not failed:
            self._join(way, part, at)
        return self.parts(part, at, failed)

    def key(self, delta: Delta, first: int) -> Key:
        """By what a way is found: a loop is written for groups with references or without, and so on."""
        flags = 2 if isinstance(delta.times, int) else 3  # the first bit, behind which all others count
        for group in delta.groups:
            flags = 2 * flags + (group.refs is not None)
        return first, delta.layout, flags, self.stages[first].variant(delta)

    def _begun(self, key: Key, delta: Delta) -> Way | None:
        """The way from a stage on, which ends behind it; None if Python has to do it."""
        leg = self.stages[key[0]].leg(delta)
        if leg is None:
            return None
        if len(self._ways) >= _MOST_WAYS:
            self._ways.clear()
        way = self._ways[key] = Way(key, len(delta.groups), [leg])
        return way

    def _cut(self, way: Way, at: int) -> None:
        """Let a way end before a stage."""
        kept = way.legs[: at - way.first]
        if kept:
            self._ways[way.key] = Way(way.key, way.groups, kept)
        else:
            self._ways.pop(way.key, None)

    def _join(self, way: Way, part: Delta, at: int) -> None:
        """Let a way go on to where the next one leads, which what has come of the delta takes."""
        key = self.key(part, at)
        following = self._ways.get(key) or self._begun(key, part)
        if following is None or way.legs[-1].is_last or following.legs[0].is_first:
            return
        if following.legs[-1].is_end and way.first:
            return  # what has come so far may be some of the changes
        if not isinstance(part.times, int) and following.legs[0].source() is not None:
            return  # each row sees what there was at its time, which is found out before
        self._ways[way.key] = Way(way.key, way.groups, [*way.legs, *following.legs])


class LastStage(Stage):
    """The last stage of walks that lead to it, which does nothing in Python: changes stay as they are.

    Its leg does all with them that their only reader would, and what comes of that comes of the walk. `rows`: of how
    many changes that was so, which else come of the walk themselves.
    """

    is_light = True
    rows = 0

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.passed`."""
        yield delta


class Onward:
    """Where walks may go on to: a stage, and the walks that do, by those that end before it."""

    def __init__(self, stage: LastStage) -> None:
        self.stage = stage
        self.walks: dict[Walk, Walk] = {}  # not of the stage, which they hold: all goes when nobody has this any more

    def after(self, walk: Walk) -> Walk:
        """A walk that goes on through the stage."""
        longer = self.walks[walk] = Walk([*walk.stages, self.stage])
        return longer


class Way:
    """Stages, up to `end`, which `legs` do in one call, for the deltas of a `key`, of so many `groups`.

    `head`: the columns that it reads of each. It `is_ready` if a route need not be told anything but the delta.
    """

    def __init__(self, key: Key, groups: int, legs: Sequence[Leg]) -> None:
        self.key, self.groups, self.legs = key, groups, tuple(legs)
        self.first = key[0]
        self.end = self.first + len(legs)
        there = groups + legs[0].extra
        self.is_plain = not any(leg.is_first or leg.is_last for leg in legs)
        self._route, self._idle = Route(legs, there), list[Route]()
        self._origins: list[list[tuple[int, int]]] = [[(-1, number) for number in range(there)]]
        head, found = [dict[int, None]() for _ in range(there)], [dict[int, None]() for _ in legs]
        for number, leg in enumerate(legs):
            before = self._origins[-1]
            for group, columns in leg.reads:
                origin, which = before[group]
                (head[which] if origin < 0 else found[origin]).update(dict.fromkeys(columns))
            self._origins.append([before[group] for group in leg.goes_on])
            if leg.made or leg.source() is not None:
                self._origins[-1].append((number, 0))
        self.head = [tuple(each) for each in head]
        self._found = [tuple(each) for each in found]
        every = [
            (number, leg, self._found[number], [self._origins[number][group] for group in leg.asks])
            for number, leg in enumerate(legs)
        ]
        self._telling = [each for each in every if each[1].tells]
        self.is_ready = not self._telling and not legs[0].is_first
        for _, leg, columns, _ in every:
            leg.want(columns)

    def run(self, delta: Delta) -> list[Delta] | Iterator[Passed]:
        """What comes of a delta: all of it, which has come to the end; or what has come where, part by part."""
        route = self.lend()
        legs, length = self.legs, delta.length
        if legs[0].extra:
            delta = legs[0].extended(delta)
        kept = self.tell(route, delta) if self._telling else []
        listed = listed_of(delta, self.head)
        time = delta.times if isinstance(delta.times, int) else 0
        if legs[0].splits and (errands := at_hand(length)) is not None:
            for leg in legs:
                leg.ready()
            routes = side_by_side(errands, route, listed, length, time)
            self._idle.append(route)
            return self.rest(routes, delta, [kept, listed])
        route.begin(listed, 0, length, time)
        said = route.go_on(length)
        while said == ASKS:
            kept.append(self._asked(route, delta))
            said = route.go_on(length)
        if said < 0 or route.at >= 0:
            return self.rest([(route, said)], delta, [kept, listed], route)
        passed = list[Delta]()
        if legs[-1].is_end:
            passed += legs[-1].ended(route, len(legs) - 1, said, delta.times)
        elif said:
            passed.append(self.result(route, delta))
        self.take_back(route)
        return passed

    def lend(self) -> Route:
        """A route that nobody walks."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._route.copy()

    def take_back(self, route: Route) -> None:
        """Nobody walks a route any more, nor reads what has come of it."""
        self.leave(route)
        self._idle.append(route)

    def learn(self, route: Route) -> None:
        """Report what the last walk along a route has met."""
        for number, leg in enumerate(self.legs):
            leg.end(route, number)
        route.words[TOLD] = 0

    def _asked(self, route: Route, delta: Delta) -> object:
        """Tell a leg what it asks for; what has to be there meanwhile."""
        number = route.at
        return self.legs[number].asked(route, number, delta, self._found[number])

    def rest(
        self, routes: Iterable[tuple[Route, int]], delta: Delta, kept: list[object], own: Route | None = None
    ) -> Iterator[Passed]:
        """What comes of a delta along routes of which each has said something; `kept` is there meanwhile.

        `own`: the one that is used again afterwards.
        """
        for route, first_said in routes:
            said = first_said
            self.legs[-1].leave(route, len(self.legs) - 1)
            while said:
                if said == ASKS:
                    kept.append(self._asked(route, delta))
                    said = route.go_on(delta.length)
                    continue
                if said > 0:
                    yield self.result(route, delta), self.end, False
                elif said == STRIDED:
                    self.leave(route)
                    if own is not None:  # it is the next one
                        self._idle.append(own)
                    packed = self.run(_packed(delta))
                    yield from [(part, self.end, False) for part in packed] if isinstance(packed, list) else packed
                    return  # of the whole delta, whichever stretch has said so
                else:
                    yield self._stopped(route, delta, said)
                    route.words[AT] = self._with_more(route)
                if route.at < 0:
                    break
                # Commits may have come meanwhile: what is read lies elsewhere.
                again = self.tell(route, delta), listed_of(delta, self.head)
                said = route.go_on(delta.length)
                del again
            self.leave(route)
        del kept
        if own is not None:
            self._idle.append(own)

    def leave(self, route: Route) -> None:
        """Nobody reads any more what has come along a route; report what the walk has met."""
        if route.words.item(TOLD):
            for number, leg in enumerate(self.legs):
                leg.end(route, number)
        route.end()

    def tell(self, route: Route, delta: Delta) -> list[object]:
        """Tell the legs of a route what is new; what has to be there meanwhile."""
        return [
            leg.begin(route, number, delta, columns, [self._source(delta, *origin) for origin in origins])
            for number, leg, columns, origins in self._telling
        ]

    def _source(self, delta: Delta, origin: int, which: int) -> Source:
        """What was there before, or what a leg has found."""
        source = delta.groups[which].source if origin < 0 else self.legs[origin].source()
        assert source is not None, "nobody asks for more of what was made"
        return source

    def result(self, route: Route, delta: Delta) -> Delta:
        """What has come to the end of the route."""
        end, last = len(self.legs), self.legs[-1]
        made = self._at(route, end, delta)
        return last.finish(route, end - 1, self._at(route, end - 1, delta), made) if last.is_last else made

    def _stopped(self, route: Route, delta: Delta, said: int) -> Passed:
        """What a leg has stopped with."""
        number = route.at
        leg, before = self.legs[number], self._at(route, number, delta)
        return leg.stopped_at(route, number, before), self.first + number, not leg.is_otherwise(said)

    def _with_more(self, route: Route) -> int:
        """The last leg before the one that has stopped that has more rows to give; -1 if there is none."""
        for number in range(route.at - 1, -1, -1):
            if self.legs[number].source() is not None and route.words.item(route.legs[number] + STARTED):
                return number
        return -1

    def _at(self, route: Route, number: int, delta: Delta) -> Delta:
        """The delta that an edge tells of, where `delta` has come in."""
        edge = route.edge(number)
        length = edge[LENGTH]
        if not number:
            return delta.slice(edge[FIRST], length)
        groups, at = list[Group](), GROUPS
        for origin, which in self._origins[number]:
            references, refs = edge[at + REFERENCES], None
            if origin < 0:
                source, refs = delta.groups[which].source, delta.groups[which].refs
            else:
                source = self.legs[origin].source() or self._made(route, origin, edge[at + PLACES])
            if references:
                refs = route.moved(references, length, refs)
            groups.append(Group(source, refs))
            at += SOURCE
        times, diffs = delta.times, delta.diffs
        if not isinstance(times, int):
            times = route.moved(edge[TIMES], length, times)
        if edge[DIFFS]:
            diffs = route.moved(edge[DIFFS], length, diffs)
        return Delta(groups, self.legs[number - 1].layout, length, times, diffs)

    def _made(self, route: Route, origin: int, places: int) -> Made:
        """What a leg has made."""
        rows = route.words.item(route.edges[origin + 1] + LENGTH)
        arena, begin = route.arena_of(places)
        return Made(arena, begin, places, self.legs[origin].made, rows)


class Lent:
    """A route that somebody else walks, and what has to be there meanwhile; `layout` is that of what comes of it."""

    def __init__(self, way: Way, delta: Delta) -> None:
        self.way, self.route, self.layout = way, way.lend(), way.legs[-1].layout
        self.route.begin(_LISTED, 0, 0)
        self.kept = way.tell(self.route, delta)

    def learn(self) -> None:
        """Report what the last walk has met."""
        self.way.learn(self.route)

    def end(self) -> None:
        """It is not lent any more."""
        self.way.take_back(self.route)


def _packed(delta: Delta) -> Delta:
    """The same, whose references, times and diffs are of int64, one behind the other."""
    groups = [
        each if each.refs is None else Group(each.source, np.ascontiguousarray(each.refs, np.int64))
        for each in delta.groups
    ]
    times = delta.times if isinstance(delta.times, int) else np.ascontiguousarray(delta.times, np.int64)
    diffs = None if delta.diffs is None else np.ascontiguousarray(delta.diffs, np.int64)
    return Delta(groups, delta.layout, delta.length, times, diffs)
