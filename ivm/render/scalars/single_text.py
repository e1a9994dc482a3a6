"""A FLOAT as DuckDB writes it: in as few digits as tell it from its neighbours, mostly."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np


def single_text(value: float) -> str:
    """A number that 32 bits hold as a text.

    DuckDB looks for the fewest digits by arithmetic of 64 bits. Where these cannot decide, since a number of few digits
    lies half-way between two FLOATs, or the FLOAT half-way between two such numbers, it takes the digits of the DOUBLE.
    """
    shortest = str(np.float32(value))
    number = float(shortest)
    if number == value or not math.isfinite(value) or _is_decided(value, Decimal(shortest)):
        return repr(number)
    return repr(value)


def _is_decided(value: float, shortest: Decimal) -> bool:
    digits = _digits(shortest)
    if 2 * abs(shortest - Decimal(value)) == Decimal(1).scaleb(shortest.adjusted() - digits + 1):
        return False
    for end in (math.inf, -math.inf):
        beside = float(np.nextafter(np.float32(value), np.float32(end)))
        half_way = Decimal((value + beside) / 2) if math.isfinite(beside) else None
        if half_way is not None and (half_way == shortest or _digits(half_way) < digits):
            return False
    return True


def _digits(number: Decimal) -> int:
    """How many digits it has, without zeros at either end; 0 of zero."""
    return len("".join(map(str, number.as_tuple().digits)).strip("0"))
