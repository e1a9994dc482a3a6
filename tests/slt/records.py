"""The sqllogictest format: a script as records, and back to text.

A script is records with empty lines between them; a line that begins with `#` is a comment.

    statement ok                    a statement that succeeds
    INSERT INTO t VALUES (1)

    statement error <regex>         one that fails with a message in which the regex is found
    SELECT nope FROM t

    query IT rowsort                a query, the types of its columns (I integer, R other number, T anything else), how
    SELECT a, b FROM v              its rows are sorted before they are compared (nosort, rowsort, valuesort), a label
    ----
    1<tab>x                         its rows, a line each, values with tabs between

    halt                            the script ends here

Before a record may stand `skipif <engine>` and `onlyif <engine>` (ivm or duckdb), and two of our own: `params <JSON>`,
the values of its placeholders, and `dialect <name>`, the dialect that it is written in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ENGINES = ("ivm", "duckdb")
SORTS = ("nosort", "rowsort", "valuesort")


@dataclass(frozen=True, slots=True)
class Record:
    """One record. `expected` holds a query's rows as written; `error` is the regex of a statement that must fail.

    `first` and `last` are the lines (from 0, `last` excluded) at which it stands; `result` is the line at which a
    query's expected rows begin.
    """

    kind: str
    sql: str
    first: int
    last: int
    error: str | None = None
    types: str = ""
    sort: str = "nosort"
    label: str = ""
    expected: tuple[str, ...] = ()
    result: int = 0
    engines: tuple[str, ...] = ENGINES
    params: tuple[object, ...] | None = None
    dialect: str = "duckdb"


def read(path: Path) -> list[Record]:
    """The records of a file; ValueError, with the line, for what is none."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(_records(path, lines))


def _records(path: Path, lines: list[str]) -> Iterator[Record]:
    blank = Record("", "", 0, 0)
    record = blank
    at = 0
    while at < len(lines):
        words = lines[at].split()
        if not words or lines[at].startswith("#"):
            at += 1
            continue
        end = next((i for i in range(at, len(lines)) if not lines[i].strip()), len(lines))
        match words:
            case ["halt"]:
                if "ivm" in record.engines:
                    return
                at, record = at + 1, blank
            case ["skipif", engine] if engine in ENGINES:
                at, record = at + 1, replace(record, engines=tuple(e for e in record.engines if e != engine))
            case ["onlyif", engine] if engine in ENGINES:
                at, record = at + 1, replace(record, engines=(engine,))
            case ["dialect", name]:
                at, record = at + 1, replace(record, dialect=name)
            case ["params", *_]:
                params = tuple(json.loads(lines[at].removeprefix("params")))
                at, record = at + 1, replace(record, params=params)
            case ["statement", "ok"]:
                sql = "\n".join(lines[at + 1 : end])
                yield replace(record, kind="statement", sql=sql, first=at, last=end)
                at, record = end, blank
            case ["statement", "error", *_]:
                regex = re.sub(r"^statement\s+error\s*", "", lines[at])
                sql = "\n".join(lines[at + 1 : end])
                yield replace(record, kind="statement", sql=sql, first=at, last=end, error=regex)
                at, record = end, blank
            case ["query", *options]:
                yield _query(record, lines, at, end, options)
                at, record = end, blank
            case _:
                raise ValueError(f"{path.name}:{at + 1}: no record begins with {lines[at]!r}")


def _query(record: Record, lines: list[str], at: int, end: int, options: list[str]) -> Record:
    mark = next((i for i in range(at, end) if lines[i] == "----"), end)
    sorts = [option for option in options if option in SORTS]
    types = next((option for option in options[:1] if re.fullmatch("[ITR]+", option)), "")
    label = next((option for option in options if option not in (types, *sorts)), "")
    return replace(
        record,
        kind="query",
        sql="\n".join(lines[at + 1 : mark]),
        first=at,
        last=end,
        types=types,
        sort=sorts[0] if sorts else "nosort",
        label=label,
        expected=tuple(lines[mark + 1 : end]),
        result=mark,
    )


def rewritten(path: Path, results: dict[int, tuple[str, list[str]]]) -> str:
    """The file's text with the types and the expected rows of the queries at the lines `results` put in place."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for record in reversed(read(path)):
        if record.first in results:
            types, rows = results[record.first]
            head = " ".join(part for part in ("query", types, record.sort, record.label) if part)
            lines[record.result : record.last] = ["----", *rows]
            lines[record.first] = head
    return "\n".join(lines) + "\n"
