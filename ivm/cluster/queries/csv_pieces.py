"""A large CSV file in pieces, which many read side by side, each by DuckDB as one would read all of it.

A piece is read behind the file's head: so many lines that DuckDB finds out by them how the file is written, as it does
by the whole. It is cut behind a line. That this is no line within quotes is seen when the piece before the cut is read,
which begins where a row does: DuckDB refuses a file that ends within quotes. So if no piece is refused, each begins
where a row does, the first one because the file does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import NamedTuple

import duckdb

from ivm.cluster.protocol.terms import Unlike
from ivm.cluster.queries.file_queries import FileQuery, as_list
from ivm.spill import spill_directory

_LINES = 24_000
_ROWS = 11 * 2048
"""So many lines a head has, and rows at least: DuckDB looks at 20,480 rows."""
_MOST_HEAD = 1 << 24
_WINDOW = 1 << 16
"""So many bytes behind where a cut should be it is looked for."""
_TIMES = 4
"""So many times its head has a piece at least."""
_WHOLE = frozenset(
    {
        "all_varchar", "auto_detect", "column_types", "columns", "dateformat", "decimal_separator", "delim",
        "delimiter", "dtypes", "header", "names", "nullstr", "quote", "sep", "timestampformat", "types",
    }
)  # fmt: skip
"""The options of which each line is read by itself, and which do not change how many lines DuckDB looks at."""
_NO_ENDS = b"\n\\'"
"""What a line in front of a cut does not end with: it might be empty, or take its end for a sign of the text."""


class Piece(NamedTuple):
    """The bytes of a file from `begin` to `end`, and its head: so many bytes, with so many rows."""

    head: int
    rows: int
    begin: int
    end: int
    has_returns: bool


def pieces_of(duck: duckdb.DuckDBPyConnection, query: FileQuery, size: int, most: int) -> list[Piece]:
    """The pieces, of some `most` bytes each, of the one file of a query; none where it is not to be cut.

    Cost: the head is read, and some bytes around each cut.
    """
    (name,) = query.paths
    if query.is_parquet or not query.names <= _WHOLE or "=" in name or name.endswith((".gz", ".zst")):
        return []
    try:
        with open(name, "rb") as file:
            head = _head(file.read(min(_MOST_HEAD, size // _TIMES)))
            if not head:
                return []
            with _beside(name) as path:
                with open(path, "wb") as out:
                    out.write(head)
                ((rows,),) = duck.execute(f"SELECT count(*) FROM {scan_of_piece(query, path)}").fetchall()
            if rows < _ROWS:
                return []
            ends = [*_cuts(file.fileno(), size, max(most, _TIMES * len(head))), size]
    except OSError:
        return []
    has_returns = b"\r" in head
    found = [Piece(len(head), rows, a, b, has_returns) for a, b in zip([0, *ends], ends, strict=False)]
    return found if len(found) > 1 else []


def text_of_piece(query: FileQuery, piece: Piece, path: str) -> str:
    """The query over the rows of a piece, which `written` has put behind its head at a path."""
    skipped = piece.rows if piece.begin else 0
    return query.over(f"(SELECT * FROM {scan_of_piece(query, path)} OFFSET {skipped})")


@contextmanager
def written(name: str, piece: Piece) -> Iterator[str]:
    """The path of a file that has a piece behind its head; it goes afterwards. Unlike for lines that end otherwise than
    the head's.
    """
    with _beside(name) as path:
        with open(name, "rb") as file, open(path, "wb") as out:
            if piece.begin:
                out.write(file.read(piece.head))
            file.seek(piece.begin)
            data = file.read(piece.end - piece.begin)
            if _has_returns(data) is not piece.has_returns:
                raise Unlike("lines of a file end in several ways")
            out.write(data)
        yield path


def scan_of_piece(query: FileQuery, path: str) -> str:
    """What reads all rows of the file at a path."""
    return f"{query.reader}({as_list([path])}{query.options})"


@contextmanager
def _beside(name: str) -> Iterator[str]:
    """A path for a file that is called as another is; it goes afterwards."""
    with TemporaryDirectory(prefix="ivm-", dir=spill_directory() or None) as folder:
        yield os.path.join(folder, os.path.basename(name))


def _head(data: bytes) -> bytes:
    """The first lines of a file that begins so; none where these are not so many, or end in several ways."""
    end = -1
    for _ in range(_LINES):
        end = data.find(b"\n", end + 1)
        if end < 0:
            return b""
    while not _is_cut(data[max(end - 2, 0) : end]):
        end = data.find(b"\n", end + 1)
        if end < 0:
            return b""
    head = data[: end + 1]
    return b"" if _has_returns(head) is None else head


def _has_returns(data: bytes) -> bool | None:
    """Whether lines end with CR and LF, or with LF alone; None: both, or something else."""
    returns = data.count(b"\r")
    if not returns:
        return False
    return True if returns == data.count(b"\r\n") == data.count(b"\n") else None


def _is_cut(before: bytes) -> bool:
    """Whether a file may be cut behind the end of a line, in front of which these bytes are."""
    before = before.removesuffix(b"\r")
    return bool(before) and before[-1] not in _NO_ENDS


def _cuts(file: int, size: int, most: int) -> Iterator[int]:
    """Where the pieces of a file end, but for the last one."""
    for wanted in range(most, size - most // 2, most):
        data = os.pread(file, _WINDOW, wanted)
        at = data.find(b"\n", 1)
        while at > 0:
            if _is_cut(data[max(at - 2, 0) : at]):
                yield wanted + at + 1
                break
            at = data.find(b"\n", at + 1)
