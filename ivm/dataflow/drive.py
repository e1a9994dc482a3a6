"""Runs the rounds of a straight loop: many in one call of machine code, where nothing is out of the ordinary."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from time import perf_counter_ns

import numpy as np

from ivm.dataflow.clock import Clock
from ivm.dataflow.given import GivenRows
from ivm.dataflow.scope import Scope
from ivm.dataflow.straight import Straight
from ivm.kernels.compiling.checking import BEYOND
from ivm.kernels.groups.rounds import FAILED as WHICH
from ivm.kernels.step.drive import (
    BEFORE,
    BY_PYTHON,
    CAME,
    COLUMNS,
    DRIVE,
    ENDED,
    EVALUATE,
    FAILED,
    FROM,
    GIVEN,
    KIND,
    LEARNS,
    LINE,
    LINE_WORDS,
    LINES,
    MEMORY,
    MOST,
    MOST_CAME,
    MOST_DUE,
    NO_CELLS,
    NO_GIVEN,
    NO_MEMORY,
    NO_SLOTS,
    NUMBER,
    PAUSED,
    PLAN,
    PLANS,
    PUT,
    ROUTE,
    ROW_CELLS,
    ROW_ROOM,
    RUN,
    STAGE,
    STOPPED,
    TICK,
    WANTED,
    drive,
)
from ivm.kernels.types import Int32s
from ivm.operators.projection import Given
from ivm.operators.walk import Walk
from ivm.operators.way import Lent
from ivm.trace.columns.column import Column, Ints
from ivm.trace.consolidate import one_each
from ivm.trace.delta import Delta, Group, Layout, delta_of

_MOST_DUE = 1 << 12
"""Where more groups are due, one round is work for more than one thread."""
_MOST_ROUNDS, _MOST_ROWS = 1 << 8, 1 << 17
"""After so many rounds, or rows that have come to groups, others are let in, and interruptions heard."""


class Drive:
    """The rounds of one loop. `number`: the last that was run; `found`: what groups have given, of some time.

    Programs that hold rows back are asked for these after each round, which is run in Python then.
    """

    def __init__(self, straight: Straight, scope: Scope, clock: Clock, limit: int | None, before: int) -> None:
        """With a `limit` it ends after so many rounds. Those from `before` on are not run unless each is asked for."""
        self._straight, self._holding, self._clock, self._limit = straight, scope.holding, clock, limit
        self._group, self._groups, driven = straight.group, straight.group.groups, straight.group.driven
        assert driven is not None, "it is straight"
        lines = len(straight.lines)
        self._frame: Ints = np.zeros(DRIVE + LINE_WORDS * lines, np.int64)
        self._frame[[KIND, PLAN, PLANS]] = driven.kind, id(driven.plan), len(driven.plan)
        self._frame[[COLUMNS, LINES, MOST_DUE]] = len(straight.layout), lines, _MOST_DUE
        self._frame[BEFORE] = before if limit is None else limit - 1
        self._given = GivenRows(self._groups.layout, driven.item, self._frame)
        self._row_cells: Int32s = np.empty(0, np.int32)
        nothing = [Group(self._given.nothing)]
        self._begins = [(walk, Delta(nothing, layout, 0, 0)) for walk, layout in straight.lines]
        self._told: list[Layout | None] = [None] * lines
        self._lent: list[Lent] = []
        self.number = -1
        self.found: list[Delta] = []

    def begin(self) -> None:
        """Nothing was run yet of a time."""
        self.number, self.found, self._lent = -1, [], []
        self._frame[STAGE] = EVALUATE
        self._frame[RUN] = self._frame[CAME] = 0
        self._given.begin()

    def run(self, number: int, most: int, time: int) -> Generator[None, None, int]:
        """Run rounds, at most so many, of which the first is given; how many it were. Yields within long ones.

        Raises what operators raise. Cost: that of what changes in each; about a microsecond for each line of each.
        """
        assert number > self.number, "rounds ascend"
        self._clock.tick, started = self._clock.tick + 1, perf_counter_ns()
        frame, before = self._frame, self._frame.item(RUN)
        if not self._holds() and self._is_ready():
            frame[TICK], frame[MOST] = self._clock.tick, before + min(most, _MOST_ROUNDS)
            frame[MOST_CAME] = frame[CAME] + _MOST_ROWS
            while (said := drive(frame, self._groups.table(), self._groups.block)) not in (ENDED, PAUSED, BY_PYTHON):
                self._help(said, time)
            self._release()
        if frame.item(RUN) == before:
            yield from self._by_python(number, time)
        self.number = frame.item(NUMBER)
        for program in self._holding:
            program.settle(self.number)
        self._straight.node.spent += perf_counter_ns() - started
        return frame.item(RUN) - before

    def end(self, time: int) -> list[Delta]:
        """All rounds of a time were run: what groups have given."""
        self._take(time)
        self._given.end()
        self._straight.node.taken += self._frame.item(CAME)
        found, self.found = self.found, []
        return found

    def _holds(self) -> bool:
        return any(program.holds for program in self._holding)

    def _is_ready(self) -> bool:
        """Whether machine code can lead all lines to their ends."""
        for number, (walk, nothing) in enumerate(self._begins):
            lent = walk.lend(nothing)
            if lent is None:
                self._release()
                return False
            self._lent.append(lent)
            line = DRIVE + LINE_WORDS * number
            self._frame[line + ROUTE], self._frame[line + MEMORY] = id(lent.route.words), lent.route.memory
            if self._told[number] is not lent.layout:
                self._frame[line + PUT : line + LINE_WORDS] = self._group.told(lent.layout)
                self._told[number] = lent.layout
        return True

    def _release(self) -> None:
        """Nobody walks any more: others may commit before the next round, so that state lies elsewhere."""
        for lent in self._lent:
            lent.end()
        self._lent = []

    def _help(self, said: int, time: int) -> None:
        """Do what machine code has come back for."""
        frame, groups = self._frame, self._groups
        line, wanted = frame.item(LINE), frame.item(WANTED)
        if said == NO_GIVEN:
            self._take(time)
            self._given.make_room(wanted)
        elif said == NO_CELLS:
            groups.expect(wanted)
            if wanted > len(self._row_cells):
                self._row_cells = np.empty(2 * wanted, np.int32)
                frame[[ROW_CELLS, ROW_ROOM]] = self._row_cells.ctypes.data, len(self._row_cells)
        elif said == NO_SLOTS:
            groups.make_room()
        elif said == NO_MEMORY:
            self._lent[line].route.more_memory()
            frame[DRIVE + LINE_WORDS * line + MEMORY] = self._lent[line].route.memory
        elif said == LEARNS:
            self._lent[line - 1].learn()
        elif said == STOPPED:
            self._go_on(line, wanted)
        else:
            assert said == FAILED, "it says nothing else"
            raise self._group.overflow(frame.item(DRIVE + LINE_WORDS * line + PUT + WHICH))

    def _go_on(self, line: int, said: int) -> None:
        """Do in Python what is left of a round, where a walk has stopped; then machine code begins anew."""
        if said == BEYOND:
            raise IndexError(f"line {line} of a loop has met an index that is out of bounds")
        frame, begin, end = self._frame, self._frame.item(FROM), self._frame.item(GIVEN)
        (walk, layout), *others = self._straight.lines[line:]
        rows, diffs = self._given.rows(begin, end), self._given.diffs(begin, end)
        lent = self._lent.pop(line)
        for part in walk.rest(lent, said, Delta([Group(rows)], layout, end - begin, self._clock.tick, diffs)):
            self._put(part)
        self._lead(others, rows, end - begin, diffs)
        frame[STAGE], frame[MOST] = EVALUATE, frame.item(RUN)

    def _by_python(self, number: int, time: int) -> Iterator[None]:
        """Run a round in Python."""
        self._frame[RUN] += 1
        self._frame[NUMBER] = number
        comes_back = self._limit is None or number + 1 < self._limit
        while self._group.due == number:
            delta = self._group.evaluate(number, self._clock.tick)
            if delta is None or not delta.length:
                continue
            *columns, _ = delta.columns()
            later = np.full(delta.length, number + 1, np.int64)
            rows = Given([*columns, Column(later), Column(np.ones(delta.length, np.int64))])
            self._give(rows, delta.length, delta.diffs, time, comes_back=comes_back)
            if comes_back:
                self._lead(self._straight.lines, rows, delta.length, delta.diffs)
            if self._group.due == number:
                yield

    def _lead(self, lines: Sequence[tuple[Walk, Layout]], rows: Given, length: int, diffs: Ints | None) -> None:
        """Lead what groups have given along lines."""
        for walk, layout in lines:
            for part in walk.all(Delta([Group(rows)], layout, length, self._clock.tick, diffs)):
                self._put(part)

    def _put(self, delta: Delta) -> None:
        """Let rows come to the groups."""
        self._frame[CAME] += delta.length
        self._group.step([delta])

    def _take(self, time: int) -> None:
        """Give what machine code has found since it was last asked."""
        rows, diffs = self._given.take()
        if len(diffs):
            self._give(rows, len(diffs), one_each(diffs), time, comes_back=True)

    def _give(self, rows: Given, length: int, diffs: Ints | None, time: int, *, comes_back: bool) -> None:
        """So much is found, and is arranged if it `comes_back`."""
        self.found.append(delta_of(rows.columns[:-2], time, diffs, length))
        self._straight.node.updates_out += length
        if comes_back:
            for each in self._straight.later:
                each.keep(Delta([Group(rows)], self._straight.layout, length, self._clock.tick, diffs))
