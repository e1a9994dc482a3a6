"""Where changes are delivered to, and what is remembered there of what has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pyarrow as pa


class Mark(NamedTuple):
    """A delivery: its number, from 1, up to which time it has all changes, and a number of 63 bits for what they are
    `of`, the same as long as they follow each other.
    """

    number: int
    time: int
    of: int


class Target(Protocol):
    """Takes tables of changes, each whole or not at all, and knows the last one that it has taken."""

    @property
    def where(self) -> str:
        """Where it is."""
        ...

    def begin(self, empty: pa.Table) -> Mark | None:
        """Be ready for tables like this one, also after something has failed; the last delivery that has arrived.

        Raises StorageError where it cannot be reached, and UnsupportedError for a column of which it has no type.
        """
        ...

    def put(self, changes: pa.Table, mark: Mark) -> None:
        """Take these, and remember the mark in the same step. A table without rows says that nothing has changed."""
        ...


@dataclass(slots=True, eq=False)
class Delivered:
    """How far a delivery is: what of, to where, in which form; up to which time and how many rows have arrived, how
    often it has failed since, and how. `state`: "runs", "tries again" or "ended".
    """

    view: str
    to: str
    form: str
    time: int
    rows: int = 0
    failures: int = 0
    error: str = ""
    state: str = "runs"
