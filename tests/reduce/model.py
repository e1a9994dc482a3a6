"""Slow obvious twins: bags of rows as Counters, and the aggregates over them in exact arithmetic."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np

from ivm.catalog.types import Kind, Physical, SqlType
from ivm.trace.columns.column import DTYPES, Column
from ivm.trace.delta import Delta, delta_of
from ivm.trace.text.dictionary import TextDictionary

Row = tuple[Any, ...]
Bag = Counter[Row]
Update = tuple[Row, int, int]
Types = tuple[tuple[SqlType, bool], ...]


def to_column(values: list[Any], type_: SqlType, dictionary: TextDictionary) -> Column:
    """A column of Python values: decimals as their scaled integers, text as str."""
    physical = type_.physical
    valid = np.array([v is not None for v in values], np.bool_)
    if physical is Physical.CODE:
        values = [None if v is None else dictionary.code(v) for v in values]
    plain = [0 if v is None else v for v in values]
    if physical is Physical.WIDE:
        words = [[(v & (2**64 - 1)) - ((v & 2**63) << 1), v >> 64] for v in plain]
        return Column(np.array(words, np.int64).reshape(-1, 2), None if valid.all() else valid)
    return Column(np.array(plain, DTYPES[physical]), None if valid.all() else valid)


def from_column(column: Column, type_: SqlType, dictionary: TextDictionary) -> list[Any]:
    """The Python values of a column."""
    assert column.values.dtype == DTYPES[type_.physical]
    if type_.physical is Physical.WIDE:
        values: list[Any] = [(int(high) << 64) | (int(low) & (2**64 - 1)) for low, high in column.values]
    elif type_.physical is Physical.CODE:
        values = dictionary.now().strings(column.values)
    else:
        values = column.values.tolist()
    if column.valid is None:
        return values
    return [v if ok else None for v, ok in zip(values, column.valid, strict=True)]


def to_delta(updates: list[Update], types: Types, dictionary: TextDictionary) -> Delta:
    """The updates as a delta; one int for times, and no diffs, where they allow it."""
    columns = [to_column([u[0][i] for u in updates], t, dictionary) for i, (t, _) in enumerate(types)]
    times = np.array([u[1] for u in updates], np.int64)
    diffs = np.array([u[2] for u in updates], np.int64)
    time = int(times[0]) if len(set(times.tolist())) == 1 else times
    return delta_of(columns, time, None if (diffs == 1).all() else diffs, len(updates))


def from_delta(delta: Delta | None, types: list[SqlType], dictionary: TextDictionary) -> list[Update]:
    """The updates of a delta, in its order."""
    if delta is None or len(delta) == 0:  # which may have no columns
        return []
    columns = [from_column(c, t, dictionary) for c, t in zip(delta.columns(), types, strict=True)]
    assert all(len(c) == len(delta) for c in columns)
    rows = list(zip(*columns, strict=True)) if columns else [()] * len(delta)
    return list(zip(rows, delta.time_array().tolist(), delta.diff_array().tolist(), strict=True))


def plain(value: Any) -> Any:
    """A form in which NaN equals NaN and -0.0 equals 0.0."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


def aggregate(function: str, values: list[tuple[Any, int]], type_: SqlType | None) -> Any:
    """An aggregate over (value, multiplicity), NULLs already left out."""
    count = sum(m for _, m in values)
    if function in ("count", "count_star"):
        return count
    if function in ("min", "max"):
        present = [v for v, m in values if m]
        if not present:
            return None
        order = sorted(present, key=sort_key)
        return order[0] if function == "min" else order[-1]
    if count == 0 or (count == 1 and function.endswith("samp")):
        return None
    assert type_ is not None
    if type_.kind is Kind.DOUBLE:
        return of_doubles(function, [(v, m) for v, m in values if m], count)
    total = sum(v * m for v, m in values)
    return total if function == "sum" else nearest(Fraction(total, count) / 10**type_.scale)


def of_doubles(function: str, values: list[tuple[float, int]], count: int) -> float:
    odd = {plain(v) for v, m in values if not math.isfinite(v)}
    if odd:
        special = float("nan") if len(odd) > 1 or "nan" in odd else odd.pop()
        return special if function in ("sum", "avg") else float("nan")
    total = sum((Fraction(v) * m for v, m in values), Fraction())
    if function in ("sum", "avg"):
        return nearest(total if function == "sum" else total / count)
    squares = sum((Fraction(v) ** 2 * m for v, m in values), Fraction())
    spread = (squares * count - total**2) / (count * (count if function.endswith("pop") else count - 1))
    return nearest(spread) if function.startswith("var") else root(spread)


def nearest(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def root(x: Fraction) -> float:
    """The square root, to more than the digits of a double."""
    if x == 0:
        return 0.0
    shift = 2 * ((x.denominator.bit_length() - x.numerator.bit_length()) // 2 + 80)
    scaled = x * (Fraction(2) ** shift)
    return nearest(Fraction(math.isqrt(int(scaled))) / Fraction(2) ** (shift // 2))


def sort_key(value: Any) -> Any:
    """SQL's order of values that are not NULL: NaN the greatest, text by bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def close(got: Any, wanted: Any, exact: bool) -> bool:
    """Equal; within a few units in the last place where the result is a quotient or a root."""
    if got is None or wanted is None or not isinstance(wanted, float) or exact:
        return plain(got) == plain(wanted)
    if math.isnan(wanted) or math.isinf(wanted) or math.isnan(got) or math.isinf(got):
        return plain(got) == plain(wanted)
    return abs(got - wanted) <= 4 * max(math.ulp(wanted), 5e-324)


def apply(bag: Bag, updates: list[Update]) -> Bag:
    """The bag after the updates, zeros dropped."""
    result = Counter(bag)
    for row, _, diff in updates:
        result[tuple(map(plain, row))] += diff
    return Counter({row: m for row, m in result.items() if m})
