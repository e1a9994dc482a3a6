"""Ways: stages that changes of one form pass in one call of machine code, and what comes of them."""

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
from ivm.operators.stage import Leg
from ivm.trace.columns.column import Ints
from ivm.trace.delta import Delta, Group, Layout, Source
from ivm.trace.helpers import LARGE, at_hand
from ivm.trace.made import Made
from ivm.trace.route import Route, listed_of, side_by_side
from ivm.trace.state import Marks

Key = tuple[int, Layout, int, int]
"""By what a way is found: the first stage, how columns are placed, flags of the form, what the stage else asks for."""
Passed = tuple[Delta, int, bool]
"""What has come so far; the stage that is next; whether Python has to do that one."""
Begun = tuple[Sequence[Group], Route | None, int, object]
"""A walk that somebody has begun: the groups of the delta that went along; the route, or None if nothing has come of
it; what it has said, and what is there meanwhile."""


def flags_of(delta: Delta) -> int:
    """Whether all rows have one time, and which groups have references, as bits; the first one counts for nothing."""
    flags = 2 if isinstance(delta.times, int) else 3
    for group in delta.groups:
        flags = 2 * flags + (group.refs is not None)
    return flags


class Way:
    """Stages, up to `end`, which `legs` do in one call, for the deltas of a `key`, of so many `groups`.

    `head`: the columns that it reads of each. It `tells` if a route has to be told
    something before a walk, `makes` something of the delta first, and `is_ready` if nothing but a delta is told.
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
        self._found_by = [(number, leg) for number, leg in enumerate(legs) if leg.source() is not None]
        self.tells, self.makes = bool(self._telling), legs[0].makes
        self.is_ready = not (self.tells or legs[0].is_first)
        self._lays = self.tells or legs[0].extra > 0 or legs[-1].is_last
        self._ends = [(number, leg) for number, leg in enumerate(legs) if leg.is_end]
        self._states = [state for _, leg in self._ends for state in leg.states]
        self._before = [sum(len(leg.states) for _, leg in self._ends[:place]) for place in range(len(self._ends))]
        self._marks = self._ends[0][1].marks if self._ends else None
        self.begun: Begun | None = None
        """The walk that the next delta has begun already, if it is the one."""
        for _, leg, columns, _ in every:
            leg.want(columns)

    def run(self, delta: Delta) -> list[Delta] | Iterator[Passed]:
        """What comes of a delta: all of it, which has come to the end; or what has come where, part by part.

        The columns lie in its groups as the key says, whatever the delta itself says of that.
        """
        if self._lays:
            delta = delta.laid(self.key[1])
        begun, self.begun = self.begun, None
        if begun is not None and begun[0] is delta.groups:
            _, walked, said, held = begun
            return [] if walked is None else self._ended(walked, delta, walked.gone(said, delta.length), [held])
        try:
            route = self._idle.pop()
        except IndexError:
            route = self._route.copy()
        legs, length, times = self.legs, delta.length, delta.times
        if legs[0].extra:
            delta = legs[0].extended(delta)
        kept = self.tell(route, delta) if self._telling else []
        listed = listed_of(delta, self.head)
        time = times if isinstance(times, int) else 0
        marks = self._marks
        if length >= LARGE and legs[0].splits and marks is None and (errands := at_hand(length)) is not None:
            for leg in legs:
                leg.ready()
            routes = side_by_side(errands, route, listed, length, time)
            self._idle.append(route)
            return self.rest(routes, delta, [kept, listed])
        if marks is None:
            return self._ended(route, delta, route.go(listed, 0, length, time), [kept, listed])
        marked = len(marks)
        marks.add(self._states)
        return self._ended(route, delta, route.go(listed, 0, length, time, 1), [kept, listed], marked)

    def _ended(
        self, route: Route, delta: Delta, said: int, kept: list[object], marked: int = 0
    ) -> list[Delta] | Iterator[Passed]:
        """What comes of a delta along a route that has said something for the first time; see `run`.

        `marked`: how many states were marked before those of the ends, if these are.
        """
        marks = self._marks
        while said == ASKS:
            if marks is not None and not route.is_marked:
                marked = len(marks)
                marks.add(self._states)
                route.mark()
            else:
                kept.append(self._asked(route, delta))
            said = route.go_on(delta.length)
        passed, ended = (None, 0) if marks is None else self._come(route, said, delta.times, marks, marked)
        if passed is None:
            if said < 0 or (self._found_by and route.at >= 0):
                return self.rest([(route, said)], delta, kept, route, ended)
            passed = [self.result(route, delta)] if said else []
        if self._found_by or route.is_used:
            self.leave(route)
        self._idle.append(route)
        return passed

    def _come(
        self, route: Route, said: int, times: Ints | int, marks: Marks, marked: int
    ) -> tuple[list[Delta] | Iterator[Passed] | None, int]:
        """What has come of a walk that has passed some of the ends, so many, behind the last of those that does not let
        changes go on as they are; None if it has passed none of these.

        Where nothing has come to the others, their state is not marked any more, if it is not of the first `marked`.
        """
        ends, ended, last = self._ends, 0, -1
        for number, leg in ends:
            if not leg.ended(route, number, times):
                if said >= 0 and route.is_marked:
                    marks.let_go(marked + self._before[ended])
                break
            if not leg.passes:
                last = ended
            ended += 1
        if last < 0:
            return None, ended
        number, leg = ends[last]
        if not leg.follows:
            found = leg.come(route, number, times)
        elif said:
            before, other = ends[last - 1]
            found = [leg.led_on(route, number, delta) for delta in other.come(route, before, times)]
        else:
            found = []
        if said >= 0 or not found:
            return found, ended
        return iter([(found[0], self.first + number + 1, not self.legs[route.at].is_otherwise(said))]), ended

    def lend(self) -> Route:
        """A route that nobody walks."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._route.copy()

    def is_otherwise(self, route: Route, said: int) -> bool:
        """Whether a walk has stopped before anything, since columns lie otherwise than the first leg was made for."""
        return route.at == 0 and self.legs[0].is_otherwise(said)

    def take_back(self, route: Route) -> None:
        """Nobody walks a route any more, nor reads what has come of it."""
        self.leave(route)
        self._idle.append(route)

    def learn(self, route: Route) -> None:
        """Report what the last walk along a route has met."""
        for number, leg in self._found_by:
            leg.end(route, number)
        route.words[TOLD] = 0

    def _asked(self, route: Route, delta: Delta) -> object:
        """Tell a leg what it asks for; what has to be there meanwhile."""
        number = route.at
        return self.legs[number].asked(route, number, delta, self._found[number])

    def rest(
        self, routes: Iterable[tuple[Route, int]], delta: Delta, kept: list[object], own: Route | None = None,
        ended: int = 0,
    ) -> Iterator[Passed]:  # fmt: skip
        """What comes of a delta along routes of which each has said something; `kept` is there meanwhile.

        `own`: the one that is used again afterwards. `ended`: how many of the ends all has come to.
        """
        delta = delta.laid(self.key[1])
        for route, first_said in routes:
            said = first_said
            for number, leg in self._ends[ended : ended + 1]:
                leg.leave(route, number)
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
        if self._found_by and route.words.item(TOLD):
            for number, leg in self._found_by:
                leg.end(route, number)
        if route.is_used:
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
        groups: list[Group] = []
        at = GROUPS
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
        self.route.ready()
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
