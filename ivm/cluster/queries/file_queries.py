"""Queries of which each row follows from one row of files, so that many can read them side by side.

It is proved from the query as DuckDB reads it, see `ivm.cluster.queries.of_a_row`: one scan of Parquet or CSV files,
and above it what needs no more than a row. Whatever is not known here is no such query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import duckdb

from ivm.catalog.names import as_literal, quoted
from ivm.cluster.queries.of_a_row import is_named, is_of_a_row, scans_of
from ivm.duck import Use, connection

FILE = "ivm file"
"""The column that says which file a row is of."""
_PARQUET, _CSV = ("read_parquet", "parquet_scan"), ("read_csv", "read_csv_auto")
_ENDINGS = {".parquet": _PARQUET[0], ".csv": _CSV[1]}
_OPTIONS = (
    "filename",
    "file_row_number",
    "files_to_sniff",
    "store_rejects",
    "rejects_",
    "null_padding",
    "ignore_errors",
)
"""How options begin that mean something else where a part of the files is read, or where another number of threads do;
which lines DuckDB takes for errors depends on that where files are written differently.
"""


class FileQuery(NamedTuple):
    """A query over files: its text is `before`, the scan with what it is called, `after`."""

    before: str
    reader: str
    paths: tuple[str, ...]
    options: str
    after: str
    names: frozenset[str] = frozenset()
    """Those of the options, in small letters."""

    @property
    def is_parquet(self) -> bool:
        """Whether the files are Parquet, of which each row has a number; else they are CSV."""
        return self.reader in _PARQUET

    def scan(self, files: Sequence[str]) -> str:
        """What reads all rows of files, each with its `FILE`."""
        return f"{self.reader}({as_list(files)}{self.options}, filename = {as_literal(FILE)})"

    def text(self, files: Sequence[str], condition: str = "true") -> str:
        """The query over those rows of files that satisfy a condition, which may know the `FILE` of a row."""
        rows = f"(SELECT * EXCLUDE ({quoted(FILE)}) FROM {self.scan(files)} WHERE {condition})"
        return self.over(rows)

    def over(self, rows: str) -> str:
        """The query over what reads rows in another way."""
        return f"{self.before}{rows}{self.after}"


def file_query(text: str) -> FileQuery | None:
    """The query as one over files, if each of its rows follows from one of theirs; None for any other."""
    try:
        with connection(Use.OWN) as duck:
            scans = scans_of(duck, text)
            if scans is None or len(scans) != 1:
                return None
            (reference,) = scans
            found = _taken_apart(text, reference)
            again = None if found is None else scans_of(duck, f"SELECT * FROM {found.reader}('x'{found.options})")
    except (duckdb.Error, KeyError, ValueError, IndexError):  # of another release of DuckDB
        return None
    if found is None or again is None:
        return None
    if not is_named(reference) and _bare(_options(reference)) != _bare(_options(again[0])):
        return None
    return found


def as_list(files: Sequence[str]) -> str:
    """Names of files as DuckDB's readers take them."""
    return f"[{', '.join(map(as_literal, files))}]"


def _taken_apart(text: str, reference: dict[str, Any]) -> FileQuery | None:
    data = text.encode()
    before, rest = data[: reference["query_location"]].decode(), data[reference["query_location"] :].decode()
    if is_named(reference):
        path, end = reference["table_name"], _end_of_name(rest)
        reader = next((reader for ending, reader in _ENDINGS.items() if path.lower().endswith(ending)), None)
        if reader is None or end is None:
            return None
        called = "" if reference["alias"] else f" AS {quoted(path.rpartition('/')[2].partition('.')[0])}"
        return FileQuery(before, reader, (path,), "", f"{called}{rest[end:]}")
    function = reference["function"]
    reader, first = function["function_name"], function["arguments"][0]["expression"]
    paths, end = _paths(first), _end_of_call(rest)
    if reader not in (*_PARQUET, *_CSV) or function["schema"] or paths is None or end is None:
        return None
    if not all(name and not name.startswith(_OPTIONS) for name, _ in _options(reference)):
        return None
    at = len(data[reference["query_location"] : first["query_location"] + first["query_location_length"]].decode())
    called = "" if reference["alias"] else f" AS {quoted(reader)}"
    names = frozenset(name for name, _ in _options(reference))
    return FileQuery(before, reader, paths, rest[at : end - 1], f"{called}{rest[end:]}", names)


def _paths(argument: dict[str, Any]) -> tuple[str, ...] | None:
    """The names of an argument that is text, or a list of texts."""
    if argument["class"] == "FUNCTION" and argument["function_name"] == "list_value":
        several = [_paths(each["expression"]) for each in argument["arguments"]]
        return tuple(name for each in several for name in each or ()) if all(several) else None
    if argument["class"] == "CONSTANT" and argument["literal"]["kind"] == "STRING":
        return (argument["literal"]["text"],)
    return None


def _options(reference: dict[str, Any]) -> list[tuple[str, Any]]:
    """The named arguments of a scan; of one without a name it is empty."""
    found = []
    for each in reference["function"]["arguments"][1:]:
        name, value = each["name"].lower(), each["expression"]
        if not name and value["class"] == "COMPARISON" and value["type"] == "COMPARE_EQUAL":
            left, value = value["left"], value["right"]
            name = left["column_names"][0].lower() if left["class"] == "COLUMN_REF" else ""
        found.append((name if is_of_a_row(value) else "", value))
    return found


def _bare(said: Any) -> Any:
    """The same without where in the text it is."""
    if isinstance(said, list | tuple):
        return [_bare(each) for each in said]
    if isinstance(said, dict):
        return {name: _bare(each) for name, each in said.items() if not name.startswith("query_location")}
    return said


def _marks(text: str) -> Iterator[tuple[int, str]]:
    """The characters of a text that are in no quotes, and where they are."""
    quote = ""
    for at, each in enumerate(text):
        if quote:
            quote = "" if each == quote else quote
        elif each in "'\"":
            quote = each
        else:
            yield at, each


def _end_of_call(text: str) -> int | None:
    """Where the call that a text begins with has ended."""
    depth = 0
    for at, each in _marks(text):
        depth += (each == "(") - (each == ")")
        if each == ")" and depth == 0:
            return at + 1
    return None


def _end_of_name(text: str) -> int | None:
    """Where the name in quotes that a text begins with has ended."""
    if text[:1] not in ("'", '"'):
        return None
    return next((at for at, _ in _marks(text)), len(text))
