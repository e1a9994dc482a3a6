"""Bags of rows, compared as DuckDB and the engine compare them: exactly, but DOUBLE within 1e-9 relative."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pyarrow as pa

Bag = Counter[tuple[Any, ...]]
TOLERANCE = 1e-9


def bag_of(table: pa.Table) -> Bag:
    """The rows of a table."""
    columns = [[_hashable(value) for value in column.to_pylist()] for column in table.columns]
    return Counter(zip(*columns, strict=True)) if columns else Counter({(): table.num_rows})


def changed(bag: Bag, rows: list[dict[str, Any]]) -> Bag:
    """The bag after the changes of a subscription at one time."""
    result = bag.copy()
    for row in rows:
        values = tuple(_hashable(value) for name, value in row.items() if name not in ("_time", "_diff"))
        result[values] += row["_diff"]
        if result[values] == 0:
            del result[values]
    return result


def same(found: Bag, expected: Bag) -> bool:
    """Whether the bags are equal up to the rounding of DOUBLEs."""
    if found == expected:
        return True
    extra, missing = list((found - expected).elements()), list((expected - found).elements())
    if len(extra) != len(missing) or any(count < 0 for count in found.values()):
        return False
    for row in extra:
        partner = next((other for other in missing if _close(row, other)), None)
        if partner is None:
            return False
        missing.remove(partner)
    return True


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, dict):
        return tuple((name, _hashable(item)) for name, item in value.items())
    if isinstance(value, float) and value != value:
        return "NaN"
    return value


def _close(row: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    for mine, theirs in zip(row, other, strict=True):
        if mine == theirs:
            continue
        if not isinstance(mine, float) or not isinstance(theirs, float):
            return False
        if not math.isclose(mine, theirs, rel_tol=TOLERANCE, abs_tol=1e-12):
            return False
    return True
