"""What begins with a dot, and a shell that has all of it."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import pyarrow as pa
from rich.console import Console

import ivm
from catalog.errors import Error
from catalog.schema import Table, View
from ivm.result import Result, say, table_of
from ivm.shell.definitions import definition_text
from ivm.shell.files import import_file, read_changes
from ivm.shell.names import COMMANDS, MODES
from ivm.shell.session import Command, Shell


def _tables(shell: Shell, _: list[str]) -> None:
    kinds = [(table.name, "table") for table in shell.catalog.tables]
    kinds += [(view.name, "materialized view" if view.maintained else "view") for view in shell.catalog.views]
    shell.answer(Result(table_of(kinds, name=pa.string(), kind=pa.string())))


def _schema(shell: Shell, arguments: list[str]) -> None:
    catalog = shell.catalog
    entries: list[Table | View] = [catalog.lookup(arguments[0])] if arguments else [*catalog.tables, *catalog.views]
    for entry in entries:
        say(definition_text(entry))


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
    shell.run_file(Path(arguments[0]).expanduser())


def _import(shell: Shell, arguments: list[str]) -> None:
    path, name = Path(arguments[0]).expanduser(), arguments[1]
    start = perf_counter()
    table = name if shell.catalog.find(name) is None else shell.catalog.table(name)
    done = import_file(shell.db, path, table, shell.err)
    if done.created is not None:
        say(f"{done.created};")
    say(f"{done.rows:,} row{'' if done.rows == 1 else 's'} imported")
    shell.took(start)


def _apply(shell: Shell, arguments: list[str]) -> None:
    table = shell.catalog.table(arguments[0])
    rows = read_changes(Path(arguments[1]).expanduser(), table)
    start = perf_counter()
    shell.db.apply({table.name: rows})
    say(f"{rows.num_rows:,} row{'' if rows.num_rows == 1 else 's'} applied")
    shell.took(start)


def _verify(shell: Shell, _: list[str]) -> None:
    start = perf_counter()
    shell.db.verify()
    say("every view equals DuckDB")
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


def new_shell(*, external_access: bool, is_typed: bool = False) -> Shell:
    """A shell over an empty database in memory."""
    return Shell(ivm.connect(external_access=external_access), Console(stderr=True), RUN, is_typed=is_typed)
