"""A table as it was when a transaction began, in the columns that the transaction has given it since."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import pyarrow as pa

from ivm.catalog.altering import Altered
from ivm.trace.columns.arrow import arrow_type


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
    """The rows of `past` in the columns that `change` has: new ones hold these values."""

    def __init__(self, past: Past, change: Altered, values: Sequence[pa.Scalar]) -> None:
        self._past = past
        self._change = change
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
        return self._now(self._past.met(self._keys(keys), self._then(rows)))

    def met_now(self, keys: Sequence[tuple[int, ...]], rows: pa.Table) -> pa.Table:
        """See `Past.met_now`."""
        return self._now(self._past.met_now(self._keys(keys), self._then(rows)))

    def _keys(self, keys: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        taken = self._change.taken
        return [tuple(place for c in each if (place := taken[c]) is not None) for each in keys]

    def _then(self, rows: pa.Table) -> pa.Table:
        """Rows in the columns that there were, NULL in those that are gone, of which no key is."""
        old, taken = self._change.old.fields, self._change.taken
        columns = [
            rows.column(taken.index(place)) if place in taken else pa.nulls(rows.num_rows, arrow_type(field.type))
            for place, field in enumerate(old)
        ]
        return pa.table(columns, names=[field.name for field in old])

    def _now(self, rows: pa.Table) -> pa.Table:
        return reshaped(rows, self._change, self._values)


def reshaped(rows: pa.Table, change: Altered, values: Sequence[pa.Scalar]) -> pa.Table:
    """Rows in the columns that `change` has; new ones hold these values. Cost: that of writing these."""
    new = iter(values)
    columns = [
        pa.chunked_array([pa.repeat(next(new), rows.num_rows)]) if place is None else rows.column(place)
        for place in change.taken
    ]
    return pa.table(columns, names=[field.name for field in change.table.fields])
