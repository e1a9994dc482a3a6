"""Groups by round of which sums are kept: distinct rows, multiplicities above zero, sums and counts.

What a group has in a round is the sum of what rounds up to it add, so nothing is read again but its cells; see
`ivm.kernels.groups.round_block`. Aggregates that are no sums are made anew by `ivm.operators.by_round`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from ivm.catalog.errors import NumericError
from ivm.catalog.types import SqlType
from ivm.kernels.groups.accumulate import FIELD
from ivm.kernels.groups.emit_rounds import OVERFLOWED as OUTPUT_OVERFLOWED
from ivm.kernels.groups.emit_rounds import STATES, WRITTEN, emit_rounds
from ivm.kernels.groups.round_block import HEADS
from ivm.kernels.groups.round_least import evaluate_values
from ivm.kernels.groups.round_read import read_counts, read_values
from ivm.kernels.groups.rounds import DONE, FAILED, NO_SLOTS, NOT_READABLE, evaluate_counts, evaluate_sums, put_rounds
from ivm.kernels.groups.settled import evaluate_settled
from ivm.kernels.step.drive import COUNTS, EXISTS, GREATEST, LEAST, SETTLED
from ivm.operators.accumulable import Accumulators, overflow_error
from ivm.operators.group_step import Output, OutputForm
from ivm.operators.operator import Contents
from ivm.operators.round_node import RoundNode
from ivm.trace.columns.column import DTYPES, Column, Ints
from ivm.trace.columns.places import NONE
from ivm.trace.consolidate import one_each
from ivm.trace.delta import Columns, Delta, Group, Layout, delta_of
from ivm.trace.keyed.round_groups import NotReadable, RoundExtremes, RoundGroups, Rounds, frame_of
from ivm.trace.sources import Frame, Sources, id_of
from ivm.trace.text.dictionary import TextDictionary

G = TypeVar("G", bound=Rounds)
_AT_ONCE = 1 << 13
"""So many groups are looked at in one go."""


@dataclass(frozen=True)
class Driven:
    """How machine code finds what groups give in a round: of a `kind` that `step.drive` knows, by a `plan` of what is
    added up; values are of so many bytes an `item`, 0 if there are none.
    """

    kind: int
    plan: Ints
    item: int = 0


class Cells(RoundNode, Generic[G]):
    """Groups whose state knows what is due in it."""

    driven: Driven | None = None
    """How machine code lets it give what it gives, if it can."""

    def __init__(self, groups: G, reads: Sequence[int], *before: int) -> None:
        """`reads`: the columns of the input that are read; `before`: see `frame_of`."""
        self.groups = groups
        self.reads, self._before = tuple(reads), before
        self._told: dict[Layout, tuple[list[int], Ints, Ints]] = {}
        self._steps: dict[Layout, tuple[Sources, Frame]] = {}
        self.states = (groups,)

    @property
    def due(self) -> int | None:
        """See `RoundNode.due`."""
        return self.groups.due

    def told(self, layout: Layout) -> list[int]:
        """What machine code is told that puts rows of a layout where its groups lie; see `groups.rounds.put_rounds`."""
        if layout not in self._told:
            places: Ints = np.array([layout.places[column] for column in self.reads], np.int64)
            keys = len(self.groups.layout.parts)
            form = self.groups.layout.form_of(places[:keys].tolist())
            words = [*(self._before or (0, 0)), keys, id(form), id(places), len(places), NONE, 0, 0, 0, 0]
            self._told[layout] = words, form, places
        return self._told[layout][0]

    def overflow(self, accumulator: int) -> NumericError:
        """What to say when an accumulator has overflowed."""
        raise AssertionError("nothing is added up")

    def close(self) -> None:
        """See `RoundNode.close`."""
        self.groups.close()


class RoundReduce(Cells[RoundGroups]):
    """Groups by the first columns, `keys`, of which sums are kept; the last column of input and output is the round.

    Without aggregates a row is a group. `clamps`: it is there as often as its multiplicity is above zero, else once
    where that is not zero. `settled`: see `ivm.kernels.groups.settled`.
    """

    def __init__(
        self,
        keys: Sequence[tuple[SqlType, bool]],
        parts: Accumulators,
        width: int,
        dictionary: TextDictionary,
        *,
        clamps: bool = False,
        settled: bool = False,
    ) -> None:
        """`width`: of the input, without the round."""
        always = not keys
        self._parts, self._clamps, self._width, self._always = parts, clamps, width, always
        self.shows_all = not parts.aggregates
        self._plan = parts.plan.copy()
        self._plan[:, FIELD] += HEADS
        groups = RoundGroups(keys, parts.fields, dictionary, always=always, settled=settled)
        super().__init__(groups, (*range(len(keys)), width, *parts.arguments), id(self._plan), len(self._plan))
        self._form = OutputForm(parts, self.groups.layout)
        if keys and not parts.aggregates and groups.layout.is_cut:
            self.driven = Driven(SETTLED if settled else COUNTS if clamps else EXISTS, parts.plan)

    def overflow(self, accumulator: int) -> NumericError:
        """See `Cells.overflow`."""
        return self._parts.overflow(accumulator)

    def begin(self) -> None:
        """See `RoundNode.begin`: the one group without keys is there from the first round on."""
        if self._always:
            columns = [Column(np.zeros(1, np.int64)) for _ in range(self._width + 1)]
            self.step([delta_of(columns, 0, np.zeros(1, np.int64), 1)])

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """Note what comes, for the rounds that it is of. Cost: two random accesses a change."""
        delta = inputs[0]
        if delta is None or not delta.length:
            return None
        sources, frame = self._steps.get(delta.layout) or self._begun(delta.layout)
        listed, groups = sources.of(delta), self.groups
        groups.expect(delta.length)
        row_cell = np.empty(delta.length, np.int32)
        frame.tell(0, 0, id_of(delta.diffs), id(listed))
        while (said := put_rounds(groups.table(), groups.block, row_cell, frame.words)) == NO_SLOTS:
            groups.make_room()
        if said == NOT_READABLE:
            return self.step([delta.copied()])
        if said != DONE:
            raise self.overflow(frame.words.item(FAILED))
        return None

    def evaluate(self, number: int, tick: int) -> Delta | None:
        """See `RoundNode.evaluate`."""
        found = self._counts(number, tick) if not self._parts.aggregates else self._sums(number, tick)
        if found is None or not found.length:
            return None
        rounds = Column(np.full(found.length, number, np.int64))
        return found.bind(Group(Columns([rounds])), len(found.layout), 1)

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """See `RoundNode.contents`."""
        assert self.shows_all, "what is in a loop is read of its result"
        layout = self.groups.layout
        for keys, counts in self.groups.reader().read(self._read):
            yield delta_of(layout.unpack(keys), time, one_each(counts), len(counts))

    def _read(self, slots: Ints, cells: Ints) -> tuple[Ints, Ints]:
        keys, counts = np.empty((len(slots), self.groups.layout.words), np.int64), np.empty(len(slots), np.int64)
        count = read_counts(slots, cells, self.groups.layout.words, not self._clamps, keys, counts)
        return keys[:count], counts[:count]

    def _counts(self, number: int, tick: int) -> Delta | None:
        groups, layout = self.groups, self.groups.layout
        room = min(max(groups.dues, 1), _AT_ONCE)
        keys, diffs = np.empty((room, layout.words), np.int64), np.empty(room, np.int64)
        if groups.settled:
            count = evaluate_settled(groups.table(), groups.block, number, keys, diffs)
        else:
            plan, exists = self._parts.plan, not self._clamps
            count = evaluate_counts(groups.table(), groups.block, plan, number, exists, keys, diffs)
        return delta_of(layout.unpack(keys[:count]), tick, one_each(diffs[:count]), count) if count else None

    def _sums(self, number: int, tick: int) -> Delta | None:
        groups, parts, form = self.groups, self._parts, self._form
        room = min(max(groups.dues, 1), _AT_ONCE)
        sums, found = np.empty((STATES * room, parts.fields), np.int64), np.empty(room, np.int64)
        count = evaluate_sums(groups.table(), groups.block, parts.plan, number, sums, found)
        if not count:
            return None
        output = Output(form, STATES * count)
        said = np.empty(2, np.int64)
        emit_rounds(
            groups.table(), groups.block, number, sums, found[:count], parts.outputs, self._always, parts.scratch,
            form.parts.words, form.shown, output.room, said,
        )  # fmt: skip
        if said[OUTPUT_OVERFLOWED] >= 0:
            raise overflow_error(parts.aggregates[said.item(OUTPUT_OVERFLOWED)])
        written = said.item(WRITTEN)
        return output.delta(written, tick) if written else None

    def _begun(self, layout: Layout) -> tuple[Sources, Frame]:
        """What steps by deltas of a layout are told."""
        step = self._steps[layout] = frame_of(self.groups.layout, self.reads, layout, *self._before)
        return step


class RoundExtreme(Cells[RoundExtremes]):
    """Groups by the first columns, of which the least value of the one behind these is asked, or the `largest`.

    Both are integers, and none is NULL; the last column of input and output is the round.
    """

    shows_all = True

    def __init__(
        self, keys: Sequence[tuple[SqlType, bool]], type: SqlType, dictionary: TextDictionary, *, largest: bool
    ) -> None:
        count = len(keys)
        super().__init__(RoundExtremes(keys, dictionary, largest=largest), (*range(count), count + 1, count))
        self._type = type
        if keys and self.groups.layout.is_cut:
            item = DTYPES[type.physical].itemsize
            self.driven = Driven(GREATEST if largest else LEAST, np.empty((0, 0), np.int64), item)

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """Note what comes, for the rounds that it is of. Cost: a random access and a logarithm a change."""
        delta = inputs[0]
        if delta is None or not delta.length:
            return None
        step = self._steps.get(delta.layout)
        if step is None:
            step = self._steps[delta.layout] = frame_of(self.groups.layout, self.reads, delta.layout)
        try:
            self.groups.put(*step, delta)
        except NotReadable:
            return self.step([delta.copied()])
        return None

    def evaluate(self, number: int, tick: int) -> Delta | None:
        """See `RoundNode.evaluate`."""
        groups, layout = self.groups, self.groups.layout
        room = 4 * min(max(groups.dues, 1), _AT_ONCE)
        keys, values, diffs = (
            np.empty((room, layout.words), np.int64),
            np.empty(room, np.int64),
            np.empty(room, np.int64),
        )
        count = evaluate_values(groups.table(), groups.block, number, groups.largest, keys, values, diffs)
        if not count:
            return None
        found = Column(values[:count].astype(DTYPES[self._type.physical], copy=False))
        columns = [*layout.unpack(keys[:count]), found, Column(np.full(count, number, np.int64))]
        return delta_of(columns, tick, one_each(diffs[:count]), count)

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """See `RoundNode.contents`."""
        layout = self.groups.layout
        for keys, values in self.groups.reader().read(self._read):
            columns = [*layout.unpack(keys), Column(values.astype(DTYPES[self._type.physical], copy=False))]
            yield delta_of(columns, time, None, len(values))

    def _read(self, slots: Ints, cells: Ints) -> tuple[Ints, Ints]:
        keys, values = np.empty((len(slots), self.groups.layout.words), np.int64), np.empty(len(slots), np.int64)
        count = read_values(slots, cells, self.groups.layout.words, self.groups.largest, keys, values)
        return keys[:count], values[:count]
