"""Updates for tests: drawn as Python values, as deltas, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from ivm.catalog import types
from ivm.catalog.types import SqlType
from ivm.trace.delta import Delta, delta_of
from tests.trace_in.columns import column_of, python_values

Row = tuple[Any, ...]

SMALL: dict[SqlType, st.SearchStrategy[Any]] = {
    types.BIGINT: st.sampled_from([None, 0, -1, 2**40]),
    types.INTEGER: st.sampled_from([None, 0, -1]),
    types.HUGEINT: st.sampled_from([None, 0, 2**70]),
    types.DOUBLE: st.sampled_from([None, 0.0, 1.5]),
    types.BOOLEAN: st.sampled_from([None, False, True]),
    types.VARCHAR: st.sampled_from([None, 0, 1]),
}


@st.composite
def updates(draw: st.DrawFn, max_size: int = 20) -> tuple[list[SqlType], list[Row], list[int], list[int]]:
    """Types, rows, times and diffs, with many equal rows."""
    sql_types = draw(st.lists(st.sampled_from(list(SMALL)), max_size=3))
    pool = draw(st.lists(st.tuples(*(SMALL[t] for t in sql_types)), min_size=1, max_size=4))
    rows = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=max_size))
    n = len(rows)
    times = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    diffs = draw(st.lists(st.integers(-2, 2), min_size=n, max_size=n))
    return sql_types, rows, times, diffs


def drawn_delta(sql_types: list[SqlType], rows: list[Row], times: list[int] | int, diffs: list[int] | None) -> Delta:
    """The updates as a delta; text is given as codes."""
    columns = [column_of(t.physical, [row[i] for row in rows]) for i, t in enumerate(sql_types)]
    when = times if isinstance(times, int) else np.array(times, np.int64)
    return delta_of(columns, when, None if diffs is None else np.array(diffs, np.int64), len(rows))


def rows_of(columns: list[Any], length: int) -> list[Row]:
    """The rows of columns as Python values."""
    return list(zip(*(python_values(c) for c in columns), strict=True)) if columns else [()] * length


def model(delta: Delta) -> list[tuple[tuple[Row, int], int]]:
    """The updates of a delta as ((row, time), diff)."""
    keys = zip(rows_of(delta.columns(), len(delta)), delta.time_array().tolist(), strict=True)
    return list(zip(keys, delta.diff_array().tolist(), strict=True))
