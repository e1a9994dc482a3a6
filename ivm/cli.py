"""The command `ivm`: its own sub-commands, and those that other packages add to the entry points `ivm.commands`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.text import Text

import ivm
from ivm.catalog.errors import Error, UnsupportedError
from ivm.session.script import first_word, read_text, split

if TYPE_CHECKING:
    from ivm.shell.session import Shell

GROUP = "ivm.commands"
QUERIES = frozenset({"SELECT", "WITH", "FROM", "VALUES", "("})

app = typer.Typer(
    name="ivm",
    help="Standing SQL queries, exactly up to date after every commit.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ivm {ivm.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Standing SQL queries, exactly up to date after every commit."""


ExternalAccess = Annotated[
    bool, typer.Option(help="Whether SQL text may read files and the network and load extensions of DuckDB.")
]


@app.command()
def shell(
    path: Annotated[
        Path | None, typer.Argument(help="A database's directory; a new one has a name that ends in .ivm.")
    ] = None,
    file: Annotated[
        Path | None, typer.Argument(help="SQL to run, instead of what is typed or piped in.", dir_okay=False)
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Option("-c", "--command", metavar="SQL", help="SQL to run, after FILE; may be repeated."),
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Only read the database, which another process may have open.")
    ] = False,
    external_access: ExternalAccess = True,
) -> None:
    """Run SQL statements, typed, piped in, or given, over a database in a directory, or an empty one in memory."""
    if path is not None and not path.is_dir() and path.suffix != ".ivm":
        if file is not None:
            raise typer.BadParameter(f"{path} is no directory, and a new database's name ends in .ivm")
        path, file = None, path  # a script alone

    def load(is_typed: bool = True) -> Shell:
        from ivm.shell.commands import new_shell  # noqa: PLC0415  the prompt comes before the engine

        return new_shell(path, read_only=read_only, external_access=external_access, is_typed=is_typed)

    if file is None and not command and sys.stdin.isatty() and sys.stdout.isatty():
        raise typer.Exit(_typed(load, path))
    lines = sys.stdin if file is None and not command else ()
    session = load(is_typed=False)
    code = session.run_all([] if file is None else [file], command or [], lines)
    session.db.close()
    raise typer.Exit(code)


def _typed(load: Callable[[], Shell], path: Path | None) -> int:
    from ivm.shell.terminal import run_terminal  # noqa: PLC0415  its toolkit is for terminals only

    where = "in memory" if path is None else str(path)
    greeting = f"ivm {ivm.__version__}, {where}. End statements with a semicolon; .help lists commands."
    if path is None:
        return run_terminal(load, greeting)
    shell = load()  # that it takes long, or is not possible, is seen before anything is typed
    code = run_terminal(lambda: shell, greeting)
    shell.db.close()
    return code


@app.command()
def explain(
    file: Annotated[Path, typer.Argument(help="SQL: CREATE statements, then a SELECT.", dir_okay=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    path: Annotated[
        Path | None, typer.Option("--db", metavar="PATH", help="A database that it would be a view of; only read.")
    ] = None,
    external_access: ExternalAccess = True,
) -> None:
    """Run a file's statements and show how its last one, a SELECT, would be maintained."""
    db = ivm.connect(path, read_only=path is not None, external_access=external_access)
    text = explain_script(db, read_text(file))
    typer.echo(json.dumps({"file": str(file), "explain": text}) if as_json else text)


@app.command()
def warm(
    file: Annotated[Path, typer.Argument(help="SQL: the CREATE statements that will run.", dir_okay=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    external_access: ExternalAccess = True,
) -> None:
    """Compile ahead what the tables and views of a file will need, and keep it for all processes of this user."""
    from ivm import warm as ahead  # noqa: PLC0415
    from ivm.progress import progress  # noqa: PLC0415

    with progress(Console(stderr=True), "steps") as tell:
        done = ahead.warm(read_text(file), tell, external_access=external_access)
    typer.echo(json.dumps(asdict(done)) if as_json else done.text)


@app.command()
def check(
    path: Annotated[str, typer.Argument(help="A database's directory, or a cluster's folder, which may be in use.")],
    deep: Annotated[bool, typer.Option("--deep", help="Open it too, and compare every view with DuckDB.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Look at every file of a database, and say which are damaged and what that affects; it is never changed."""
    from ivm import disk  # noqa: PLC0415  the engine, which help does not need

    if not disk.check(path, deep=deep, as_json=as_json):
        raise typer.Exit(1)


@app.command()
def recover(
    path: Annotated[str, typer.Argument(help="A database's directory, or a cluster's folder, which stays as it is.")],
    out: Annotated[Path, typer.Option("--out", help="A new directory, for the copy.")],
    to: Annotated[
        int | None, typer.Option("--to", min=0, metavar="TIME", help="A logical time, of which its log has the commit.")
    ] = None,
) -> None:
    """Copy a database as of an earlier commit or, without --to, all of it that is before any damage.

    The copy of a cluster's folder is a database in one piece.
    """
    from ivm import disk  # noqa: PLC0415  as above

    disk.recover(path, out, to)


@app.command()
def top(
    database: Annotated[
        str, typer.Argument(help="A server's address, or a database's directory, which somebody may have open.")
    ] = "http://127.0.0.1:8080",
    every: Annotated[float, typer.Option(min=0.05, max=3600, help="How many seconds between two looks.")] = 2.0,
    sort: Annotated[
        Literal["busy", "changes", "rows", "state", "name"], typer.Option(help="What views are ordered by.")
    ] = "busy",
    once: Annotated[bool, typer.Option("--once", help="Look twice, print that, and leave.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The same as one JSON object.")] = False,
    token: Annotated[
        str, typer.Option(envvar="IVM_TOKEN", show_default=False, help="A token of the server's, if it wants one.")
    ] = "",
) -> None:
    """Show what a database does as it does it: commits and their latency, views, rows, memory, and who is slow."""
    from ivm.top.running import run  # noqa: PLC0415  the engine, which help does not need

    run(database, token=token, every=every, order=sort, once=once, as_json=as_json)


def explain_script(db: ivm.Database, script: str) -> str:
    """EXPLAIN of the last statement of a script, after the statements before it have run.

    Raises UnsupportedError if that is no query. Errors of statements have their position in the script.
    """
    from ivm.session.database import core_of  # noqa: PLC0415  other commands need none of the engine to begin
    from ivm.session.explain import explain as explain_select  # noqa: PLC0415

    statements = split(script).all
    if not statements or first_word(statements[-1]) not in QUERIES:
        raise UnsupportedError("cannot explain: the last statement must be a SELECT; write the view's query there")
    before = script[: script.rindex(statements[-1])]
    db.sql(before)
    line_start = before.rfind("\n") + 1
    return explain_select(core_of(db), statements[-1], origin=(before.count("\n") + 1, len(before) - line_start + 1))


def add_plugins(arguments: list[str]) -> None:
    """Add the sub-commands that other packages register, loading only the one that is called.

    All are loaded where no own command is called, since the list of commands must then be complete. Raises Error if the
    one that is called cannot be loaded, for instance because what it needs is not installed.
    """
    called = next((argument for argument in arguments if not argument.startswith("-")), None)
    own = {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}
    if called in own or "--version" in arguments:
        return
    known = {point.name: point for point in entry_points(group=GROUP)}
    if called in known:
        app.add_typer(_load(known[called]), name=called)
        return
    for name, point in sorted(known.items()):
        try:
            app.add_typer(_load(point), name=name)
        except Error as error:
            Console(stderr=True).print(f"note: {error}", style="dim", markup=False, soft_wrap=True)


def _load(point: EntryPoint) -> typer.Typer:
    try:
        loaded = point.load()
    except ImportError as error:
        raise Error(
            f"cannot load the command {point.name}: {error}; "
            f"install what it needs (pip install 'ivm-engine[{point.name}]')"
        ) from error
    if not isinstance(loaded, typer.Typer):
        raise Error(f"cannot load the command {point.name}: {point.value} is not a typer application")
    return loaded


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 an engine error (one message on stderr), 2 wrong usage."""
    try:
        add_plugins(sys.argv[1:])
        app()
    except Error as error:
        Console(stderr=True).print(Text(f"error: {error}", style="red"), soft_wrap=True)
        sys.exit(1)
