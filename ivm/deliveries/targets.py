"""What is meant by where changes are to go."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from typing import Any

import pyarrow as pa

from ivm.catalog.errors import TypeMismatchError
from ivm.deliveries.target import Mark, Target

_DELTA = "delta:"


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
