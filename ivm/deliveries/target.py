"""Where changes are delivered to, and what is remembered there of what has come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from catalog.errors import TypeMismatchError

_DELTA = "delta:"


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


class Function:
    """A function of the application's, which is called with the changes and the time up to which they are."""

    def __init__(self, call: Callable[[pa.Table, int], object]) -> None:
        self._call = call
        name = getattr(call, "__qualname__", type(call).__name__)
        self.where = f"{getattr(call, '__module__', '?')}.{name}"

    def begin(self, empty: pa.Table) -> Mark | None:
        """Nobody knows what has arrived but the application."""
        return None

    def put(self, changes: pa.Table, mark: Mark) -> None:
        """Call it, unless nothing has changed."""
        if changes.num_rows:
            self._call(changes, mark.time)


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


def target_of(to: Any) -> Target:
    """What is meant by where changes are to go: a function, a folder, or "delta:" and where a table of Delta's is."""
    if callable(to):
        return Function(to)
    if not isinstance(to, str | PathLike):
        raise TypeMismatchError(
            f"changes are delivered to a folder, to 'delta:' and the place of a table, or to a function, not to a "
            f"{type(to).__name__}"
        )
    path = fspath(to)
    if isinstance(path, str) and path.startswith(_DELTA):
        from ivm.deliveries.delta import Delta  # noqa: PLC0415  which few need, and takes a while to import

        return Delta(path.removeprefix(_DELTA))
    from ivm.deliveries.parquet import Parquet  # noqa: PLC0415  as above

    return Parquet(path)
