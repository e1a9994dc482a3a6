"""Columns for tests: from Python values and back, and hypothesis strategies for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from ivm.catalog.types import Physical
from ivm.trace.columns.column import DTYPES, Column

_WORD = 1 << 64

VALUES: dict[Physical, st.SearchStrategy[Any]] = {
    Physical.BOOL: st.booleans(),
    Physical.INT32: st.sampled_from([0, 1, -1, 2**31 - 1, -(2**31)]),
    Physical.INT64: st.sampled_from([0, 1, -1, 2**32, 2**63 - 1, -(2**63)]),
    Physical.WIDE: st.sampled_from([0, 1, -1, 2**63, 2**64, 2**127 - 1, -(2**127)]),
    Physical.FLOAT64: st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf"), -2.0]),
    Physical.CODE: st.integers(0, 3),
}


def column_of(physical: Physical, values: list[Any]) -> Column:
    """A column of Python values; None is NULL, over garbage rather than zero."""
    plain = [_GARBAGE[physical] if v is None else v for v in values]
    if physical is Physical.WIDE:
        words = [(((v + _WORD // 2) % _WORD) - _WORD // 2, v >> 64) for v in plain]
        array = np.array(words, np.int64).reshape(-1, 2)
    else:
        array = np.array(plain, DTYPES[physical])
    return Column(array, np.array([v is not None for v in values], np.bool_) if None in values else None)


_GARBAGE: dict[Physical, Any] = {
    Physical.BOOL: True,
    Physical.INT32: 77,
    Physical.INT64: 77,
    Physical.WIDE: (77 << 64) + 5,
    Physical.FLOAT64: 7.5,
    Physical.CODE: 0,
}


def python_values(column: Column) -> list[Any]:
    """The column's values as Python values, None for NULL."""
    if column.values.ndim == 2:
        plain: list[Any] = [(high << 64) + low % _WORD for low, high in column.values.tolist()]
    else:
        plain = column.values.tolist()
    return plain if column.valid is None else [v if ok else None for v, ok in zip(plain, column.valid, strict=True)]


@st.composite
def columns_with_forms(draw: st.DrawFn, max_rows: int = 8) -> tuple[tuple[tuple[Physical, bool], ...], list[Column]]:
    """Forms of a key, (physical, nullable) each, and columns of these forms, of equal length."""
    forms = draw(st.lists(st.tuples(st.sampled_from(list(Physical)), st.booleans()), min_size=1, max_size=6))
    length = draw(st.integers(0, max_rows))
    columns = []
    for physical, nullable in forms:
        values = st.one_of(st.none(), VALUES[physical]) if nullable else VALUES[physical]
        columns.append(column_of(physical, draw(st.lists(values, min_size=length, max_size=length))))
    return tuple(forms), columns
