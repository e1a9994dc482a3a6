"""The delta join: each input's changes travel their own path of half-joins. State: none beyond the arrangements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from catalog.errors import NumericError
from catalog.types import SqlType
from ivm.operators.mfp import Program, over_net
from ivm.operators.operator import NOTHING, Contents, Operator
from ivm.trace.columns.column import Column, Ints, every
from ivm.trace.columns.computed import Computed, TextFunction
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta, concat_deltas
from ivm.trace.index.follower import Joiner, Lookup

_PART = 1 << 17
_FIRST_PART = 1 << 12
_LEAST_PART = 1 << 8


@dataclass(frozen=True, slots=True)
class Stage(ABC):
    """One stage: look the columns `stream` up, bind the input's columns from `offset` on, then run `program`.

    `read`: those of the input's columns that are read later, `computed` those of whose text only functions are read,
    with them.
    """

    lookup: Lookup
    stream: tuple[int, ...]
    offset: int
    width: int
    inclusive: bool
    program: Program | None
    read: tuple[int, ...]
    computed: Computed

    @abstractmethod
    def joined(self, delta: Delta) -> Iterator[Delta]:
        """The joined rows that passed `program`, if any, in parts; some without rows."""

    @property
    def visited(self) -> int:
        """Rows visited so far where a bound has moved."""
        return 0


@dataclass(frozen=True, slots=True)
class HalfJoin(Stage):
    """Finds the rows of the key, over parts of the delta that meet about `_PART` rows each.

    `unique`: at most one row is found for each. Cost: a probe for each row and what it finds.
    """

    unique: bool
    _joiner: Joiner | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        joiner = self.lookup.joiner(self.stream, self.offset, self.width, inclusive=self.inclusive)
        object.__setattr__(self, "_joiner", joiner)

    def joined(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.joined`."""
        start, length, size = 0, len(delta), _PART if self.unique else _FIRST_PART
        while start < length:
            found = None if self._joiner is None else self._joiner.join(delta, start)
            if found is not None:
                joined, start = found
            else:
                stop = min(start + size, length)
                joined = self._look_up(delta.slice(start, stop))
                if stop < length:
                    size = _next_size(stop - start, 0 if joined is None else len(joined))
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
    stages: tuple[Stage, ...]
    computed: Mapping[int, Sequence[TextFunction]] = field(default_factory=dict)

    def parts(self, delta: Delta) -> Iterator[Delta]:
        """The changes of the join that follow from `delta`, bit by bit; some without rows."""
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
                compared += [delta.column((column, function)) for function in functions]
            else:
                types.append(type_)
                compared.append(delta.column(column))
        return consolidate(delta, types, compared)

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

    def as_of(self, time: int) -> Path:
        """The same path, seeing every row that any arrangement has as of `time`: it alone yields the whole join."""
        return self.over([stage.lookup.reader(time) for stage in self.stages])

    def over(self, lookups: Sequence[Lookup]) -> Path:
        """The same path, seeing every row that is found in `lookups`."""
        pairs = zip(self.stages, lookups, strict=True)
        return replace(self, stages=tuple(replace(stage, lookup=each, inclusive=True) for stage, each in pairs))


@dataclass(frozen=True, slots=True)
class Careful:
    """The same join without anything that can raise, then `program`, which does; `types` are those in between."""

    join: DeltaJoin
    program: Program
    types: tuple[SqlType, ...]

    def net(self, deltas: Sequence[Delta]) -> Delta | None:
        """The program over what is left of the sum of `deltas`."""
        return over_net(self.program, deltas, self.types)

    def rest(self, whole: Path, parts: Iterator[Delta]) -> Iterator[Delta]:
        """What the join makes of `parts` of its `whole` path's input."""
        found: list[Delta] = []
        for joined in _joined(self.join.whole.over([stage.lookup for stage in whole.stages]), parts):
            if len(joined):
                found.append(joined)
            yield NOTHING
        net = self.net(found)
        yield NOTHING if net is None else net


class DeltaJoin(Operator):
    """A path for each input; the sum of what the paths yield is the change of the join.

    A path may meet rows that another one takes back. Where one of them raises NumericError, `careful` gives the join
    that has the last word, over what is left of the change as a whole; None if nothing can raise. `whole` is the
    path by which the join's contents are found, number `whole`.
    """

    def __init__(self, paths: Sequence[Path], careful: Callable[[], Careful] | None = None, whole: int = -1) -> None:
        self.paths = tuple(paths)
        self._careful = careful
        self.whole = self.paths[whole]

    @property
    def visited(self) -> int:
        """Rows visited so far where a bound has moved."""
        return sum(stage.visited for path in self.paths for stage in path.stages)

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
        whole, parts = self.whole.as_of(time), inputs[self.whole.source]()
        return _joined(whole, parts) if self._careful is None else _joined_with_care(whole, parts, self._careful)

    def _changes(self, inputs: Sequence[Delta | None]) -> list[Delta]:
        found: list[Delta] = []
        for path in self.paths:
            delta = inputs[path.source]
            if delta is not None and len(delta):
                found += [part for part in path.parts(delta) if len(part)]
        return found

    def prepare(self) -> Iterator[int]:
        """Let all that is read of rows looked up be read without a wait, bit by bit, yielding the rows of each bit."""
        for path in self.paths:
            for stage in path.stages:
                yield from stage.lookup.prepare(stage.read, stage.computed)


def _joined(whole: Path, parts: Iterator[Delta]) -> Iterator[Delta]:
    """What a path makes of contents."""
    for delta in parts:
        if len(delta):
            yield from whole.parts(delta)
        yield NOTHING


def _joined_with_care(whole: Path, parts: Iterator[Delta], careful: Callable[[], Careful]) -> Iterator[Delta]:
    """The same where it can raise: then all that is left of the contents is looked at as a whole.

    The parts are so small that what one gives can be kept until it is through.
    """
    size = _FIRST_PART
    for delta in parts:
        start, length = 0, len(delta)
        while start < length:
            part = delta.slice(start, min(start + size, length))
            found: list[Delta] = []
            try:
                for joined in whole.parts(part):
                    if len(joined):
                        found.append(joined)
                    yield NOTHING
            except NumericError:
                yield from careful().rest(whole, chain([delta.slice(start, length)], parts))
                return
            yield from found
            start += len(part)
            size = _next_size(len(part), sum(map(len, found)))
        yield NOTHING


def _next_size(rows: int, matches: int) -> int:
    """How many rows to take next, where so many met so many matches: as many as meet about `_PART`."""
    return max(_LEAST_PART, min(_PART, _PART * rows // max(matches, 1)))


def _is_every_row(positions: Ints) -> bool:
    """Whether each of as many rows found exactly one partner, so that nothing has to move; positions ascend."""
    return bool(positions[-1] == len(positions) - 1 and every(positions[1:] > positions[:-1]))
