"""A table as it was when a transaction began, in the columns that the transaction has given it since."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import pyarrow as pa

from catalog.altering import Altered


class Past(Protocol):
    """What there was of a table; see `ivm.session.before.Before`."""

    @property
    def count(self) -> int:
        """How many rows there are now."""
        ...

    @property
    def has_changed(self) -> bool:
        """Whether anybody has changed the table since."""
        ...

    def reading(self) -> Callable[[], pa.Table]:
        """What makes an Arrow table of the rows there were."""
        ...

    def met(self, keys: Sequence[tuple[int, ...]], rows: pa.Table) -> pa.Table:
        """Those that meet some of `rows` on one of the keys."""
        ...

    def met_now(self, keys: Sequence[tuple[int, ...]], rows: pa.Table) -> pa.Table:
        """As `met`, of the rows there are at present."""
        ...


class Reshaped:
    """The rows of `past`, whose columns stay as `change` has them: new ones, behind the others, hold these values."""

    def __init__(self, past: Past, change: Altered, values: Sequence[pa.Scalar]) -> None:
        self._past = past
        self._old, self._names = (tuple(f.name for f in each.fields) for each in (change.old, change.table))
        self._values = values

    @property
    def count(self) -> int:
        """See `Past.count`."""
        return self._past.count

    @property
    def has_changed(self) -> bool:
        """See `Past.has_changed`."""
        return self._past.has_changed

    def reading(self) -> Callable[[], pa.Table]:
        """See `Past.reading`."""
        read = self._past.reading()
        return lambda: self._now(read())

    def met(self, keys: Sequence[tuple[int, ...]], rows: pa.Table) -> pa.Table:
        """See `Past.met`; keys are of columns that there were."""
        return self._now(self._past.met(keys, self._then(rows)))

    def met_now(self, keys: Sequence[tuple[int, ...]], rows: pa.Table) -> pa.Table:
        """See `Past.met_now`."""
        return self._now(self._past.met_now(keys, self._then(rows)))

    def _then(self, rows: pa.Table) -> pa.Table:
        return rows.select(range(len(self._old))).rename_columns(list(self._old))

    def _now(self, rows: pa.Table) -> pa.Table:
        more = [pa.chunked_array([pa.repeat(value, rows.num_rows)]) for value in self._values]
        return pa.table([*rows.columns, *more], names=list(self._names))
