"""Read a stream directory: check it, then hand out physical batches of consecutive logical times, decoded ahead."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from tpch import manifest
from tpch.decode import Cursor, check_file, dictionary_columns, read_whole
from tpch.errors import StreamError
from tpch.manifest import Entry, Manifest
from tpch.schema import DIFF, TIME, relations, update_columns

_AHEAD = 4


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """The changes of the times [first_time, last_time], by relation; a relation without changes is left out.

    The tables have the relation's columns and, unless the batch was coalesced, `_time`; `_diff` is left out only of
    coalesced tables that have none but inserts. Text columns of few values come as Arrow dictionaries.
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
        return {
            name: dictionary_columns(self.directory, [*entry.base, *entry.changes], relations()[name].schema)
            for name, entry in self.manifest.relations.items()
        }

    def base(self, wanted: Sequence[str] | None = None) -> dict[str, pa.Table]:
        """The base snapshot of the relations `wanted` (default: all), whole, without `_time` and `_diff`.

        Empty if the stream starts from nothing. Cost: all of it in memory, about 2 GB at scale factor 1.
        """
        return {
            name: read_whole(self.directory, entry.base, relations()[name].columns, self.dictionaries[name])
            for name, entry in self._entries(wanted).items()
            if entry.base
        }

    def batches(
        self, times: int, wanted: Sequence[str] | None = None, coalesce: bool = False, ahead: bool = True
    ) -> Iterator[StreamBatch]:
        """The changes in physical batches of `times` consecutive logical times across the relations `wanted`.

        `coalesce` makes each batch one logical time, by leaving `_time` out. With `ahead` a thread decodes a few
        batches ahead; it ends with the iterator. Without, each is decoded when it is asked for, so that nothing else
        runs while it is used. Raises StreamError if a file turns out to be damaged, ValueError if times < 1.
        Cost: decoding, on the other thread; cutting a batch costs no copy.
        """
        if times < 1:
            raise ValueError(f"a batch of {times} logical times is empty; give at least 1")
        decoded = self._decoded(times, wanted, coalesce)
        return _ahead(decoded) if ahead else decoded

    def _decoded(self, times: int, wanted: Sequence[str] | None, coalesce: bool) -> Iterator[StreamBatch]:
        entries = self._entries(wanted)
        cursors = {
            name: Cursor(self.directory, entry.changes, self.dictionaries[name]) for name, entry in entries.items()
        }
        for first in range(self.manifest.first_time, self.manifest.last_time + 1, times):
            started = time.perf_counter()
            last = min(first + times - 1, self.manifest.last_time)
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
            check_file(directory, file, expected)
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
