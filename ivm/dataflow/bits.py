"""Work that is done bit by bit, so that others may be let in between two bits, by whoever leads it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from typing import TypeVar, cast

Made = TypeVar("Made")

Bits = Generator[int, None, Made]
"""Yields the rows that each bit has read, and returns what is made; closed before its end, it leaves nothing behind."""


def led(bits: Bits[Made], rest: Callable[[int], object]) -> Made:
    """Do all of some work, and `rest` with the rows of each bit after it; what that raises ends the work, too."""
    with closing(bits):
        while True:
            try:
                rows = next(bits)
            except StopIteration as end:
                return cast(Made, end.value)
            rest(rows)


def all_of(bits: Bits[Made]) -> Made:
    """Do all of some work at once."""
    return led(bits, lambda rows: None)
