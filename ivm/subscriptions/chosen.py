"""Rows of a view that have some values: what a commit changes of them, and those that there are."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ivm.catalog.schema import Schema
from ivm.catalog.types import Kind, SqlType
from ivm.results.view_changes import types_of
from ivm.subscriptions.piece import Computed, Piece, piece_of
from ivm.trace.columns.arrow import numbers_from, to_arrow
from ivm.trace.columns.column import Column, Ints
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import delta_of
from ivm.trace.text.texts import Strings
from ivm.trace.view_log import Sealed

Key = tuple[Hashable, ...]
"""Values of some columns, as Python has them; a NaN is a text, so that it is equal to itself."""

_NAN = "NaN"
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_TAIL = 1 << 12
"""So many updates behind those that an index has are looked at one by one."""


@dataclass(frozen=True, slots=True)
class Place:
    """Rows are chosen by the values of `columns`, in this order; the first `width` columns of them are shown."""

    columns: tuple[int, ...]
    width: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows that have the values `key`. `named`: what the columns are called."""

    place: Place
    key: Key
    named: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " AND ".join(f"{name} = {value}" for name, value in zip(self.named, self.key, strict=True))


def can_choose(type_: SqlType) -> bool:
    """Whether values of a type that are equal to SQL are so to Python."""
    return not type_.is_nested and type_.kind not in (Kind.INTERVAL, Kind.NULL) and not type_.collation


def keys_of(columns: Sequence[pa.Array | pa.ChunkedArray]) -> list[Key]:
    """The key of each row. Cost: Python's objects of all values."""
    return list(zip(*map(_values, columns), strict=True))


def _values(column: pa.Array | pa.ChunkedArray) -> list[Hashable]:
    if pa.types.is_floating(column.type):
        return [_NAN if value is not None and value != value else value for value in column.to_pylist()]
    if pa.types.is_timestamp(column.type) or pa.types.is_time64(column.type):
        column = column.cast(pa.int64())  # some are finer than Python's
    values: list[Hashable] = column.to_pylist()
    return values


def part_of(piece: Piece, chosen: Chosen) -> Piece | None:
    """What a piece has of the rows that are chosen; None if it has nothing of them."""
    return dict(parts_of(piece, chosen.place, {chosen.key})).get(chosen.key)


def parts_of(piece: Piece, place: Place, wanted: Container[Key]) -> Iterator[tuple[Key, Piece]]:
    """Of each key that is wanted, and changes, what changes. Cost: a look at all, a copy of what is wanted."""
    found: dict[Key, list[int]] = {}
    for row, key in enumerate(keys_of(_key_columns(piece, place))):
        if key in wanted:
            found.setdefault(key, []).append(row)
    for key, rows in found.items():
        yield key, _shown(piece, np.array(rows, np.int64), place.width)


def _key_columns(piece: Piece, place: Place) -> list[pa.Array | pa.ChunkedArray]:
    if (of := piece.computed) is None:
        return [piece.table.column(column) for column in place.columns]
    return [to_arrow(of.delta.column(column), of.schema[column].type, of.strings) for column in place.columns]


def _shown(piece: Piece, rows: Ints, width: int) -> Piece:
    """Some of the changes, of the first columns."""
    if (of := piece.computed) is not None:
        delta = of.delta.take(rows).first(width).gathered()
        return Piece(piece.time, replace(of, schema=of.schema[:width], delta=delta))
    return piece_of(shown(piece.table.take(numbers_from(rows)), width), piece.time)


def shown(changes: pa.Table, width: int) -> pa.Table:
    """A table of changes with the first columns alone."""
    return changes.select([*range(width), changes.num_columns - 2, changes.num_columns - 1])


@dataclass(frozen=True, slots=True)
class _Index:
    """The first `length` updates of a log, which are these `updates`, in the order of their hashes."""

    updates: object
    length: int
    hashes: npt.NDArray[np.uint64]
    order: Ints


class Rows:
    """Finds rows of a view by their values in some columns.

    Each answer is of the log as it was sealed; the index is made again when the log is, or has grown by as much. Any
    number of threads may ask. Size: two words for each update of the log, once somebody has asked.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._index: _Index | None = None

    def piece(
        self, sealed: Sealed, schema: Schema, strings: Strings, wanted: Sequence[Column], chosen: Chosen, time: int
    ) -> Piece:  # fmt: skip
        """The chosen rows as changes at a time. `wanted`: the values, each a column of one row, in codes of the log's.

        Cost: a look-up, and one for each update since the index was made; now and then, a sort of all.
        """
        columns, _, diffs = sealed.updates.part(0, sealed.length)
        columns = columns[: len(schema)]
        rows = self._rows(sealed, [columns[each] for each in self._place.columns], _hashes(wanted)[0])
        delta = delta_of([column.take(rows) for column in columns], time, diffs[rows], len(rows))
        found = consolidate(delta, types_of(schema)) or delta.slice(0, 0)
        piece = Piece(time, Computed(schema, found.gathered(), strings))
        return part_of(piece, chosen) or _shown(piece, np.empty(0, np.int64), self._place.width)

    def _rows(self, sealed: Sealed, columns: Sequence[Column], wanted: np.uint64) -> Ints:
        """The updates with this hash, and maybe some others, in their order."""
        index = self._index
        if index is None or index.updates is not sealed.updates or sealed.length > _TAIL + 2 * index.length:
            hashes = _hashes(columns)
            order = np.argsort(hashes, kind="stable")
            index = self._index = _Index(sealed.updates, sealed.length, hashes[order], order)
        begin, end = (int(np.searchsorted(index.hashes, wanted, side)) for side in ("left", "right"))
        early = index.order[begin:end]
        late = [Column(c.values[index.length :], None if c.valid is None else c.valid[index.length :]) for c in columns]
        found = index.length + np.flatnonzero(_hashes(late) == wanted)
        return np.concatenate([early[early < sealed.length], found])


def _hashes(columns: Sequence[Column]) -> npt.NDArray[np.uint64]:
    """Equal for rows that are equal in all columns."""
    found = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        values = column.values
        if values.dtype.kind == "f":
            values = np.where(np.isnan(values), np.float64(0.5), np.add(values, 0.0))  # which makes 0.0 of -0.0
        words = [values] if values.ndim == 1 else list(values.T)
        for word in words:
            found = (found ^ np.ascontiguousarray(word, _whole(word)).view(np.uint64)) * _FACTOR
            found ^= found >> np.uint64(29)
    return found


def _whole(word: npt.NDArray[np.generic]) -> type[np.generic]:
    return np.float64 if word.dtype.kind == "f" else np.uint64 if word.dtype == np.uint64 else np.int64
