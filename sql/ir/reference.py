"""Foreign keys, as relations know of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reference:
    """At every time, a row without NULL in `columns` has a row of `table` that agrees in `referenced`, its key."""

    columns: tuple[int, ...]
    table: str
    referenced: tuple[int, ...]
