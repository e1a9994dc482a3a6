"""What begins with a dot, the files that some of it reads rows from, and a shell that has all of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import duckdb
import pyarrow as pa
from rich.console import Console

import ivm
from ivm.catalog.errors import Error
from ivm.catalog.keywords import quoted_if_needed
from ivm.catalog.names import as_literal, key, quoted
from ivm.catalog.schema import Table, View
from ivm.duck import Use, connection
from ivm.progress import A_MOMENT, opening, progress
from ivm.results.result import Result, say, table_of
from ivm.session.database import Database
from ivm.shell.definitions import comment_texts, whole_text
from ivm.shell.names import COMMANDS, MODES
from ivm.shell.session import Command, Shell

_AT_ONCE = 100_000
_PACKED = (".gz", ".zst")
_READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".txt": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}


def _tables(shell: Shell, _: list[str]) -> None:
    kinds = [(table.name, "table") for table in shell.catalog.tables]
    kinds += [(view.name, "materialized view" if view.maintained else "view") for view in shell.catalog.views]
    shell.answer(Result(table_of(kinds, name=pa.string(), kind=pa.string())))


def _schema(shell: Shell, arguments: list[str]) -> None:
    catalog = shell.catalog
    named = shell.named
    entries: list[Table | View] = [*catalog.tables, *catalog.views]
    for name in () if arguments else catalog.schemas:
        say(f"CREATE SCHEMA {quoted_if_needed(name)};")
    for entry in [catalog.lookup(named(arguments[0]))] if arguments else entries:
        for text in (whole_text(entry, catalog), *comment_texts(catalog, entry)):
            say(text)


def _mode(shell: Shell, arguments: list[str]) -> None:
    if not arguments:
        say(shell.mode)
        return
    if arguments[0] not in MODES:
        raise Error(f"cannot print as {arguments[0]!r}: the modes are {', '.join(MODES)}")
    shell.mode = arguments[0]


def _timer(shell: Shell, arguments: list[str]) -> None:
    if arguments[0] not in ("on", "off"):
        raise Error(f"cannot set the timer to {arguments[0]!r}: write .timer on or .timer off")
    shell.timer = arguments[0] == "on"


def _read(shell: Shell, arguments: list[str]) -> None:
    shell.run_file(_path(arguments[0]))


def _import(shell: Shell, arguments: list[str]) -> None:
    path, name = _path(arguments[0]), arguments[1]
    start = perf_counter()
    table = name if shell.catalog.find(name) is None else shell.catalog.table(name)
    rows, created = _import_file(shell.db, path, table, shell.err)
    if created is not None:
        say(f"{created};")
    say(f"{rows:,} row{'' if rows == 1 else 's'} imported")
    shell.took(start)


def _apply(shell: Shell, arguments: list[str]) -> None:
    table = shell.catalog.table(shell.named(arguments[0]))
    rows = _read_changes(_path(arguments[1]), table)
    start = perf_counter()
    shell.db.apply({arguments[0]: rows})
    say(f"{rows.num_rows:,} row{'' if rows.num_rows == 1 else 's'} applied")
    shell.took(start)


def _verify(shell: Shell, _: list[str]) -> None:
    start = perf_counter()
    unchecked = [each for each in shell.db.verify() if each.unchecked]
    say("every other view equals DuckDB" if unchecked else "every view equals DuckDB")
    for each in unchecked:
        say(f"{each.view} could not be checked: {each.unchecked}")
    shell.took(start)


def _help(shell: Shell, arguments: list[str]) -> None:
    width = max(map(len, (each.usage for each in COMMANDS)))
    say("End a statement with a semicolon.\n" + "\n".join(f"{each.usage:<{width}}  {each.help}" for each in COMMANDS))


RUN: dict[str, Command] = {
    ".tables": _tables,
    ".schema": _schema,
    ".mode": _mode,
    ".timer": _timer,
    ".read": _read,
    ".import": _import,
    ".apply": _apply,
    ".verify": _verify,
    ".help": _help,
}


def new_shell(path: Path | None, *, read_only: bool, external_access: bool, is_typed: bool) -> Shell:
    """A shell over the database in a directory, or an empty one in memory."""
    err = Console(stderr=True)
    with progress(err, "", after=A_MOMENT) as tell:
        db = ivm.connect(path, read_only=read_only, external_access=external_access, progress=opening(tell))
    return Shell(db, err, RUN, is_typed=is_typed)


def _import_file(db: Database, path: Path, table: Table | str, err: Console) -> tuple[int, str | None]:
    """Insert the rows of a CSV, Parquet or JSON file at one logical time, all or none; how many there were,
    and the statement that made the table, if there was none.

    Fields are found by name (of CSV the first line has the names) and read as the types of the table's columns. A table
    that is given by name only does not exist, and is made with the file's columns and the types that DuckDB finds in
    it. The file is read in batches; `err` shows how many rows there were so far, if it is a terminal. Raises Error if
    the file cannot be read, or its rows do not fit the table; nothing is changed then.
    """
    with _reading(path, "import") as (duck, call):
        if isinstance(table, Table):
            return _insert(db, duck, _typed(duck, call, _types(table)), table.name, err), None
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in _columns_of(duck, call).items())
        created = f"CREATE TABLE {quoted(table)} ({columns})"
        db.sql(created)
        try:
            return _insert(db, duck, f"SELECT * FROM {call})", table, err), created
        except BaseException:
            db.sql(f"DROP TABLE {quoted(table)}")
            raise


def _read_changes(path: Path, table: Table) -> pa.Table:
    """The rows of such a file as changes of a table: its columns, `_time` and `_diff`, those that there are."""
    with _reading(path, "apply") as (duck, call):
        types = {**_types(table), "_time": "BIGINT", "_diff": "BIGINT"}
        return duck.sql(_typed(duck, call, types)).to_arrow_table()


@contextmanager
def _reading(path: Path, what: str) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
    """A connection, and the call that reads a file on it, open for more arguments."""
    suffix = Path(path.stem).suffix if path.suffix in _PACKED else path.suffix
    if suffix.lower() not in _READERS:
        raise Error(
            f"cannot {what} {path}: its name must end in {', '.join(_READERS)}, or one of these and .gz or .zst"
        )
    if not path.is_file():
        raise Error(f"cannot {what} {path}: there is no such file")
    call = _READERS[suffix.lower()]
    try:
        with connection(Use.OPEN) as duck:
            yield duck, f"{call}({as_literal(str(path))}{', header = true' if call == 'read_csv' else ''}"
    except duckdb.Error as error:
        raise Error(f"cannot {what} {path}: {error}") from error


def _path(written: str) -> Path:
    try:
        return Path(written).expanduser()
    except (RuntimeError, ValueError) as error:
        raise Error(f"cannot read {written}: {error}") from error


def _types(table: Table) -> dict[str, str]:
    return {key(field.name): str(field.type) for field in table.fields}


def _columns_of(duck: duckdb.DuckDBPyConnection, call: str) -> dict[str, str]:
    relation = duck.sql(f"SELECT * FROM {call}) LIMIT 0")
    return {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}


def _typed(duck: duckdb.DuckDBPyConnection, call: str, types: dict[str, str]) -> str:
    """The query that reads a file's columns as these types, by the keys of their names: no text is first taken for
    anything else.
    """
    found = _columns_of(duck, call)
    wanted = {name: types[key(name)] for name in found if key(name) in types}
    told = {"read_csv": wanted, "read_json": {**found, **wanted}}.get(call.partition("(")[0])
    if told:
        argument = "types" if call.startswith("read_csv") else "columns"
        call += (
            f", {argument} = {{{', '.join(f'{as_literal(name)}: {as_literal(kind)}' for name, kind in told.items())}}}"
        )
    columns = [f"CAST({quoted(n)} AS {wanted[n]}) AS {quoted(n)}" if n in wanted else quoted(n) for n in found]
    return f"SELECT {', '.join(columns)} FROM {call})"


def _insert(db: Database, duck: duckdb.DuckDBPyConnection, query: str, table: str, err: Console) -> int:
    rows = 0
    with progress(err, after=A_MOMENT) as tell, db.transaction() as tx:
        for batch in duck.sql(query).to_arrow_reader(_AT_ONCE):
            tx.insert(table, batch)
            rows += batch.num_rows
            tell(f"{rows:,} rows read", 0, 0)
    return rows
