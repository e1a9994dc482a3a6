"""The delta join: each input's changes travel their own path of half-joins. State: none beyond the arrangements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Protocol

import numpy as np

from catalog.errors import NumericError
from catalog.types import SqlType
from ivm.operators.mfp import Program, Stateless
from ivm.operators.operator import NOTHING, Contents, Each
from ivm.operators.threshold_join import ThresholdJoin
from ivm.trace.column import Bools, Column, Ints
from ivm.trace.computed import Computed, TextFunction
from ivm.trace.concat import concat_deltas
from ivm.trace.consolidate import consolidate, consolidate_by
from ivm.trace.delta import Delta, Group
from ivm.trace.keys import KeyLayout

_PART = 1 << 17
_FIRST_PART = 1 << 12
_LEAST_PART = 1 << 8


class Lookup(Protocol):
    """An arrangement as a join sees it."""

    @property
    def layout(self) -> KeyLayout:
        """How the columns of a key become the words that `look_up` takes."""
        ...

    def look_up(self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool) -> tuple[Ints, Group]:
        """For each key the rows visible at its time: (position of the key, ascending; the rows)."""
        ...

    def prepare(self, columns: Sequence[int], computed: Computed = ()) -> Iterator[int]:
        """Let these columns of the rows, and these functions of columns, be read without a wait, bit by bit."""
        ...


@dataclass(frozen=True, slots=True)
class HalfJoin:
    """One stage: look the columns `stream` up, bind the input's columns from `offset` on, then run `program`.

    `unique`: at most one row is found for each. `read`: those of the input's columns that are read later, `computed`
    those of whose text only functions are read, with them.
    """

    lookup: Lookup
    stream: tuple[int, ...]
    offset: int
    width: int
    inclusive: bool
    unique: bool
    program: Program | None
    read: tuple[int, ...] = ()
    computed: Computed = ()

    def prepare(self) -> Iterator[int]:
        """Let all that is read of rows looked up be read without a wait; see `Lookup.prepare`."""
        yield from self.lookup.prepare(self.read, self.computed)

    def joined(self, delta: Delta) -> Iterator[Delta]:
        """The joined rows that passed `program`, if any, over parts of the delta that meet about `_PART` rows each.

        Cost: a probe for each row and what it finds.
        """
        start, length, size = 0, len(delta), _PART if self.unique else _FIRST_PART
        while start < length:
            stop = min(start + size, length)
            part = delta if stop - start == length else delta.slice(start, stop)
            joined = self._look_up(part)
            matches = 0 if joined is None else len(joined)
            size = max(_LEAST_PART, min(_PART, _PART * (stop - start) // max(matches, 1)))
            start = stop
            if joined is not None and self.program is not None:
                joined = self.program(joined)
            yield NOTHING if joined is None else joined

    def _look_up(self, delta: Delta) -> Delta | None:
        words, dropped = self.lookup.layout.pack([delta.column(c) for c in self.stream], len(delta))
        positions, rows = self.lookup.look_up(words, dropped, delta.times, self.inclusive)
        if len(positions) == 0:
            return None
        every = len(positions) == len(delta) and (self.unique or _is_every_row(positions))
        joined = delta if every else delta.take(positions)
        return joined.bind(rows, self.offset, self.width)


@dataclass(frozen=True, slots=True)
class Path:
    """The way of one input's changes through the join.

    They are placed from `offset` on in the joined row of `total` columns and filtered by `program`. `needed` are those
    of their columns that the path reads, with their types; `computed` those of whose text it reads only functions.
    """

    source: int
    offset: int
    total: int
    needed: tuple[tuple[int, SqlType], ...]
    program: Program | None
    stages: tuple[HalfJoin | ThresholdJoin, ...]
    computed: Mapping[int, Sequence[TextFunction]] = field(default_factory=dict)

    def run(self, delta: Delta) -> list[Delta]:
        """The changes of the join that follow from `delta`."""
        return [part for part in self.parts(delta) if len(part)]

    def parts(self, delta: Delta) -> Iterator[Delta]:
        """The same bit by bit, so that many matches need no more memory; some without rows."""
        changed = self._really_changed(delta)
        if changed is None:
            return
        placed = changed.within(self.offset, self.total)
        passed = placed if self.program is None else self.program(placed)
        if passed is not None:
            yield from self._go_on(passed, 0)

    def _really_changed(self, delta: Delta) -> Delta | None:
        """Without updates that cancel in the columns that the path reads: most columns of a row, when one changes."""
        diffs = delta.diffs
        if diffs is None or not self.needed or np.count_nonzero(diffs < 0) in (0, len(diffs)):
            return delta
        types: list[SqlType] = []
        compared: list[Column] = []
        for column, type_ in self.needed:
            functions = self.computed.get(column)
            if functions is not None and delta.computes(column, functions):
                types += [function.type for function in functions]
                compared += [delta.computed(column, function) for function in functions]
            else:
                types.append(type_)
                compared.append(delta.column(column))
        return consolidate_by(delta, types, compared)

    def _go_on(self, delta: Delta, number: int) -> Iterator[Delta]:
        """The stages from `number` on, part by part."""
        if number == len(self.stages):
            yield delta
            return
        for joined in self.stages[number].joined(delta):
            if len(joined):
                yield from self._go_on(joined, number + 1)
            else:
                yield joined

    def including_all(self) -> Path:
        """The same path, seeing every row of every arrangement: it alone yields the whole join."""
        return replace(self, stages=tuple(replace(stage, inclusive=True) for stage in self.stages))


@dataclass(frozen=True, slots=True)
class Careful:
    """The same join without anything that can raise, then `program`, which does; `types` are those in between."""

    join: DeltaJoin
    program: Program
    types: tuple[SqlType, ...]

    def net(self, deltas: Sequence[Delta]) -> Delta | None:
        """The program over what is left of the sum of `deltas`."""
        merged = concat_deltas(deltas)
        net = None if merged is None else consolidate(merged, self.types)
        return None if net is None else self.program(net)


class DeltaJoin(Stateless):
    """A path for each input; the sum of what the paths yield is the change of the join.

    A path may meet rows that another one takes back. Where one of them raises NumericError, `careful` gives the join
    that has the last word, over what is left of the change as a whole; None if nothing can raise. `whole` is the path
    by which the join's contents are found.
    """

    def __init__(self, paths: Sequence[Path], careful: Callable[[], Careful] | None = None, whole: int = -1) -> None:
        self.paths = tuple(paths)
        self._careful = careful
        self._whole_path = self.paths[whole].including_all()

    @property
    def visited(self) -> int:
        """Rows visited so far where a bound has moved."""
        stages = (stage for path in self.paths for stage in path.stages)
        return sum(stage.visits.rows for stage in stages if isinstance(stage, ThresholdJoin))

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """Run the path of each input that changed. Cost follows the changes and their matches."""
        try:
            return concat_deltas(self._changes(inputs))
        except NumericError:
            if self._careful is None:
                raise
        careful = self._careful()
        return careful.net(careful.join._changes(inputs))

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The whole join: one input's contents on their path, seeing everything in the other inputs."""
        given = 0
        try:
            for delta in self._whole(inputs):
                given += 1
                yield delta
            return
        except NumericError:
            if self._careful is None:
                raise
        for delta in islice(self._whole(inputs), given):
            yield delta.with_diffs(-delta.diff_array())
        careful = self._careful()
        net = careful.net([part for part in careful.join._whole(inputs) if len(part)])
        if net is not None:
            yield net

    def _changes(self, inputs: Sequence[Delta | None]) -> list[Delta]:
        found: list[Delta] = []
        for path in self.paths:
            delta = inputs[path.source]
            if delta is not None and len(delta):
                found += path.run(delta)
        return found

    def prepare(self) -> Iterator[int]:
        """Let all that is read of rows looked up be read without a wait, bit by bit, yielding the rows of each bit."""
        for path in self.paths:
            for stage in path.stages:
                yield from stage.prepare()

    def drawn_from(self, inputs: Sequence[Each]) -> Sequence[Each]:
        """The one whose path finds all rows."""
        return (inputs[self._whole_path.source],)

    def _whole(self, inputs: Sequence[Contents]) -> Iterator[Delta]:
        path = self._whole_path
        for delta in inputs[path.source]():
            if len(delta):
                yield from path.parts(delta)
            yield NOTHING


def _is_every_row(positions: Ints) -> bool:
    """Whether each of as many rows found exactly one partner, so that nothing has to move; positions ascend."""
    return bool(positions[-1] == len(positions) - 1 and (positions[1:] > positions[:-1]).all())
