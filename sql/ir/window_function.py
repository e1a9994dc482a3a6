"""Functions over the rows around a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ivm.catalog.types import SqlType
from ivm.sql.ir.scalar import Scalar


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows that a window function sees: from `start` to `end`, both included, as offsets from the current row.

    None is unbounded (at `start`: the partition's first row, at `end`: its last). With `peers`, offsets count groups of
    rows that ORDER BY does not tell from each other, from the first (at `start`) or last (at `end`) row of the current
    one's (GROUPS frames; RANGE frames where all offsets are 0). `exclude` leaves out "current row", its "group", or the
    others of its group, its "ties".
    """

    start: int | None
    end: int | None
    peers: bool = False
    exclude: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole partition, whatever it leaves out."""
        return self.start is None and self.end is None


WHOLE_PARTITION = Frame(None, None)
UNFRAMED = frozenset(("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"))
"""The window functions to which frames mean nothing."""


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """One window function: `function` over `args`, which read the input row.

    row_number, rank, dense_rank, percent_rank, cume_dist (no arguments); ntile (n); lag, lead (value, offset, literal
    default or NULL literal); first_value, last_value, nth_value (value [, n]) and the aggregates count_star, count,
    sum, avg, min, max over `frame`. The types are DuckDB's. n and the offset are BIGINTs, computed of each row; n as a
    literal is 1 or more, or NULL.

    `bounds` are those of a RANGE frame with offsets: at `start` and at `end` the value up to which the frame goes, or
    None. It is over the row, of the type of the first term of ORDER BY, and does not fall as rows go on in their order
    (rise, if that descends); NULL where the term is. The frame has `peers`, and at that end -1 or 1.
    """

    function: str
    args: tuple[Scalar, ...]
    type: SqlType
    nullable: bool = True
    frame: Frame = WHOLE_PARTITION
    ignore_nulls: bool = False
    bounds: tuple[Scalar | None, Scalar | None] = (None, None)

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """All expressions over the input row: the arguments, then the bounds that there are."""
        return (*self.args, *(bound for bound in self.bounds if bound is not None))

    def over(self, scalars: Sequence[Scalar]) -> WindowFunction:
        """The same function with other expressions in place of its own."""
        rest = iter(scalars[len(self.args) :])
        start, end = (None if bound is None else next(rest) for bound in self.bounds)
        return replace(self, args=tuple(scalars[: len(self.args)]), bounds=(start, end))

    def map(self, function: Callable[[Scalar], Scalar]) -> WindowFunction:
        """The same function with `function` applied to each of its expressions."""
        return self.over(tuple(map(function, self.scalars)))
