"""What begins with a dot."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import pyarrow as pa

from catalog.errors import Error
from catalog.names import quoted
from catalog.schema import Table, View
from ivm.database import core_of
from ivm.result import Result, say
from ivm.shell.definitions import definition_text
from ivm.shell.files import import_file, read_changes
from ivm.shell.names import COMMANDS, MODES, USAGE
from ivm.shell.session import Command, Shell


def _tables(shell: Shell, arguments: list[str]) -> None:
    _check(".tables", arguments, 0)
    catalog = core_of(shell.db).catalog
    kinds = [(table.name, "table") for table in catalog.tables]
    kinds += [(view.name, "materialized view" if view.maintained else "view") for view in catalog.views]
    names, what = [[each[i] for each in kinds] for i in (0, 1)]
    shell.answer(Result(pa.table({"name": pa.array(names, pa.string()), "kind": pa.array(what, pa.string())})))


def _schema(shell: Shell, arguments: list[str]) -> None:
    _check(".schema", arguments, 0, 1)
    catalog = core_of(shell.db).catalog
    entries: list[Table | View] = [catalog.lookup(arguments[0])] if arguments else [*catalog.tables, *catalog.views]
    for entry in entries:
        say(definition_text(entry))


def _mode(shell: Shell, arguments: list[str]) -> None:
    _check(".mode", arguments, 0, 1)
    if not arguments:
        say(shell.mode)
        return
    if arguments[0] not in MODES:
        raise Error(f"cannot print as {arguments[0]!r}: the modes are {', '.join(MODES)}")
    shell.mode = arguments[0]


def _timer(shell: Shell, arguments: list[str]) -> None:
    _check(".timer", arguments, 1)
    if arguments[0] not in ("on", "off"):
        raise Error(f"cannot set the timer to {arguments[0]!r}: write .timer on or .timer off")
    shell.timer = arguments[0] == "on"


def _read(shell: Shell, arguments: list[str]) -> None:
    _check(".read", arguments, 1)
    shell.run_file(Path(arguments[0]).expanduser())


def _import(shell: Shell, arguments: list[str]) -> None:
    _check(".import", arguments, 2)
    path, name = Path(arguments[0]).expanduser(), arguments[1]
    start = perf_counter()
    known = core_of(shell.db).catalog
    table = name if known.find(name) is None else known.table(name)
    done = import_file(shell.db, path, table, shell.err)
    if done.created is not None:
        say(f"{done.created};")
    say(f"{done.rows:,} row{'' if done.rows == 1 else 's'} imported")
    shell.took(start)


def _apply(shell: Shell, arguments: list[str]) -> None:
    _check(".apply", arguments, 2)
    table = core_of(shell.db).catalog.table(arguments[0]).name
    rows = read_changes(Path(arguments[1]).expanduser(), _schema_of(shell, table))
    start = perf_counter()
    shell.db.apply({table: rows})
    say(f"{rows.num_rows:,} row{'' if rows.num_rows == 1 else 's'} applied")
    shell.took(start)


def _schema_of(shell: Shell, table: str) -> pa.Schema:
    return shell.db.sql(f"SELECT * FROM {quoted(table)} LIMIT 0").schema


def _verify(shell: Shell, arguments: list[str]) -> None:
    _check(".verify", arguments, 0)
    start = perf_counter()
    shell.db.verify()
    say("every view equals DuckDB")
    shell.took(start)


def _help(_: Shell, arguments: list[str]) -> None:
    _check(".help", arguments, 0)
    width = max(map(len, (each.usage for each in COMMANDS)))
    say("End a statement with a semicolon.\n" + "\n".join(f"{each.usage:<{width}}  {each.help}" for each in COMMANDS))


def _check(name: str, arguments: list[str], *counts: int) -> None:
    if len(arguments) not in counts:
        raise Error(f"cannot run {name} with {len(arguments)} arguments: write {USAGE[name]}")


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
