"""The delta join: each input's changes travel their own path of half-joins. State: none beyond the arrangements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ivm.operators.mfp import Program, Stateless
from ivm.operators.operator import Contents
from ivm.trace.column import Bools, Ints
from ivm.trace.concat import concat_deltas
from ivm.trace.delta import Delta, Group, Source
from ivm.trace.keys import KeyLayout


class Lookup(Protocol):
    """An arrangement as a join sees it."""

    @property
    def store(self) -> Source:
        """The rows that `probe` refers to."""
        ...

    def probe(self, words: Ints, dropped: Bools | None, times: Ints | int, inclusive: bool) -> tuple[Ints, Ints]:
        """For each key the rows visible at its time: (position of the key, row), ordered by position."""
        ...


@dataclass(frozen=True, slots=True)
class HalfJoin:
    """One stage: look the columns `stream` up, bind the input's columns from `offset` on, then run `program`."""

    lookup: Lookup
    layout: KeyLayout
    stream: tuple[int, ...]
    offset: int
    width: int
    inclusive: bool
    program: Program | None

    def run(self, delta: Delta) -> Delta | None:
        """The joined rows that pass; cost: a probe for each row and what it finds."""
        words, dropped = self.layout.pack([delta.column(c) for c in self.stream], len(delta))
        positions, rows = self.lookup.probe(words, dropped, delta.times, self.inclusive)
        if len(rows) == 0:
            return None
        joined = delta if _is_every_row(positions, len(delta)) else delta.take(positions)
        bound = _bind(joined, Group(self.lookup.store, rows), self.offset, self.width)
        return bound if self.program is None else self.program(bound)


@dataclass(frozen=True, slots=True)
class Path:
    """The way of one input's changes through the join; `start` places them in the joined row of `total` columns."""

    source: int
    offset: int
    total: int
    program: Program | None
    stages: tuple[HalfJoin, ...]

    def run(self, delta: Delta) -> Delta | None:
        """The changes of the join that follow from `delta`."""
        layout: list[tuple[int, int] | None] = [None] * self.total
        layout[self.offset : self.offset + len(delta.layout)] = delta.layout
        current: Delta | None = replace(delta, layout=layout)
        if self.program is not None:
            current = self.program(replace(delta, layout=layout))
        for stage in self.stages:
            if current is None:
                return None
            current = stage.run(current)
        return current

    def including_all(self) -> Path:
        """The same path, seeing every row of every arrangement: it alone yields the whole join."""
        return replace(self, stages=tuple(replace(stage, inclusive=True) for stage in self.stages))


class DeltaJoin(Stateless):
    """A path for each input; the sum of what the paths yield is the change of the join."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = tuple(paths)

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """Run the path of each input that changed. Cost follows the changes and their matches."""
        found: list[Delta] = []
        for path in self.paths:
            delta = inputs[path.source]
            result = None if delta is None or len(delta) == 0 else path.run(delta)
            if result is not None and len(result):
                found.append(result)
        return concat_deltas(found)

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The whole join: the last input's contents on their path, seeing everything in the other inputs."""
        path = self.paths[-1].including_all()
        for delta in inputs[path.source]():
            result = path.run(delta)
            if result is not None and len(result):
                yield result


def _bind(delta: Delta, group: Group, offset: int, width: int) -> Delta:
    layout = list(delta.layout)
    number = len(delta.groups)
    layout[offset : offset + width] = [(number, i) for i in range(width)]
    return Delta([*delta.groups, group], layout, delta.length, delta.times, delta.diffs)


def _is_every_row(positions: Ints, length: int) -> bool:
    """Whether each row found exactly one partner, so that nothing has to move."""
    return len(positions) == length and bool(np.array_equal(positions, np.arange(length)))
