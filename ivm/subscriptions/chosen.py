"""Rows of a view that have some values: what a commit changes of them, and those that there are."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ivm.catalog.schema import Schema
from ivm.catalog.types import Kind, SqlType
from ivm.results.view_changes import types_of
from ivm.subscriptions.piece import Computed, Piece, piece_of
from ivm.trace.columns.arrow import numbers_from, to_arrow
from ivm.trace.columns.column import Column, Ints
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import delta_of
from ivm.trace.log_index import hashes_of
from ivm.trace.text.texts import Strings
from ivm.trace.view_log import Sealed, ViewLog

Key = tuple[Hashable, ...]
"""Values of some columns, as Python has them; a NaN is a text, so that it is equal to itself."""

_NAN = "NaN"


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


def chosen_rows(
    log: ViewLog, sealed: Sealed, schema: Schema, strings: Strings, wanted: Sequence[Column], chosen: Chosen, time: int
) -> Piece:  # fmt: skip
    """The chosen rows of a log, as it was sealed, as changes at a time; no lock is needed.

    `wanted`: the values, each a column of one row, in codes of the log's. Cost: a look at all the first time that
    somebody asks so; see `LogIndexes.asked`.
    """
    columns, _, diffs = sealed.updates.part(0, sealed.length)
    index = log.indexes.asked(chosen.place.columns, sealed.updates, sealed.length)
    rows = None if index is None else index.find(sealed.updates, sealed.length, wanted, sealed.length)
    if rows is None:
        hashes = hashes_of([columns[each] for each in chosen.place.columns])
        rows = np.flatnonzero(hashes == hashes_of(wanted)[0])
    few = [column.take(rows) for column in columns[: len(schema)]]
    delta = delta_of(few, time, diffs[rows], len(rows))
    found = consolidate(delta, types_of(schema)) or delta.slice(0, 0)
    piece = Piece(time, Computed(schema, found.gathered(), strings))
    return part_of(piece, chosen) or _shown(piece, np.empty(0, np.int64), chosen.place.width)
