"""Functions over the rows around a row."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.types import SqlType
from sql.ir.scalar import Scalar


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows that a window function sees: from `start` to `end`, both included, as offsets from the current row.

    None is unbounded (at `start`: the partition's first row, at `end`: its last). With `peers`, offset 0 stands for
    the first (at `start`) or last (at `end`) row that ORDER BY does not tell from the current one (RANGE frames).
    """

    start: int | None
    end: int | None
    peers: bool = False


WHOLE_PARTITION = Frame(None, None)
UNFRAMED = frozenset(("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"))
"""The window functions to which frames mean nothing."""


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """One window function: `function` over `args`, which read the input row.

    row_number, rank, dense_rank, percent_rank, cume_dist (no arguments); ntile (literal n); lag, lead (value, literal
    offset, literal default or NULL literal); first_value, last_value, nth_value (value [, literal n]) and the
    aggregates count_star, count, sum, avg, min, max over `frame`. The types are DuckDB's.
    """

    function: str
    args: tuple[Scalar, ...]
    type: SqlType
    nullable: bool = True
    frame: Frame = WHOLE_PARTITION
    ignore_nulls: bool = False
