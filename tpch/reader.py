"""Read a stream directory: check it, then hand out physical batches of consecutive logical times, decoded ahead."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ivm.tpch import manifest
from ivm.tpch.errors import StreamError
from ivm.tpch.manifest import Entry, File, Manifest
from ivm.tpch.schema import DIFF, TIME, relations, update_columns
from ivm.trace.columns.in_place import narrow

_AHEAD = 4
_NEARLY_ALL = 0.9
_MOST_SHORT = {pa.int64().id: 2**31 - 1, pa.decimal128(1).id: 10**9 - 1}
"""How far from zero the values of a type may be that take 4 bytes."""


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """The changes of the times [first_time, last_time], by relation; a relation without changes is left out.

    The tables have the relation's columns and, unless the batch was coalesced, `_time`; `_diff` is left out only of
    coalesced tables that have none but inserts. Text columns of few values come as Arrow dictionaries, BIGINT and
    decimals whose values all fit there in 4 bytes.
    `decode_seconds` is what reading and decoding took, on the thread that did it.
    """

    first_time: int
    last_time: int
    tables: dict[str, pa.Table]
    decode_seconds: float

    @property
    def rows(self) -> int:
        """The number of changes."""
        return sum(table.num_rows for table in self.tables.values())


@dataclass(frozen=True)
class Stream:
    """A checked stream directory. Make one with `open_stream`."""

    directory: Path
    manifest: Manifest

    @cached_property
    def dictionaries(self) -> dict[str, tuple[str, ...]]:
        """By relation, the text columns that are read as Arrow dictionaries, since the files hold them so."""
        return {name: _dictionary_columns(footers, relations()[name].schema) for name, footers in self._footers.items()}

    @cached_property
    def shorts(self) -> dict[str, frozenset[str]]:
        """By relation, the columns that are read with 4 bytes a value, since the files say that all values fit."""
        return {name: short_columns(footers, relations()[name].schema) for name, footers in self._footers.items()}

    @cached_property
    def _footers(self) -> dict[str, list[pq.FileMetaData]]:
        """By relation, what its files say of themselves."""
        return {
            name: [pq.read_metadata(self.directory / file.path) for file in (*entry.base, *entry.changes)]
            for name, entry in self.manifest.relations.items()
        }

    def base(self, wanted: Sequence[str] | None = None) -> dict[str, pa.Table]:
        """The base snapshot of the relations `wanted` (default: all), whole, without `_time` and `_diff`.

        Empty if the stream starts from nothing. Cost: all of it in memory, about 2 GB at scale factor 1.
        """
        found = {}
        for name, entry in self._entries(wanted).items():
            if entry.base:
                groups = _row_groups(self.directory, entry.base, self.dictionaries[name], self.shorts[name])
                found[name] = pa.concat_tables(table.select(relations()[name].columns) for _, table in groups)
        return found

    def batches(
        self,
        times: int,
        wanted: Sequence[str] | None = None,
        coalesce: bool = False,
        ahead: bool = True,
        after: int = 0,
        alone: range = range(0),
    ) -> Iterator[StreamBatch]:
        """The changes in physical batches of `times` consecutive logical times across the relations `wanted`.

        Those of times up to `after` are left out; they are decoded all the same. Each of the times `alone` is a batch.
        `coalesce` makes each batch one logical time, by leaving `_time` out. With `ahead` a thread decodes a few
        batches ahead; it ends with the iterator. Without, each is decoded when it is asked for, so that nothing else
        runs while it is used. Raises StreamError if a file turns out to be damaged, ValueError if times < 1.
        Cost: decoding, on the other thread; cutting a batch costs no copy.
        """
        if times < 1:
            raise ValueError(f"a batch of {times} logical times is empty; give at least 1")
        decoded = self._decoded(self._cuts(times, after, alone), wanted, coalesce, after)
        return _ahead(decoded) if ahead else decoded

    def _cuts(self, times: int, after: int, alone: range) -> Iterator[tuple[int, int]]:
        """The first and the last time of each batch."""
        first, end = max(self.manifest.first_time, after + 1), self.manifest.last_time
        while first <= end:
            most = first if first in alone else alone.start - 1 if first < alone.start else end
            last = min(first + times - 1, most, end)
            yield first, last
            first = last + 1

    def _decoded(
        self, cuts: Iterator[tuple[int, int]], wanted: Sequence[str] | None, coalesce: bool, after: int
    ) -> Iterator[StreamBatch]:
        entries = self._entries(wanted)
        cursors = {
            name: _Cursor(_row_groups(self.directory, entry.changes, self.dictionaries[name], self.shorts[name]))
            for name, entry in entries.items()
        }
        for cursor in cursors.values():
            cursor.skip_until(after)
        for first, last in cuts:
            started = time.perf_counter()
            tables: dict[str, pa.Table] = {}
            for name, cursor in cursors.items():
                table = cursor.take_until(last)
                if table is not None:
                    tables[name] = _coalesced(table, entries[name]) if coalesce else table
            yield StreamBatch(first, last, tables, time.perf_counter() - started)

    def _entries(self, wanted: Sequence[str] | None) -> dict[str, Entry]:
        if wanted is None:
            return self.manifest.relations
        return {name: self.manifest.relations[name] for name in wanted}


def open_stream(directory: Path) -> Stream:
    """Open a stream directory after checking every file against the manifest.

    Raises StreamError, naming the file, if the manifest is missing, damaged, of another format or of other relations,
    or if a file is missing, truncated, or has other columns or rows than the manifest says. Cost: the footer of each
    file.
    """
    found = manifest.read(directory)
    for name, relation in relations().items():
        entry = found.relations.get(name)
        expected = update_columns(relation)
        if entry is None or entry.columns != expected:
            raise StreamError(
                f"the manifest of {directory} does not have the columns of {name} that TPC-H declares; "
                f"generate the stream again"
            )
        for file in (*entry.base, *entry.changes):
            _check_file(directory, file, expected)
    return Stream(directory, found)


def _coalesced(table: pa.Table, entry: Entry) -> pa.Table:
    return table.drop_columns([TIME, DIFF] if entry.append_only else [TIME])


def _ahead(batches: Iterator[StreamBatch]) -> Iterator[StreamBatch]:
    """The same batches, made by another thread up to a few ahead of their use."""
    with ThreadPoolExecutor(1, "tpch-reader") as reader:
        made = deque(reader.submit(next, batches, None) for _ in range(_AHEAD))
        try:
            while (batch := made.popleft().result()) is not None:
                made.append(reader.submit(next, batches, None))
                yield batch
        finally:
            reader.shutdown(cancel_futures=True)


class _Cursor:
    """Reads the files of one relation in order of time, one row group at a time: see `_row_groups`."""

    def __init__(self, groups: Iterator[tuple[Path, pa.Table]]) -> None:
        self._groups = groups
        self._table: pa.Table | None = None
        self._times = np.empty(0, np.int64)
        self._at = 0

    def take_until(self, last: int) -> pa.Table | None:
        """The rows not yet taken whose time is at most `last`, each column in one piece; None if there are none.

        Rows of several row groups are put together here, which is part of decoding; others are not copied. Raises
        StreamError if the times in the files are not in order.
        """
        taken: list[pa.Table] = []
        while self._table is not None or self._advance():
            assert self._table is not None
            end = int(np.searchsorted(self._times, last, side="right"))
            if end > self._at:
                taken.append(self._table.slice(self._at, end - self._at))
                self._at = end
            if end < len(self._times):
                break
            self._table = None
        if not taken:
            return None
        return taken[0] if len(taken) == 1 else pa.concat_tables(taken).unify_dictionaries().combine_chunks()

    def skip_until(self, last: int) -> None:
        """Leave out the rows whose time is at most `last`, of which none was taken yet."""
        while last > 0 and (self._table is not None or self._advance()):
            self._at = int(np.searchsorted(self._times, last, side="right"))
            if self._at < len(self._times):
                return
            self._table = None

    def _advance(self) -> bool:
        found = next(self._groups, None)
        if found is None:
            return False
        path, self._table = found
        times = self._table[TIME].to_numpy()
        before = int(self._times[-1]) if len(self._times) else int(times[0])
        if times[0] < before or np.any(times[1:] < times[:-1]):
            raise StreamError(f"{path}: its rows are not in order of time; generate the stream again")
        self._times, self._at = times, 0
        return True


def _row_groups(
    directory: Path, files: Sequence[File], dictionaries: Sequence[str], shorts: Collection[str]
) -> Iterator[tuple[Path, pa.Table]]:
    """The row groups of `files`, in order, as tables of one schema whose columns are not nullable.

    The columns `dictionaries` are read as Arrow dictionaries, the values of `shorts` take 4 bytes.
    """
    for file in files:
        path = directory / file.path
        try:
            with pq.ParquetFile(path, read_dictionary=list(dictionaries)) as parquet:
                for group in range(parquet.num_row_groups):
                    # One thread: this runs beside the engine, which the other cores belong to.
                    table = parquet.read_row_group(group, use_threads=False)
                    yield path, _narrowed(table, shorts)
        except (OSError, pa.ArrowException) as error:
            raise StreamError(f"{path} cannot be decoded: {error}; generate the stream again") from None


def _narrowed(table: pa.Table, shorts: Collection[str]) -> pa.Table:
    """The table, its decimals and dictionaries in the least bytes; no column is nullable."""
    names = table.column_names
    columns = [
        pa.chunked_array([narrow(chunk, short=name in shorts) for chunk in column.chunks])
        for name, column in zip(names, table.columns, strict=True)
    ]
    fields = [pa.field(name, column.type, nullable=False) for name, column in zip(names, columns, strict=True)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _check_file(directory: Path, file: File, columns: Sequence[tuple[str, str]]) -> None:
    """Raise StreamError unless `file` has the size, rows and columns (name, Arrow type) that the manifest says."""
    path = directory / file.path
    try:
        size = path.stat().st_size
    except OSError:
        raise StreamError(f"{path} is missing although the manifest lists it; generate the stream again") from None
    if size != file.bytes:
        raise StreamError(
            f"{path} has {size} bytes, the manifest says {file.bytes}: it is truncated or was replaced; "
            f"generate the stream again"
        )
    try:
        schema, rows = pq.read_schema(path), pq.read_metadata(path).num_rows
    except (OSError, pa.ArrowException) as error:
        raise StreamError(f"{path} is not a readable Parquet file: {error}; generate the stream again") from None
    if rows != file.rows:
        raise StreamError(f"{path} has {rows} rows, the manifest says {file.rows}; generate the stream again")
    found = [(column.name, str(column.type)) for column in schema]
    if found != list(columns):
        wrong = next((pair for pair in found if pair not in columns), "a missing column")
        raise StreamError(f"{path} does not have the columns that the manifest says (see {wrong}); generate it again")


def _dictionary_columns(footers: Sequence[pq.FileMetaData], schema: pa.Schema) -> tuple[str, ...]:
    """The text columns of `schema` that are dictionary-encoded in nearly all of the rows of the files.

    Those few chunks that are not (a writer does without a dictionary where a chunk is too small for one to pay) are
    encoded while they are read.
    """
    rows = sum(meta.num_rows for meta in footers)
    return tuple(
        column.name
        for position, column in enumerate(schema)
        if pa.types.is_string(column.type)
        and sum(_encoded_rows(meta, position) for meta in footers) > _NEARLY_ALL * rows
    )


def short_columns(footers: Sequence[pq.FileMetaData], schema: pa.Schema) -> frozenset[str]:
    """The columns of int64 or decimals of which the footers of files say that all values fit into 4 bytes."""
    groups = [meta.row_group(group) for meta in footers for group in range(meta.num_row_groups)]
    return frozenset(
        column.name
        for place, column in enumerate(schema)
        if (most := _MOST_SHORT.get(column.type.id)) and all(_is_within(group.column(place), most) for group in groups)
    )


def _is_within(column: pq.ColumnChunkMetaData, most: int) -> bool:
    told = column.statistics
    if told is None or not told.has_min_max:
        return False
    return all(_whole(value) <= most for value in (told.min, told.max))


def _whole(value: int | Decimal) -> int:
    """How far from zero the integer is by which a number is stored."""
    return abs(int(value if isinstance(value, int) else value.scaleb(-int(value.as_tuple().exponent))))


def _encoded_rows(meta: pq.FileMetaData, column: int) -> int:
    """The rows of the row groups in which no data page of the column is plain."""
    groups = [meta.row_group(group) for group in range(meta.num_row_groups)]
    return sum(group.num_rows for group in groups if "PLAIN" not in group.column(column).encodings)
