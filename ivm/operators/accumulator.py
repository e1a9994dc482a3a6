"""One accumulator of a reduce: what it reads, where its fields lie, and how wide they must be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivm.catalog.types import Physical, SqlType
from ivm.kernels.groups.accumulate import SUM_DOUBLE, PlanRow
from ivm.kernels.numbers.exact_float import HEADROOM, NOT_FINITE
from ivm.trace.columns.column import Bools, Column, Ints, readonly
from ivm.trace.ordered.ordered_tree import ALL_COUNT

_MARGIN = 16  # bits beyond the exponents met, so that a sum seldom has to be widened


@dataclass(frozen=True, slots=True)
class Exponents:
    """The exponents of the doubles met in a column: sums of them have a lowest bit of 2^base."""

    base: int = 0
    span: int = -1

    def widened(self, low: int, high: int) -> Exponents:
        """What has room for exponents from `low` to `high` as well; itself if it has."""
        if low > high or (self.span >= 0 and self.base <= low and high <= self.base + self.span):
            return self
        if self.span < 0:
            base = (low - _MARGIN) // 16 * 16
            return Exponents(base, high + _MARGIN - base)
        # A new base is a whole number of words below, so that fields move by words.
        base = self.base - max(0, -(-(self.base - low) // 64)) * 64
        return Exponents(base, max(high + _MARGIN, self.base + self.span) - base)


@dataclass(slots=True)
class Accumulator:
    """One accumulator: its kind, what it reads and where its fields lie (see `ivm.kernels.groups.accumulate`).

    `number`: that of its argument among all arguments, -1 if it reads none of them, `other` that of what it multiplies
    it by. `more`: of an extreme whether it is the largest, of products the other column. `type`: that of an extreme,
    whose first field says whether it is there.
    """

    kind: int
    argument: int | None
    more: int = 0
    number: int = -1
    other: int = -1
    at: int = 0
    width: int = 1
    base: int = 0
    type: SqlType | None = None

    @property
    def size(self) -> int:
        """Its fields, in words."""
        return self.width + (NOT_FINITE if self.kind == SUM_DOUBLE else 0)

    def fit(self, *factors: Exponents) -> None:
        """Take the width that products of doubles of these exponents need; none before there are any of each."""
        self.base = sum(each.base for each in factors)
        bits = sum(each.span + 53 for each in factors) + HEADROOM
        self.width = (bits + 63) // 64 if all(each.span >= 0 for each in factors) else 0

    def row(self) -> PlanRow:
        """Its row of a plan."""
        return PlanRow(self.kind, self.number, self.at, self.width, self.base, self.other)


@dataclass(frozen=True, slots=True)
class Argument:
    """A column that aggregates read: its number among those, and its physical form."""

    number: int
    physical: Physical
    exponents: Exponents = Exponents()


def bits(column: Column) -> Ints:
    """The bit patterns of a column of doubles as kernels take them, int64 (n, 1); without copying where they are."""
    return readonly(np.ascontiguousarray(column.values.view(np.int64).reshape(-1, 1)))


def mask(column: Column) -> Bools:
    """The validity of a column as kernels take it: (n, 1), of length 0 if all values are valid."""
    return ALL_COUNT if column.valid is None else readonly(np.ascontiguousarray(column.valid).reshape(-1, 1))


def move(old: Ints, new: Ints, was: Accumulator, now: Accumulator) -> None:
    """Copy an accumulator's fields to where they are now; what grew gets zeros below and its sign above."""
    head = now.size - now.width
    new[:, now.at : now.at + head] = old[:, was.at : was.at + head]
    if was.width == 0:
        return
    start = now.at + head + (was.base - now.base) // 64
    stop, end = start + was.width, now.at + now.size
    new[:, start:stop] = old[:, was.at + head : was.at + head + was.width]
    new[:, stop:end] = (old[:, was.at + head + was.width - 1] >> 63)[:, None]
