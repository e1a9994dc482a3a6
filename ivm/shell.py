"""`ivm shell`: statements in, tables and timings out; from a terminal or a pipe."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from rich.console import Console

from catalog.errors import BindError, Error
from ivm.engine import Progress
from ivm.progress import shown
from ivm.script import is_blank, split

HELP = """\
End a statement with a semicolon.
.apply TABLE FILE   apply the rows of a .parquet or .csv file to a table (columns _time, _diff as in db.apply)
.read FILE          run the statements of a file
.verify             compare every view with DuckDB
.help               this text
.quit               leave (also Ctrl-D)"""


class Answer(Protocol):
    """What a statement gives back."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""

    def show(self) -> None:
        """Print the rows."""


class Session(Protocol):
    """What the shell needs of a database."""

    def sql(self, text: str, *, progress: Callable[[Progress], None] | None = None) -> Answer:
        """Run one statement."""

    def apply(self, changes: dict[str, pa.Table]) -> Any:
        """Apply one physical batch."""

    def verify(self) -> Any:
        """Compare every view with the oracle."""


class Shell:
    """Runs lines against a database; `out` gets what statements answer, `err` what went wrong."""

    def __init__(self, db: Session, out: Console, err: Console) -> None:
        self._db = db
        self._out = out
        self._err = err
        self._pending = ""
        self._dots: dict[str, Callable[[list[str]], None]] = {
            ".apply": self._apply,
            ".read": self._read,
            ".verify": self._verify,
            ".help": lambda _: self._say(HELP),
        }

    @property
    def is_waiting(self) -> bool:
        """True in the middle of a statement."""
        return not is_blank(self._pending)

    def forget(self) -> None:
        """Drop the statement that was begun."""
        self._pending = ""

    def feed(self, line: str) -> None:
        """Take one line, and run the statements that it completes.

        Raises:
            EOFError: the line was `.quit`.
            Error: a statement failed; those after it in the line have not run.
        """
        if not self.is_waiting and line.lstrip().startswith("."):
            self._dot(line.split())
            return
        script = split(self._pending + line + "\n")
        self._pending = script.rest
        for statement in script.statements:
            self._run(statement)

    def finish(self) -> None:
        """Run what is left without a semicolon at the end of the input."""
        rest, self._pending = self._pending, ""
        if not is_blank(rest):
            self._run(rest.strip())

    def tell(self, error: Error) -> None:
        """Show an engine error as one message."""
        self._err.print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)

    def _run(self, statement: str) -> None:
        start = perf_counter()
        with shown(self._err) as progress:
            answer = self._db.sql(statement, progress=progress)
        if len(answer.schema):
            answer.show()
        self._took(start)

    def _dot(self, words: list[str]) -> None:
        name, *arguments = words
        if name in (".quit", ".exit"):
            raise EOFError
        if name not in self._dots:
            raise BindError(f"cannot run {name}: there is no such command; .help lists them")
        self._dots[name](arguments)

    def _apply(self, arguments: list[str]) -> None:
        if len(arguments) != 2:
            raise BindError("cannot apply: write .apply TABLE FILE")
        table, file = arguments
        rows = read_changes(Path(file), self._db.sql(f"SELECT * FROM {table} LIMIT 0").schema)
        start = perf_counter()
        self._db.apply({table: rows})
        self._say(f"{rows.num_rows} rows")
        self._took(start)

    def _read(self, arguments: list[str]) -> None:
        if len(arguments) != 1:
            raise BindError("cannot read: write .read FILE")
        for statement in split(read_text(Path(arguments[0]))).all:
            self._run(statement)

    def _verify(self, _: list[str]) -> None:
        start = perf_counter()
        self._db.verify()
        self._say("every view equals DuckDB")
        self._took(start)

    def _say(self, text: str) -> None:
        self._out.print(text, markup=False, highlight=False, soft_wrap=True)

    def _took(self, start: float) -> None:
        self._out.print(f"{(perf_counter() - start) * 1e3:.1f} ms", style="dim", highlight=False)


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        Error: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"cannot read {path}: {error}") from error


def read_changes(path: Path, schema: pa.Schema) -> pa.Table:
    """The rows of a Parquet file, or of a CSV file with a header, its fields read as the table's types.

    Raises:
        Error: the file cannot be read, or is of another kind.
    """
    if path.suffix not in (".parquet", ".csv"):
        raise Error(f"cannot apply {path}: its name must end in .parquet or .csv")
    try:
        if path.suffix == ".parquet":
            return pyarrow.parquet.read_table(path)
        types = {**{field.name: field.type for field in schema}, "_time": pa.int64(), "_diff": pa.int64()}
        return pyarrow.csv.read_csv(
            path, convert_options=pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=True)
        )
    except (OSError, pa.ArrowException) as error:
        raise Error(f"cannot apply {path}: {error}") from error


def run_pipe(shell: Shell, lines: Iterable[str]) -> int:
    """Run lines that nobody is typing; stops at the first error. Returns the exit code."""
    try:
        with contextlib.suppress(EOFError):
            for line in lines:
                shell.feed(line.rstrip("\n"))
            shell.finish()
    except Error as error:
        shell.tell(error)
        return 1
    return 0


def run_terminal(shell: Shell) -> int:
    """Prompt for lines until the end of the input; an error ends its statement only. Returns the exit code."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401, PLC0415  gives input() editing and history where the platform has it
    while True:
        try:
            shell.feed(input("...> " if shell.is_waiting else "ivm> "))
        except Error as error:
            shell.tell(error)
        except KeyboardInterrupt:
            shell.forget()
            sys.stdout.write("\n")
        except EOFError:
            return 0
