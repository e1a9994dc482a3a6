"""Numbers of 32 bits: the FLOAT nearest to what is written."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

_HALF = 1 << 28  # of a unit in the last place of a FLOAT, in the 29 bits that a DOUBLE has more
_MORE = (1 << 29) - 1


def single(value: float) -> float:
    """The nearest number that 32 bits hold; infinite beyond their range."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def nearest_single(value: float, text: str) -> float:
    """The FLOAT nearest to what `text` writes, whose nearest DOUBLE is `value`.

    Where that lies half-way between two FLOATs, the digits that it lost decide.
    """
    bits = struct.unpack("<q", struct.pack("<d", value))[0]
    if bits & _MORE == _HALF and math.isfinite(value):
        written = Fraction(text.replace("_", ""))
        if written != value:
            value = math.nextafter(value, math.inf if written > value else -math.inf)
    return single(value)
