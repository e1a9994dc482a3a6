"""Aggregates of the model over whole rows: with DISTINCT, further arguments and an order of their own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from ivm.catalog.types import Kind
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.aggregates import aggregate_of
from ivm.sql.ir.scalar import Value
from tests.model.aggregates import aggregate
from tests.model.folds import FOLDS
from tests.model.scalar import value_of
from tests.model.values import canonical, sort_key

Row = tuple[Value, ...]
DAY_MICROS = 86_400_000_000
_PLAIN = frozenset(["count", "sum", "avg", "min", "max", "stddev_samp", "stddev_pop", "var_samp", "var_pop"])


def aggregate_rows(what: Aggregate, members: Sequence[tuple[Row, int]]) -> Any:
    """The aggregate over a group's rows with their diffs. A list is a tuple. Raises NumericError on overflow."""
    if what.arg is None:
        return aggregate(what, [(None, n) for _, n in members])
    rows = [(value_of(what.arg, row), tuple(value_of(o, row) for o in what.others), row, n) for row, n in members if n]
    rows = [each for each in rows if None not in each[1]]
    if what.distinct:
        counts: Counter[Any] = Counter()
        first: dict[Any, Any] = {}
        for value, others, row, n in rows:
            key = (_hashed(value), tuple(map(_hashed, others)))
            counts[key] += n
            first.setdefault(key, (value, others, row, 1))
        rows = [each for key, each in first.items() if counts[key]]
    if what.function in _PLAIN:
        return aggregate(what, [(value, n) for value, _, _, n in rows])
    if aggregate_of(what.function).skips_nulls:
        rows = [each for each in rows if each[0] is not None]
    if not rows:
        return None
    if what.function == "mode":
        return _mode([(value, n) for value, _, _, n in rows])
    rows.sort(key=cmp_to_key(lambda a, b: _compare(what, a, b)))
    values = [value for value, _, _, n in rows for _ in range(n)]
    if not values:
        return None
    if what.function == "string_agg":
        return str(what.parameters[0].value).join(map(str, values))
    if what.function == "list":
        return tuple(values)
    if what.function in FOLDS:
        pairs = [others[0] for _, others, _, n in rows for _ in range(n) if others]
        return FOLDS[what.function](values, pairs, what.type)
    return _quantile(what, values) if what.function.startswith("quantile") else values[0]


def _hashed(value: Value) -> Any:
    return None if value is None else (sort_key(value),)


def _mode(values: list[tuple[Value, int]]) -> Value:
    counts: dict[Any, list[Any]] = {}
    for value, n in values:
        counts.setdefault(_hashed(value), [value, 0])[1] += n
    held = [each for each in counts.values() if each[1]]
    return min(held, key=lambda each: (-each[1], sort_key(each[0])))[0] if held else None


def _compare(what: Aggregate, a: Any, b: Any) -> int:
    terms = [(value_of(o.scalar, a[2]), value_of(o.scalar, b[2]), o.descending, o.nulls_first) for o in what.order]
    if what.function.startswith("arg_"):
        terms = [(a[1][0], b[1][0], what.function.startswith("arg_max"), False)]
    terms.append((a[0], b[0], what.function.startswith("quantile") and bool(what.order), False))
    for x, y, descending, nulls_first in terms:
        if (x is None) != (y is None):
            return -1 if (x is None) == nulls_first else 1
        if x is not None and y is not None and sort_key(x) != sort_key(y):
            return -1 if (sort_key(x) < sort_key(y)) != descending else 1
    return 0


def _quantile(what: Aggregate, values: list[Any]) -> Value:
    assert what.arg is not None
    n, given = len(values), what.parameters[0]
    fraction = Decimal(int(given.value or 0)).scaleb(-given.type.scale) if given.type.scale else float(given.value or 0)
    if what.function == "quantile_disc":
        if isinstance(fraction, Decimal):
            return values[max(1, n - int((1 - Fraction(fraction)) * n)) - 1]
        return values[max(1, n - math.floor(n - n * fraction)) - 1]
    place = (n - 1) * float(fraction)
    low, high, share = values[math.floor(place)], values[math.ceil(place)], place - math.floor(place)
    if what.arg.type.kind is Kind.DATE:
        low, high = low * DAY_MICROS, high * DAY_MICROS
    if what.type.kind is Kind.DOUBLE:
        low, high = float(low), float(high)
        return canonical(low if share == 0 else low * (1 - share) + high * share)
    if share == 0:
        return low
    if what.type.kind is Kind.TIMESTAMP:
        mixed = float(low) * (1 - share) + float(high) * share
        return int(math.copysign(math.floor(abs(mixed) + 0.5), mixed))
    if what.type.precision > 18:
        return low + int(float(high - low) * share)
    return int(float(low) + float(high - low) * share)
