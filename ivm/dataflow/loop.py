"""Loops: a dataflow within a node, stepped round by round for as long as a round changes something.

In the dataflow of a loop times are *ticks*, one for each step of it, which never fall: rounds begin at 0 with every
commit, ticks do not. The round is a column of what flows there (see `ivm.plan.lift`). What enters has times of the
dataflow around, and what is looked up there is looked up as of the time that the loop is at.

What is linear takes rows of any round at any time; groups wait for their round. So a pass of a round carries all that
has come through the loop, then looks at the groups that are due in that round, one node after the other, each time
carrying on what changes. What a binding gives is fed back, for the round after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ivm.catalog.errors import RecursionLimitError
from ivm.dataflow.bits import Bits
from ivm.dataflow.clock import Clock, Ticking
from ivm.dataflow.drive import Drive
from ivm.dataflow.feedback import Feedback
from ivm.dataflow.hydration import Installation, catch_up, whole_of
from ivm.dataflow.node import Node
from ivm.dataflow.scope import Scope
from ivm.dataflow.straight import straight
from ivm.operators.operator import Contents, Kept
from ivm.trace.columns.column import Column, Ints
from ivm.trace.concatenation import concat_deltas
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta, delta_of, plain_layout
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.rows.signed_rows import SignedRows
from ivm.trace.state import Marks

_STRETCH = 1 << 17
"""So many rows of a change are carried at once."""
MOST_ROUNDS = 1_000_000
"""After so many rounds a loop without a limit of its own is taken not to end."""
_NEVER = 2**62


class Iterate(Kept):
    """A loop. State: that of the nodes within, its ticks, and of bindings that are read outside what these do not keep.

    Its own change says only how much there is to read: `changes` has what each binding that is read has changed in the
    last step. With a `limit` it ends after so many rounds, without one it must have ended before `most`.
    """

    def __init__(
        self,
        scope: Scope,
        read: Mapping[int, Kept],
        limit: int | None = None,
        last: Sequence[SignedRows[Arrangement]] = (),
        most: int = MOST_ROUNDS,
    ) -> None:
        """`read`: for the number of each binding that is read outside what knows its rows. `last`: if it is an error
        that something changes in the last round of the limit, what keeps of each binding what that changes.
        """
        self.kept = dict(read)
        self.changes: dict[int, Delta | None] = {}
        self._scope, self._limit, self._last, self._most = scope, limit, tuple(last), most
        self.passed = self.longest = 0
        """How many rounds were run, and for one time at most."""
        self._clock = Clock(scope)
        self._grouped = {node for _, node in scope.groups}
        line = None if self._last else straight(scope)
        before = _NEVER if scope.valued else most  # rounds by value are numbered by values
        self._drive = None if line is None else Drive(line, scope, self._clock, limit, before)
        states = [state for node in scope.graph.nodes for state in node.operator.states]
        kept = (state for each in self.kept.values() for state in each.states)
        self.states = (self._clock, *(Ticking(state, self._clock) for state in (*states, *self._last)), *kept)

    @property
    def within(self) -> Sequence[Node]:
        """The nodes of the loop's own dataflow, each after those that it reads."""
        return self._scope.graph.nodes

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """Run the rounds that follow from changes of what enters, time by time. See `passes`."""
        for _ in self.passes(inputs):
            pass
        changed = sum(delta.length for delta in self.changes.values() if delta is not None)
        return Delta([], plain_layout(0), changed, 0) if changed else None

    def passes(self, inputs: Sequence[Delta | None], begins_at: int | None = None) -> Iterator[int | None]:
        """The same, yielding the number of each round that was run, and None now and then within a long one.

        `begins_at`: the time at which there is a loop. Where it yields, nobody is on a walk.

        Raises RecursionLimitError where it does not end within its rounds, and what operators raise. Cost: that of what
        changes in each round; some tens of microseconds for each node that a round reaches.
        """
        found: dict[int, list[Delta]] = {number: [] for number in self.kept}
        if begins_at is not None:
            for group, _ in self._scope.groups:
                group.begin()
        for time, deltas in _by_time(inputs, begins_at):
            for each in self._scope.looking:
                each.time = time
            entering = zip(self._scope.entering, deltas, strict=True)
            for number in self._rounds({node: delta for node, delta in entering if delta is not None}, time, found):
                if begins_at is not None:  # what waited would be read where it lay before a seal
                    self._arrange()
                yield number
            self._arrange()
        self.changes = {number: self.kept[number].step([concat_deltas(deltas)]) for number, deltas in found.items()}

    def look_up_as_of(self, time: int | None) -> None:
        """Look up what was there at a time, while others commit; None: what is there from now on."""
        for each in self._scope.looking:
            each.look_up_as_of(time)

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """Nobody reads a loop but for what it keeps."""
        raise AssertionError("a loop is read of its results")

    def _rounds(self, changes: Mapping[Node, Delta], time: int, found: dict[int, list[Delta]]) -> Iterator[int | None]:
        """The rounds of one time; what bindings that are read change is added to what was `found`. See `passes`."""
        if self._drive is not None:
            yield from self._driven(self._drive, changes, time, found)
            return
        scope, number, run = self._scope, -1, 0
        coming = Feedback(changes, waits=scope.waits)
        while True:
            firsts = [coming.first, *(group.due for group, _ in scope.groups)]
            due = [each for each in firsts if each is not None]
            if not due:
                for group, _ in scope.groups:
                    group.close()
                self._settle()
                if any(rows.count for rows in self._last):
                    self._refuse(self._limit or 0)
                return
            before, number = number, min(due)
            assert number > before, "rounds ascend"
            # Rounds by value are numbered by values.
            if self._limit is None and (run if scope.valued else number) >= self._most:
                self._settle()
                self._refuse(self._most)
            run += 1
            given: list[list[Delta]] = [[] for _ in scope.bindings]
            yield from self._carry(coming.take(number), given)
            for group, node in scope.groups:
                while group.due == number:
                    self._clock.tick += 1
                    changed = group.evaluate(number, self._clock.tick)
                    if changed is not None:
                        yield from self._carry({node: changed}, given)
            self._settle(number)
            self._feed(given, time, found, coming)
            self.passed, self.longest = self.passed + 1, max(self.longest, run)
            yield number

    def _driven(
        self, drive: Drive, changes: Mapping[Node, Delta], time: int, found: dict[int, list[Delta]]
    ) -> Iterator[int | None]:
        """The same of a straight loop."""
        ((group, _),) = self._scope.groups
        drive.begin()
        yield from self._carry(changes, [[]])
        run = 0
        while (number := group.due) is not None:
            # Rounds by value are numbered by values.
            if self._limit is None and (run if self._scope.valued else number) >= self._most:
                self._settle()
                self._refuse(self._most)
            ran = yield from drive.run(number, self._most - run, time)
            run += ran
            self.passed, self.longest = self.passed + ran, max(self.longest, run)
            yield drive.number
        group.close()
        self._settle()
        for deltas in found.values():
            deltas.extend(drive.end(time))

    def _carry(self, changes: Mapping[Node, Delta], given: list[list[Delta]]) -> Iterator[None]:
        """Carry changes through the loop, a stretch at each new tick; what bindings give is added to what was `given`.

        Of several ticks it is as of one time, as what they change in a round is one change. Yields between stretches.
        """
        most = max((delta.length for delta in changes.values()), default=0)
        for start in range(0, most, _STRETCH):
            if start:
                yield
            self._carry_stretch(changes if most <= _STRETCH else _stretch(changes, start), given)

    def _carry_stretch(self, changes: Mapping[Node, Delta], given: list[list[Delta]]) -> None:
        self._clock.tick += 1
        tick, graph = self._clock.tick, self._scope.graph
        ticking = {node: Delta(d.groups, d.layout, d.length, tick, d.diffs) for node, d in changes.items()}
        deltas = graph.step(ticking)
        graph.marks.clear()  # whoever steps the loop has marked all that is in it
        for number, binding in enumerate(self._scope.bindings):
            delta = deltas.get(binding.node)
            if delta is not None and delta.length:
                given[number].append(Delta(delta.groups, delta.layout, delta.length, 0, delta.diffs))

    def _feed(
        self, given: Sequence[Sequence[Delta]], time: int, found: dict[int, list[Delta]], coming: Feedback
    ) -> None:
        """Let what bindings have given come back, as of the rounds after."""
        for number, (binding, deltas) in enumerate(zip(self._scope.bindings, given, strict=True)):
            merged = concat_deltas(deltas)
            is_net = merged is None or binding.node in self._grouped  # what groups change in a round is
            net = merged if merged is None or is_net else consolidate(merged, binding.types)
            if net is None:
                continue
            *columns, rounds = net.columns()
            if number in found:
                found[number].append(delta_of(columns, time, net.diffs, len(net)))
            if self._last and self._limit is not None:
                self._last[number].apply(
                    _from_round(net, rounds.values.astype(np.int64, copy=False), self._limit - 1, self._clock.tick)
                )
            if binding.back is None:
                continue
            later: Ints = rounds.values.astype(np.int64, copy=False) + 1
            back = delta_of([*columns, Column(later)], 0, net.diffs, len(net))
            if self._limit is not None and (over := later >= self._limit).any():
                back, later = back.take(np.flatnonzero(~over)), later[~over]
            coming.add(binding.back, back, later, binding.types)

    def _arrange(self) -> None:
        """Let what is arranged later have what rounds have changed so far."""
        if self._scope.later:
            self._clock.tick += 1
        for each in self._scope.later:
            each.catch_up(self._clock.tick)

    def _settle(self, number: int | None = None) -> None:
        """All has come of the rounds up to a number, or of all rounds: what then raises does."""
        for program in self._scope.holding:
            program.settle(number)

    def _refuse(self, rounds: int) -> None:
        """It does not end: so many rounds were its limit, or that of all loops."""
        said = f"the loop of {', '.join(self._scope.names)} has not ended after {rounds} rounds"
        if self._limit is not None:
            raise RecursionLimitError(
                f"{said}; let it find no more rows by then, raise its limit, or write RETURN AT RECURSION LIMIT "
                f"{rounds} to have what it holds by then"
            )
        raise RecursionLimitError(
            f"{said}; let it find no more rows at some time, write RETURN AT RECURSION LIMIT n to have what it holds "
            "after n rounds, or give the database a greater recursion_limit"
        )


class LoopResult(Kept):
    """What a binding of a loop holds at the end. State: none of its own, the loop knows the rows."""

    def __init__(self, loop: Iterate, binding: int) -> None:
        self._loop, self._binding = loop, binding

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """What the loop has just changed."""
        return self._loop.changes[self._binding]

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The rows."""
        return self._loop.kept[self._binding].contents((), time)


def fill(node: Node, time: int, installation: Installation) -> Bits[None]:
    """Bring a new loop up to the present; others are let in after each chunk that is read, after each round, and within
    rounds of many rows.
    """
    loop = node.operator
    assert isinstance(loop, Iterate), "a loop is filled"
    installation.waiting = node
    whole = []
    for each in node.inputs:
        whole.append((yield from whole_of(each.contents(time, installation.read))))
    loop.look_up_as_of(time)
    marks = Marks()
    marks.add(loop.states)
    for number in loop.passes(whole, time):
        if number is None:  # nothing is sealed in the middle of a round
            yield 0
            continue
        marks.seal(time + 1, time)
        yield 0
        marks.add(loop.states)
    marks.seal(time + 1, time)
    loop.look_up_as_of(None)
    yield from catch_up(loop, time, installation)
    installation.waiting = None


def _stretch(changes: Mapping[Node, Delta], start: int) -> dict[Node, Delta]:
    """The changes in a stretch of rows, of each node that has some there."""
    some = ((node, delta) for node, delta in changes.items() if start < delta.length)
    return {node: delta.slice(start, min(start + _STRETCH, delta.length)) for node, delta in some}


def _from_round(delta: Delta, rounds: Ints, first: int, tick: int) -> Delta:
    """The changes of a round and those after it."""
    rows = delta.take(np.flatnonzero(rounds >= first))
    return Delta(rows.groups, rows.layout, rows.length, tick, rows.diffs)


def _by_time(inputs: Sequence[Delta | None], begins_at: int | None) -> Iterator[tuple[int, list[Delta | None]]]:
    """The changes of each time, in the order of times; the time at which all begins has some, if only none."""
    given = [delta for delta in inputs if delta is not None and delta.length]
    times = {begins_at} if begins_at is not None else set[int]()
    for delta in given:
        times.update([delta.times] if isinstance(delta.times, int) else np.unique(delta.times).tolist())
    for time in sorted(times):
        yield time, [_of_time(delta, time) for delta in inputs]


def _of_time(delta: Delta | None, time: int) -> Delta | None:
    if delta is None or not delta.length:
        return None
    if isinstance(delta.times, int):
        return delta if delta.times == time else None
    rows = np.flatnonzero(delta.times == time)
    return delta.take(rows) if len(rows) else None
