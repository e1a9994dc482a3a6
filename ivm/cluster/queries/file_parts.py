"""A query over files in parts, which many read side by side, each by DuckDB as one would read all of it: files, rows of
a Parquet file, or pieces of a CSV file (`ivm.cluster.queries.csv_pieces`).

What a reader does with one file depends on others: the first ones say what columns there are, and how CSV is written.
So each part names these too. Whether they are the same where it is read, and were not changed meanwhile, is looked at
there: by their sizes, their times, and the columns that DuckDB finds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from ivm.catalog.names import as_literal, quoted
from ivm.cluster.files.files import fresh
from ivm.cluster.protocol.terms import Unlike
from ivm.cluster.queries.csv_pieces import Piece, pieces_of, scan_of_piece, text_of_piece, written
from ivm.cluster.queries.file_queries import FILE, FileQuery, as_list, file_query
from ivm.duck import Use, answer, batches, connection, told

_LEADING = 64
"""So many files DuckDB may look at before it reads a row."""
_LEAST_BYTES, _MOST_BYTES = 1 << 20, 1 << 27
"""Of files in a part, but for the last; a row group that has more is read whole, and so is one of several CSV files."""


@dataclass(frozen=True)
class FileParts:
    """The parts of a query over files: what `rows` is told of each. `bytes` is the size of the files.

    `paths`: what the query calls the files; a table may be called so too.
    """

    arguments: Sequence[bytes]
    bytes: int
    paths: Sequence[str]


class _File(NamedTuple):
    name: str
    bytes: int
    modified: int


class _Part(NamedTuple):
    """Rows to read: those of some files, or of one from a row to another."""

    files: Sequence[_File]
    condition: str


def parts_of(text: str, readers: int) -> FileParts | None:
    """The parts of a query, a few for each of so many readers; None if it is none over files, or cannot be read so.

    Cost: all files are listed; the first ones are looked at, and of Parquet all footers.
    """
    query = file_query(text)
    if query is None or not query.paths:
        return None
    written, query = query.paths, _anywhere(query)
    if query is None:
        return None
    try:
        with connection(Use.OPEN) as duck:
            files = _listed(duck, query)
            if not files or _columns(duck, text) != _columns(duck, query.text([each.name for each in files])):
                return None
            size = sum(each.bytes for each in files)
            most = min(max(size // (2 * readers), _LEAST_BYTES), _MOST_BYTES)
            columns = _columns(duck, f"SELECT * FROM {query.scan([each.name for each in files])}")
            large = [each.name for each in files if each.bytes > most] if _has_numbers(query, columns) else []
            ends = _group_ends(duck, large)
            pieces = pieces_of(duck, query._replace(paths=(files[0].name,)), size, most) if len(files) == 1 else ()
            found = [_argument_of_piece(query, columns, files[0], piece) for piece in pieces] or [
                _argument(query, columns, files, part) for part in _parts(files, ends, most)
            ]
    except duckdb.Error:
        return None
    return FileParts(found, size, written)


def columns_of(query: str) -> list[str] | None:
    """The names of the columns of a query over files; None where DuckDB refuses it."""
    try:
        with connection(Use.OPEN) as duck:
            return [name for name, _ in _columns(duck, query)]
    except duckdb.Error:
        return None


def rows(argument: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """The rows of a part. Unlike where its files are others than those there were, or cannot be reached here; what
    is wrong with a row is told as `told` has it.
    """
    try:
        with connection(Use.PART) as duck:
            files = [_File(*each) for each in argument["files"]]
            if argument["duckdb"] != duckdb.__version__:
                raise Unlike(f"DuckDB is {duckdb.__version__} here, and {argument['duckdb']} where the parts were made")
            if _seen(duck, [each.name for each in files]) != {each.name: each for each in files}:
                raise Unlike("the files are not those that the parts are of")
            if argument["scan"] and _columns(duck, argument["scan"]) != argument["columns"]:
                raise Unlike("the files do not say the same by themselves")
            if argument["piece"] is None:
                yield from _read(duck, argument["query"])
                return
            with written(files[0].name, Piece(*argument["piece"])) as path:
                query, scan = (
                    argument[name].replace(argument["path"], as_literal(path)) for name in ("query", "whole")
                )
                if _columns(duck, scan) != argument["columns"]:
                    raise Unlike("a piece of a file does not say the same by itself")
                # What is wrong with a row is told by whoever reads all of them, who knows where it is.
                for each in batches(duck, query):
                    yield from each.to_batches()
    except duckdb.Error as error:
        raise Unlike(f"cannot read files here: {error}") from error


def _read(duck: duckdb.DuckDBPyConnection, query: str) -> Iterator[pa.RecordBatch]:
    try:
        for each in batches(duck, query):
            yield from each.to_batches()
    except (duckdb.DataError, duckdb.ProgrammingError) as error:
        raise told(error, Use.PART) from error


def _anywhere(query: FileQuery) -> FileQuery | None:
    """With names that mean the same wherever they are used; None where they cannot."""
    paths = [path if "://" in path else os.path.abspath(path) for path in query.paths]
    if any(path.startswith("~") for path in query.paths) or ("=" in os.getcwd() and paths != list(query.paths)):
        return None  # what is a home elsewhere; and columns that are read from folders
    return query._replace(paths=tuple(paths))


def _listed(duck: duckdb.DuckDBPyConnection, query: FileQuery) -> list[_File]:
    """The files of a query, each once, in the order in which they are read; none where some name is a pattern again."""
    if query.is_parquet:
        found = duck.sql(f"SELECT file_name FROM parquet_file_metadata({as_list(query.paths)})").fetchall()
    else:
        found = duck.sql(f"SELECT file FROM glob({as_list(query.paths)})").fetchall()
    names = [name for (name,) in found]
    seen = _seen(duck, names)
    if set(seen) != set(names) or any(set(name) & set("*?[") for name in names) or len(seen) < len(names):
        return []
    return [seen[name] for name in names]


def _seen(duck: duckdb.DuckDBPyConnection, names: Sequence[str]) -> dict[str, _File]:
    if not names:
        return {}
    text = f"SELECT filename, size, epoch_us(last_modified) FROM read_blob({as_list(names)})"
    return {name: _File(name, size, modified) for name, size, modified in duck.sql(text).fetchall()}


def _columns(duck: duckdb.DuckDBPyConnection, text: str) -> list[list[str]]:
    """The names and types of a query's columns."""
    found = answer(duck, f"DESCRIBE {text}")
    return [
        list(each) for each in zip(*(found[name].to_pylist() for name in ("column_name", "column_type")), strict=True)
    ]


def _has_numbers(query: FileQuery, columns: Sequence[Sequence[str]]) -> bool:
    """Whether the rows of a file have numbers, and no column of it is called so."""
    return query.is_parquet and all(name.lower() != "file_row_number" for name, _ in columns)


def _parts(files: Sequence[_File], ends: Mapping[str, Sequence[int]], most: int) -> Iterator[_Part]:
    """Parts of so many bytes: files whose rows have `ends` by these, others whole, several together."""
    waiting, size = list[_File](), 0
    for each in files:
        if each.name in ends:
            yield from _by_rows(each, ends[each.name], most)
            continue
        waiting.append(each)
        size += each.bytes
        if size >= most:
            yield _Part(waiting, "true")
            waiting, size = [], 0
    if waiting:
        yield _Part(waiting, "true")


def _by_rows(file: _File, ends: Sequence[int], most: int) -> Iterator[_Part]:
    begin, bytes_per_row = 0, file.bytes / max(ends[-1], 1)
    for end in ends:
        if end == ends[-1] or (end - begin) * bytes_per_row >= most:
            yield _Part([file], f"file_row_number >= {begin} AND file_row_number < {end}")
            begin = end


def _group_ends(duck: duckdb.DuckDBPyConnection, names: Sequence[str]) -> dict[str, list[int]]:
    """Of each file after which of its rows a row group ends."""
    found: dict[str, list[int]] = {}
    if names:
        text = (
            "SELECT file_name, row_group_id, any_value(row_group_num_rows) "
            f"FROM parquet_metadata({as_list(names)}) GROUP BY ALL ORDER BY ALL"
        )
        for name, _, count in duck.sql(text).fetchall():
            ends = found.setdefault(name, [])
            ends.append(count + (ends[-1] if ends else 0))
    return found


def _argument(query: FileQuery, columns: list[list[str]], all_files: Sequence[_File], part: _Part) -> bytes:
    """What `rows` is told of a part. What some of the files say need not be looked at where all are named."""
    files = list({each.name: each for each in (*all_files[:_LEADING], *part.files)}.values())
    names, wanted = [each.name for each in files], [each.name for each in part.files]
    condition = f"{quoted(FILE)} IN ({', '.join(map(as_literal, wanted))}) AND {part.condition}"
    said = {
        "duckdb": duckdb.__version__,
        "files": files,
        "scan": f"SELECT * FROM {query.scan(names)}" if len(files) < len(all_files) else "",
        "columns": columns,
        "query": query.text(names, condition),
        "piece": None,
    }
    return json.dumps(said).encode()


def _argument_of_piece(query: FileQuery, columns: list[list[str]], file: _File, piece: Piece) -> bytes:
    """What `rows` is told of a piece of the only file. Its path is put in the place of another where it is read."""
    path = fresh()
    said = {
        "duckdb": duckdb.__version__,
        "files": [file],
        "scan": "",
        "whole": f"SELECT * FROM {scan_of_piece(query, path)}",
        "columns": [each for each in columns if each[0] != FILE],
        "query": text_of_piece(query, piece, path),
        "piece": piece,
        "path": as_literal(path),
    }
    return json.dumps(said).encode()
