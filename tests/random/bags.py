"""Bags of rows, compared as DuckDB and the engine compare them: exactly, but DOUBLE within 1e-9 relative.

Of intervals and of texts with a collation only what SQL compares them by counts, since which of those that are equal
stands for a group is open. `folded`: all texts count so.
"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from typing import Any

import pyarrow as pa

Bag = Counter[tuple[Any, ...]]
TOLERANCE = 1e-9
_DAY = 86_400 * 10**9


def bag_of(table: pa.Table, folded: bool = False) -> Bag:
    """The rows of a table."""
    columns = [[_hashable(value, folded) for value in column.to_pylist()] for column in table.columns]
    return Counter(zip(*columns, strict=True)) if columns else Counter({(): table.num_rows})


def changed(bag: Bag, rows: list[dict[str, Any]], folded: bool = False) -> Bag:
    """The bag after the changes of a subscription at one time."""
    result = bag.copy()
    for row in rows:
        values = tuple(_hashable(value, folded) for name, value in row.items() if name not in ("_time", "_diff"))
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


def _hashable(value: Any, folded: bool) -> Any:
    match value:
        case pa.MonthDayNano():
            return (value.months * 30 + value.days) * _DAY + value.nanoseconds
        case list() | tuple():
            return tuple(_hashable(item, folded) for item in value)
        case dict():
            return tuple((name, _hashable(item, folded)) for name, item in value.items())
        case str() if folded:
            return value.lower()
        case datetime.datetime() if value.tzinfo:
            return value.astimezone(datetime.UTC)
        case float() if value != value:
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
