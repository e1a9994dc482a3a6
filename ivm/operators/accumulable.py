"""Accumulable aggregates: which sums and counts they need, where each lies in a group's fields, and how they are fed.

Aggregates share accumulators: sum and avg of one column the sum, all of them the multiplicity where no value is NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from catalog.errors import NumericError
from catalog.types import Kind, Physical, SqlType
from ivm.kernels.accumulate import COUNT, EXTREME, SUM, SUM_DOUBLE, SUM_SQUARES, SUM_WIDE, accumulate
from ivm.kernels.exact_float import HEADROOM, NOT_FINITE, exponent_range
from ivm.kernels.finalize import (
    COUNTS,
    EXTREMUM,
    MEAN,
    STDDEV_POP,
    STDDEV_SAMP,
    TOTAL,
    VAR_POP,
    VAR_SAMP,
)
from ivm.operators.groups import Cells, frozen, frozen_diffs
from ivm.trace.column import Bools, Column, Ints
from ivm.trace.delta import Delta

_FUNCTIONS = {
    "count_star": COUNTS,
    "count": COUNTS,
    "sum": TOTAL,
    "avg": MEAN,
    "var_pop": VAR_POP,
    "var_samp": VAR_SAMP,
    "stddev_pop": STDDEV_POP,
    "stddev_samp": STDDEV_SAMP,
    "min": EXTREMUM,
    "max": EXTREMUM,
}
_SPREADS = (VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP)
_MARGIN = 16  # bits beyond the exponents met, so that the window of a sum seldom has to be widened
_TOGETHER = 2048  # rows up to which one call for all accumulators beats the copies that it needs


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """One aggregate: `function` over column `argument` of the input (None for count_star), with its result's type."""

    function: str
    argument: int | None
    argument_type: SqlType | None
    argument_nullable: bool
    type: SqlType


@dataclass(slots=True)
class Window:
    """The exponents of the doubles met in a column: sums of them have a lowest bit of 2^base."""

    base: int = 0
    span: int = -1

    def widened(self, low: int, high: int) -> Window:
        """The window that has room for exponents from `low` to `high` as well; itself if it has."""
        if low > high or (self.span >= 0 and self.base <= low and high <= self.base + self.span):
            return self
        if self.span < 0:
            base = (low - _MARGIN) // 16 * 16
            return Window(base, high + _MARGIN - base)
        # A new base is a whole number of words below, so that fields move by words.
        base = self.base - max(0, -(-(self.base - low) // 64)) * 64
        return Window(base, max(high + _MARGIN, self.base + self.span) - base)


@dataclass(slots=True)
class Accumulator:
    """One accumulator: its kind, what it reads and where its fields lie (see `ivm.kernels.accumulate`)."""

    kind: int
    argument: int | None
    largest: bool = False
    value: int = 0
    valid: int = -1
    at: int = 0
    width: int = 1
    base: int = 0

    @property
    def size(self) -> int:
        """Its fields, in words."""
        return self.width + (NOT_FINITE if self.kind == SUM_DOUBLE else 0)

    def fit(self, window: Window) -> None:
        """Take the width that the window's doubles, or their squares, need; none before there is a window."""
        times = 2 if self.kind == SUM_SQUARES else 1
        self.base = times * window.base
        self.width = (times * (window.span + 53) + HEADROOM + 63) // 64 if window.span >= 0 else 0

    def row(self) -> list[int]:
        """Its row of a plan."""
        return [self.kind, self.value, self.valid, self.at, self.width, self.base]


@dataclass(slots=True)
class Argument:
    """A column that aggregates read: its physical form and whether it can be NULL; its place in packed values."""

    physical: Physical
    nullable: bool
    value: int
    words: int
    valid: int
    window: Window = field(default_factory=Window)


class Accumulators:
    """All accumulators of a reduce; `plan` and `outputs` are what kernels take, and change when sums are widened."""

    def __init__(self, aggregates: Sequence[AggregateSpec]) -> None:
        self.aggregates = tuple(aggregates)
        self.arguments: dict[int, Argument] = {}
        self.parts: dict[tuple[int, int | None, bool], Accumulator] = {}
        self._part(COUNT, None)
        for spec in self.aggregates:
            self._plan_aggregate(spec)
        self._lay_out()

    def _plan_aggregate(self, spec: AggregateSpec) -> None:
        if spec.argument is None:
            return
        assert spec.argument_type is not None, "an aggregate with an argument has the argument's type"
        physical, nullable = spec.argument_type.physical, spec.argument_nullable
        self._argument(spec.argument, physical, nullable)
        if nullable:
            self._part(COUNT, spec.argument)
        function = _FUNCTIONS[spec.function]
        if function in (TOTAL, MEAN, *_SPREADS):
            self._part(_sum_kind(physical), spec.argument)
        if function in _SPREADS:
            self._part(SUM_SQUARES, spec.argument)
        if function == EXTREMUM:
            part = self._part(EXTREME, spec.argument, spec.function == "max")
            part.width = 3 if physical is Physical.WIDE else 2

    def _argument(self, position: int, physical: Physical, nullable: bool) -> None:
        if position not in self.arguments:
            value = sum(a.words for a in self.arguments.values())
            valid = sum(a.nullable for a in self.arguments.values())
            words = 2 if physical is Physical.WIDE else 1
            self.arguments[position] = Argument(physical, nullable, value, words, valid if nullable else -1)

    def _part(self, kind: int, argument: int | None, largest: bool = False) -> Accumulator:
        part = self.parts.get((kind, argument, largest))
        if part is None:
            part = self.parts[kind, argument, largest] = Accumulator(kind, argument, largest)
            if argument is not None:
                part.value, part.valid = self.arguments[argument].value, self.arguments[argument].valid
            if kind in (SUM, SUM_WIDE):
                part.width = 2 if kind == SUM else 3
        return part

    def _lay_out(self) -> None:
        """Place the fields one after the other, and write down the kernels' plans."""
        at = 0
        for part in self.parts.values():
            if part.kind in (SUM_DOUBLE, SUM_SQUARES):
                assert part.argument is not None
                part.fit(self.arguments[part.argument].window)
            part.at = at
            at += part.size
        self.fields = at
        self.plan = np.array([part.row() for part in self.parts.values()], np.int64)
        words = 0
        rows: list[list[int]] = []
        for spec in self.aggregates:
            rows.append(self._output(spec, words))
            words += rows[-1][7]
        self.words = words
        self.outputs = np.array(rows, np.int64).reshape(len(rows), 11)
        widest = max((part.width for part in self.parts.values()), default=1)
        self.scratch = np.empty((1, 3 * widest + 8), np.int64)

    def _output(self, spec: AggregateSpec, at: int) -> list[int]:
        """The row of `outputs` for an aggregate (see `ivm.kernels.finalize`)."""
        function = _FUNCTIONS[spec.function]
        words = 2 if spec.type.physical is Physical.WIDE else 1
        if spec.argument is None:
            return [function, 0, 1, 0, 0, 0, 0, words, at, 0, COUNT]
        assert spec.argument_type is not None
        counted = self.parts[COUNT, spec.argument, False].at if spec.argument_nullable else 0
        if function == COUNTS:
            return [function, counted, 1, 0, counted, 0, 0, words, at, 0, COUNT]
        if function == EXTREMUM:
            part = self.parts[EXTREME, spec.argument, spec.function == "max"]
            return [function, part.at, part.width, 0, counted, 0, 0, words, at, 0, EXTREME]
        part = self.parts[_sum_kind(spec.argument_type.physical), spec.argument, False]
        squares = self.parts.get((SUM_SQUARES, spec.argument, False), part)
        scale = part.base if part.kind == SUM_DOUBLE else spec.argument_type.scale
        digits = spec.type.precision if spec.type.kind is Kind.DECIMAL else 0
        return [
            function, part.at, part.width, scale, counted, squares.at, squares.width, words, at, digits, part.kind,
        ]  # fmt: skip

    def read(self, delta: Delta) -> dict[int, Column]:
        """The argument columns of a delta, gathered."""
        return {position: delta.column(position) for position in self.arguments}

    def widen(self, columns: dict[int, Column], fields: Ints) -> Ints | None:
        """Widen sums of doubles for what `columns` hold; the groups' `fields` (groups, fields) in their new places.

        None if all has room, which is the rule. Cost: a pass over the doubles.
        """
        windows: dict[int, Window] = {}
        for position, column in columns.items():
            argument = self.arguments[position]
            if (SUM_DOUBLE, position, False) in self.parts:
                valid = _mask(column)
                low, high = exponent_range(value_words(column, argument), 0, valid, 0 if len(valid) else -1)
                wider = argument.window.widened(low, high)
                if wider is not argument.window:
                    windows[position] = wider
        if not windows:
            return None
        old = {key: (part.at, part.width, part.base) for key, part in self.parts.items()}
        for position, window in windows.items():
            self.arguments[position].window = window
        self._lay_out()
        moved = np.zeros((len(fields), self.fields), np.int64)
        for key, part in self.parts.items():
            _move(fields, moved, part, *old[key])
        return moved

    def add(self, columns: dict[int, Column], diffs: Ints | None, cells: Cells, fields: Ints) -> None:
        """Add a batch to the fields of its cells. Raises NumericError if a sum leaves 128 bits."""
        changes = frozen_diffs(diffs)
        if len(cells.row_cell) <= _TOGETHER:
            values, valid = self._pack(columns, len(cells.row_cell))
            overflow = accumulate(self.plan, values, valid, changes, cells.row_cell, fields)
            if overflow >= 0:
                raise self.overflow(overflow)
            return
        for k, part in enumerate(self.parts.values()):
            if part.kind == EXTREME:
                continue
            plan = self.plan[k : k + 1].copy()
            values, valid = _NO_VALUES, _NO_MASK
            if part.argument is not None:
                column = columns[part.argument]
                valid = _mask(column)
                if part.kind != COUNT:
                    values = value_words(column, self.arguments[part.argument])
            plan[0, 1:3] = 0, 0 if len(valid) else -1
            if accumulate(plan, values, valid, changes, cells.row_cell, fields) >= 0:
                raise self.overflow(k)

    def _pack(self, columns: dict[int, Column], n: int) -> tuple[Ints, Bools]:
        """All values side by side, and all masks."""
        last = next(reversed(self.arguments.values()), None)
        if last is None:
            return _NO_VALUES, _NO_MASK
        values = np.empty((n, last.value + last.words), np.int64)
        valid = np.empty((n, sum(a.nullable for a in self.arguments.values())), np.bool_)
        for position, argument in self.arguments.items():
            column = columns[position]
            if argument.words == 2:
                values[:, argument.value : argument.value + 2] = column.values
            elif argument.physical is Physical.FLOAT64:
                values[:, argument.value] = column.values.view(np.int64)
            else:
                values[:, argument.value] = column.values
            if argument.nullable:
                valid[:, argument.valid] = True if column.valid is None else column.valid
        return frozen(values), frozen(valid)

    def overflow(self, accumulator: int) -> NumericError:
        """What to say when an accumulator has left 128 bits."""
        part = list(self.parts.values())[accumulator]
        sums = (s for s in self.aggregates if s.argument == part.argument and s.function != "count")
        return overflow_error(next(sums))


def overflow_error(spec: AggregateSpec) -> NumericError:
    """What to say when a sum does not fit its type."""
    return NumericError(
        f"cannot compute {spec.function} of {spec.argument_type}: the sum does not fit {spec.type}; "
        "cast the argument to DOUBLE or scale it down"
    )


def value_words(column: Column, argument: Argument) -> Ints:
    """The values of a column as kernels take them: int64 (n, 1), or (n, 2) for WIDE; without copying where they are."""
    values = column.values
    if argument.physical is Physical.WIDE:
        return frozen(np.ascontiguousarray(values))
    if argument.physical is Physical.FLOAT64:
        return frozen(np.ascontiguousarray(values).view(np.int64).reshape(-1, 1))
    return frozen(np.ascontiguousarray(values, dtype=np.int64).reshape(-1, 1))


def _sum_kind(physical: Physical) -> int:
    if physical is Physical.FLOAT64:
        return SUM_DOUBLE
    return SUM_WIDE if physical is Physical.WIDE else SUM


def _mask(column: Column) -> Bools:
    return _NO_MASK if column.valid is None else frozen(np.ascontiguousarray(column.valid).reshape(-1, 1))


def _move(old: Ints, new: Ints, part: Accumulator, at: int, width: int, base: int) -> None:
    """Copy an accumulator's fields to their new place; what grew gets zeros below and its sign above."""
    head = part.size - part.width
    new[:, part.at : part.at + head] = old[:, at : at + head]
    if width == 0:
        return
    start = part.at + head + (base - part.base) // 64
    stop, end = start + width, part.at + part.size
    new[:, start:stop] = old[:, at + head : at + head + width]
    new[:, stop:end] = (old[:, at + head + width - 1] >> 63)[:, None]


_NO_VALUES = frozen(np.empty((0, 1), np.int64))
_NO_MASK = frozen(np.empty((0, 1), np.bool_))
