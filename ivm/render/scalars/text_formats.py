"""Numbers and texts written by a format of Python's."""

from __future__ import annotations

import re
from math import isfinite

_WIDE = re.compile(r"([+ ]?)(0?)(\d+)(.*)")
"""A width without an alignment."""


def formatted(value: int | float | str, spec: str) -> str:
    """The value as the format writes it; what is no finite number stands on the left, as DuckDB has it."""
    if isinstance(value, float) and not isfinite(value):
        found = _WIDE.fullmatch(spec)
        if found is not None:
            return format(value, found[1] + found[4]).ljust(int(found[3]), found[2] or " ")
    return format(value, spec)
