"""Lists as tuples of their elements, each in engine form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ivm.sql.ir.relation import Unnest
from ivm.sql.ir.scalar import Call
from ivm.sql.types.calendar import Interval, add_interval

Row = tuple[Any, ...]


def series(call: Call, args: list[Any]) -> Any:
    """RANGE and GENERATE_SERIES, value by value."""
    at, end, *steps = args
    inclusive, of_moments = call.function.startswith("generate_series"), call.function.endswith("moments")
    up, found = any(step > 0 for step in steps), []
    while any(steps) and ((at < end if up else at > end) or (inclusive and at == end)):
        found.append(at)
        at = add_interval(at, Interval(*steps)) if of_moments else at + steps[0]
    return tuple(found)


def subscripts(call: Call, args: list[Any]) -> Any:
    """The places of a list."""
    return tuple(range(1, len(args[0]) + 1))


def values(args: Sequence[Any]) -> Any:
    """LIST_VALUE."""
    return tuple(args)


def unnested(unnest: Unnest, row: Row, lists: list[Row | None]) -> list[Row]:
    """The rows that are made of one."""
    whole = [each or () for each in lists]
    most = max(map(len, whole))
    rows = [
        (*row, *(each[i] if i < len(each) else None for each in whole), *([i + 1] if unnest.numbered else []))
        for i in range(most)
    ]
    if not rows and unnest.optional:
        return [(*row, *(None for _ in unnest.added))]
    return rows
