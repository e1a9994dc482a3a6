"""Rows as streams of Arrow's IPC format, each with its schema, so that any Arrow library reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ivm.intake.as_it_is import DIFF, TIME
from ivm.sql.recent import Recent
from ivm.trace.columns.arrow import numbers_from, within
from ivm.trace.columns.column import Ints
from ivm.trace.columns.exported import ArrowRows

END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
"""What ends a stream."""


_MOST_KNOWN = 1 << 10
_FEW = 1 << 10
_MANY = 1 << 13
"""From so many rows on a copy of them takes longer than Python does for each of their arrays."""


class _Known(NamedTuple):
    """What is known of rows of one schema: how they are written, and what begins their stream.

    Where there are dictionaries, which come before the rows, those of the columns `coded` were `dictionaries`; the
    beginning is None if they are none that come again. `whole` if lists, structs or maps hold some.
    """

    given: pa.Schema
    schema: pa.Schema
    begin: pa.Buffer | None
    coded: list[int]
    dictionaries: list[pa.Array]
    whole: bool


class Streams:
    """Writes rows of tables with their diffs and times; remembers the schemas that it wrote, a few for each table."""

    def __init__(self) -> None:
        self._known: Recent[tuple[str, int, bool, bool], _Known] = Recent(_MOST_KNOWN)

    def pieces(self, table: str, rows: ArrowRows, diffs: Ints | None, times: Ints | None) -> list[pa.Buffer | bytes]:
        """The stream of a table's rows, piece by piece, with columns `_diff` and `_time` behind theirs where given.

        Cost: some 10 microseconds, and a copy of the rows; 3 times that where a dictionary was not there before. Many
        rows are not copied: 15 microseconds a column.
        """
        form, given = (table, rows.num_columns, diffs is not None, times is not None), rows.schema
        known = self._known.get(form)
        if known is None or not known.given.equals(given):
            known = _known(given, diffs, times)
            self._known.put(form, known)
        each = [rows] if isinstance(rows, pa.RecordBatch) else rows.to_batches()
        batches = _numbered(each, known.schema, diffs, times)
        if rows.num_rows >= _MANY:
            return list(stream_pieces(known.schema, batches))
        if known.coded or known.whole:
            if len(batches) != 1 or known.whole:
                return [_whole(known.schema, batches)]
            dictionaries = [batches[0].column(place).dictionary for place in known.coded]
            if known.begin is None or not all(map(pa.Array.equals, known.dictionaries, dictionaries)):
                whole = _whole(known.schema, batches)
                if sum(map(len, dictionaries)) <= _FEW:
                    begin = whole.slice(0, whole.size - batches[0].serialize().size - len(END))
                    self._known.put(form, known._replace(begin=begin, dictionaries=dictionaries))
                return [whole]
        return [known.begin, *(batch.serialize() for batch in batches), END]


def stream_pieces(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> list[pa.Buffer | bytes]:
    """A stream of record batches, piece by piece: what they are made of is not copied, and lies where it did."""
    sink = _Sink()
    with pa.PythonFile(sink, "w") as file, pa.ipc.new_stream(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.pieces


class _Sink:
    """What Arrow takes for a file that is written: it keeps what it is given."""

    closed = False

    def __init__(self) -> None:
        self.pieces: list[pa.Buffer | bytes] = []
        self._at = 0

    def write(self, piece: pa.Buffer | bytes) -> None:
        self.pieces.append(piece)
        self._at += len(piece)

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Nothing is let go."""


def size_of(rows: ArrowRows) -> int:
    """The bytes that rows take in a stream, without dictionaries. Cost: 2 microseconds for 16 columns."""
    batches = [rows] if isinstance(rows, pa.RecordBatch) else rows.to_batches()
    return sum(pa.ipc.get_record_batch_size(batch) for batch in batches)


def read_stream(data: pa.Buffer, diffs: bool = False, times: bool = False) -> tuple[pa.Table, Ints | None, Ints | None]:
    """The rows of a stream, which lie where `data` does, and their diffs and times, if it was written with them.

    ArrowInvalid for rows that no writer of Arrow makes, whose use could end the process. Cost: a pass over them.
    """
    rows = pa.ipc.open_stream(data).read_all()
    rows.validate(full=True)
    width = rows.num_columns - diffs - times
    found_diffs = _numbers(rows.column(width)) if diffs else None
    found_times = _numbers(rows.column(width + diffs)) if times else None
    return rows.select(range(width)), found_diffs, found_times


def _numbers(column: pa.ChunkedArray) -> Ints:
    return np.asarray(column.to_numpy(), np.int64)


def _known(given: pa.Schema, diffs: Ints | None, times: Ints | None) -> _Known:
    schema = _with_numbers(given.remove_metadata(), diffs, times)
    coded = [place for place, type_ in enumerate(schema.types) if pa.types.is_dictionary(type_)]
    whole = any(pa.types.is_nested(type_) and _holds_dictionary(type_) for type_ in schema.types)
    return _Known(given, schema, None if coded or whole else schema.serialize(), coded, [], whole)


def _holds_dictionary(type_: pa.DataType) -> bool:
    if not pa.types.is_nested(type_):
        return bool(pa.types.is_dictionary(type_))
    return any(_holds_dictionary(each) for each in within(type_))


def _with_numbers(schema: pa.Schema, diffs: Ints | None, times: Ints | None) -> pa.Schema:
    for name, numbers in ((DIFF, diffs), (TIME, times)):
        if numbers is not None:
            schema = schema.append(pa.field(name, pa.int64(), nullable=False))
    return schema


def _numbered(
    batches: Sequence[pa.RecordBatch], schema: pa.Schema, diffs: Ints | None, times: Ints | None
) -> list[pa.RecordBatch]:
    """The batches with their part of the diffs and times."""
    numbers = [each for each in (diffs, times) if each is not None]
    if not numbers:
        return list(batches)
    made, at = [], 0
    for batch in batches:
        part = slice(at, at + batch.num_rows)
        columns = [*batch.columns, *(numbers_from(each[part]) for each in numbers)]
        made.append(pa.RecordBatch.from_arrays(columns, schema=schema))
        at = part.stop
    return made


def _whole(schema: pa.Schema, batches: Sequence[pa.RecordBatch]) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()
