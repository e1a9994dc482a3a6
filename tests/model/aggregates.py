"""Aggregates of the model over one group's values with their multiplicities; sums and moments by exact fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.scalar import Value
from tests.model.values import canonical, checked, sort_key

Weighted = Sequence[tuple[Value, int]]
"""Values, NULLs included, each with the diff of its row."""


def aggregate(what: Aggregate, values: Weighted) -> Value:
    """The aggregate's value in engine form (count_star needs no values). Raises NumericError on overflow."""
    if what.function == "count_star":
        return checked(sum(diff for _, diff in values), what.type)
    present = [(value, diff) for value, diff in values if value is not None and diff]
    count = sum(diff for _, diff in present)
    if what.function == "count":
        return checked(count, what.type)
    if count == 0:
        return None
    if what.function in ("min", "max"):
        ordered = sorted((value for value, _ in present), key=sort_key)
        return ordered[0] if what.function == "min" else ordered[-1]
    assert what.arg is not None
    if what.arg.type.is_float:
        return _of_doubles(what, [(float(v), d) for v, d in present], count)
    total = sum(int(v) * d for v, d in present)
    if what.function == "sum":
        return checked(total, what.type)
    assert what.function == "avg"
    return float(Fraction(total, count * 10**what.arg.type.scale))


def _of_doubles(what: Aggregate, values: list[tuple[float, int]], count: int) -> Value:
    if not all(math.isfinite(v) for v, _ in values):
        special = sum(v * d for v, d in values if not math.isfinite(v))
        return canonical(special) if what.function in ("sum", "avg") else math.nan
    total = sum(Fraction(v) * d for v, d in values)
    if what.function == "sum":
        return canonical(float(total))
    if what.function == "avg":
        return canonical(float(total / count))
    divisor = count - 1 if what.function.endswith("samp") else count
    if divisor == 0:
        return None
    variance = float(sum((Fraction(v) - total / count) ** 2 * d for v, d in values) / divisor)
    return math.sqrt(variance) if what.function.startswith("stddev") else variance
