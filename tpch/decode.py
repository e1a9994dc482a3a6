"""The Parquet side of reading a stream: check a file, find dictionary columns, cut row groups by time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tpch.errors import StreamError
from tpch.manifest import File
from tpch.schema import TIME

_NEARLY_ALL = 0.9


class Cursor:
    """Reads the files of one relation in order of time, one row group at a time."""

    def __init__(self, directory: Path, files: Sequence[File], dictionaries: Sequence[str]) -> None:
        """Start before the first row of `files`; the columns `dictionaries` are read as Arrow dictionaries."""
        self._groups = _row_groups(directory, files, dictionaries)
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


def _row_groups(directory: Path, files: Sequence[File], dictionaries: Sequence[str]) -> Iterator[tuple[Path, pa.Table]]:
    """The row groups of `files`, in order, as tables of one schema whose columns are not nullable."""
    for file in files:
        path = directory / file.path
        try:
            with pq.ParquetFile(path, read_dictionary=list(dictionaries)) as parquet:
                schema = pa.schema([column.with_nullable(False) for column in parquet.schema_arrow])
                for group in range(parquet.num_row_groups):
                    # One thread: this runs beside the engine, which the other cores belong to.
                    table = parquet.read_row_group(group, use_threads=False)
                    yield path, pa.Table.from_arrays(table.columns, schema=schema)
        except (OSError, pa.ArrowException) as error:
            raise StreamError(f"{path} cannot be decoded: {error}; generate the stream again") from None


def read_whole(directory: Path, files: Sequence[File], columns: Sequence[str], dictionaries: Sequence[str]) -> pa.Table:
    """All rows of `files` with `columns`, in order. Raises StreamError if a file cannot be decoded."""
    return pa.concat_tables(table.select(list(columns)) for _, table in _row_groups(directory, files, dictionaries))


def check_file(directory: Path, file: File, columns: Sequence[tuple[str, str]]) -> None:
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


def dictionary_columns(directory: Path, files: Sequence[File], schema: pa.Schema) -> tuple[str, ...]:
    """The text columns of `schema` that are dictionary-encoded in nearly all of the rows of `files`.

    Those few chunks that are not (a writer does without a dictionary where a chunk is too small for one to pay) are
    encoded while they are read.
    """
    metas = [pq.read_metadata(directory / file.path) for file in files]
    rows = sum(meta.num_rows for meta in metas)
    return tuple(
        column.name
        for position, column in enumerate(schema)
        if pa.types.is_string(column.type) and sum(_encoded_rows(meta, position) for meta in metas) > _NEARLY_ALL * rows
    )


def _encoded_rows(meta: pq.FileMetaData, column: int) -> int:
    """The rows of the row groups in which no data page of the column is plain."""
    groups = [meta.row_group(group) for group in range(meta.num_row_groups)]
    return sum(group.num_rows for group in groups if "PLAIN" not in group.column(column).encodings)
