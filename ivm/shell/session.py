"""What the shell does with lines, wherever they come from."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.text import Text

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import Error
from ivm.progress import A_MOMENT, progress
from ivm.results.cells import visible
from ivm.results.result import Result, say
from ivm.session.database import Database, core_of
from ivm.session.script import first_word, is_blank, read_text, split
from ivm.shell.interrupting import interruptible
from ivm.shell.names import COMMANDS, LEAVE, is_command, is_leaving
from ivm.shell.printing import WRITERS

CHANGES = {"INSERT": "inserted", "UPDATE": "updated", "DELETE": "deleted"}
_PLACE = re.compile(r"\(line (\d+), column (\d+)\)")

Command = Callable[["Shell", list[str]], None]


@dataclass(frozen=True, slots=True)
class Placed:
    """A statement, and how many lines, and characters of its first line, came before it."""

    text: str
    lines: int
    characters: int

    def moved(self, found: re.Match[str]) -> str:
        """A place in the statement as one in what it is a part of."""
        line, column = int(found[1]), int(found[2])
        return f"(line {line + self.lines}, column {column + (self.characters if line == 1 else 0)})"


class Shell:
    """Runs lines against a database; answers go to stdout, what went wrong and progress to `err`.

    `is_typed`: somebody types and looks, so that changes are counted and times are told. `mode`: a name in `MODES`.
    """

    def __init__(self, db: Database, err: Console, commands: dict[str, Command], *, is_typed: bool = False) -> None:
        self.db = db
        self.err = err
        self.is_typed = is_typed
        self.mode = "table"
        self.timer = is_typed
        self._commands = commands
        self._pending = _Pending()
        self._files: list[Path] = []

    @property
    def catalog(self) -> Catalog:
        """What there is."""
        return core_of(self.db).catalog

    def named(self, name: str) -> str:
        """What the name of a table or view means by now, after USE."""
        return core_of(self.db).settings.names.given(name)

    @property
    def is_waiting(self) -> bool:
        """True in the middle of a statement."""
        return self._pending.has_words

    def forget(self) -> None:
        """Drop the statement that was begun, and count lines from 1 again."""
        self._pending = _Pending()

    def feed(self, line: str) -> None:
        """Take one line, or several, and run the statements that are complete.

        Raises EOFError if the line was `.quit`, `exit` or `quit`, and Error, with its place among the lines, if a
        statement fails; those after it are not run.
        """
        if not self.is_waiting and is_leaving(line):
            raise EOFError
        if not self.is_waiting and is_command(line):
            self._pending.skip(line)
            self._command(words_of(line))
            return
        for statement in self._pending.take(line):
            self._run_placed(statement)

    def finish(self) -> None:
        """Run what is left without a semicolon at the end of the input."""
        for statement in self._pending.rest():
            self._run_placed(statement)

    def run_text(self, text: str) -> None:
        """Run the statements and commands of a text, lines of which are counted from 1."""
        self.forget()
        for line in text.split("\n"):
            self.feed(line)
        self.finish()

    def run_file(self, path: Path) -> None:
        """Run the statements and commands of a file; errors have their place in it. Error too if it reads itself."""
        text, before = read_text(path), self._pending
        if path.resolve() in self._files:
            raise Error(f"cannot read {path}: it reads itself")
        self._files.append(path.resolve())
        try:
            self.run_text(text)
        except Error as error:
            error.args = (f"{path}: {error}",)
            raise
        finally:
            self._files.pop()
            self._pending = before

    def run_all(self, files: Iterable[Path] = (), texts: Iterable[str] = (), lines: Iterable[str] = ()) -> int:
        """Run files, then texts, then lines that nobody is typing, up to the first error. Returns the exit code."""
        try:
            with contextlib.suppress(EOFError):
                for file in files:
                    self.run_file(file)
                for text in texts:
                    self.run_text(text)
                for line in lines:
                    self.feed(line.rstrip("\n"))
                self.finish()
            self.leave()
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has left: nobody to tell
            return 1
        except KeyboardInterrupt:
            self.interrupted()
            return 130
        except Exception as error:  # noqa: BLE001  one message, whatever it is
            self.tell(error)
            return 1
        return 0

    def _run_placed(self, placed: Placed) -> None:
        try:
            self.run(placed.text)
        except Error as error:
            error.args = (_PLACE.sub(placed.moved, str(error)),)
            raise

    def run(self, statement: str) -> None:
        """Run one statement and print its answer."""
        start = perf_counter()
        with interruptible(), progress(self.err, after=A_MOMENT) as tell:
            answer = self.db.sql(statement, progress=lambda now: tell(f"filling {now.view}", now.rows, now.expected))
        self.answer(answer, "" if "RETURNING" in statement.upper() else first_word(statement))
        self.took(start)

    def answer(self, answer: Result, word: str = "") -> None:
        """Print rows as the mode says; of a change only how many rows it changed, and only on a terminal."""
        if word in CHANGES and answer.columns == ["Count"]:
            (count,) = answer.fetchone() or (0,)
            if self.is_typed:
                say(f"{count:,} row{'' if count == 1 else 's'} {CHANGES[word]}")
        elif answer.columns:
            WRITERS[self.mode](answer)

    def took(self, start: float) -> None:
        """Print the time since `start`, if it is wanted."""
        if self.timer:
            say(f"{(perf_counter() - start) * 1e3:,.1f} ms")

    def tell(self, error: BaseException) -> None:
        """Show an error as one message; one that is nobody's mistake but ours says so."""
        words = str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}; this is a bug in ivm"
        lines = "\n".join(map(visible, words.splitlines()))
        self.err.print(Text(f"error: {lines}", style="red"), soft_wrap=True)

    def leave(self) -> None:
        """Say what becomes of a transaction that is open when the shell ends."""
        if self.db.in_transaction:
            self.err.print("the transaction was not committed: nothing of it has changed anything", style="red")

    def interrupted(self) -> None:
        """Say that the statement was cancelled, which has changed nothing."""
        self.err.print("interrupted", style="red")

    def _command(self, words: list[str]) -> None:
        name, *arguments = words
        if name in LEAVE:
            raise EOFError
        command = self._commands.get(name)
        if command is None:
            raise Error(f"cannot run {visible(name)}: there is no such command; .help lists them")
        (named,) = [each for each in COMMANDS if each.name == name]
        if not named.takes(len(arguments)):
            raise Error(f"cannot run {name} with {len(arguments)} arguments: write {named.usage}")
        command(self, arguments)


class _Pending:
    """Lines that have come since the last whole statement, and how much came before them."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._before = (0, 0)  # lines, and characters of the line that goes on
        self.has_words = False

    def skip(self, lines: str) -> None:
        """Count lines that are no part of a statement."""
        self._before = self._after(lines + "\n")

    def take(self, lines: str) -> list[Placed]:
        """Add lines; the statements that they complete. Cost: nothing is looked at again before a semicolon comes."""
        self._lines.append(lines + "\n")
        if ";" not in lines:
            self.has_words = self.has_words or not is_blank("".join(self._lines))
            return []
        text = "".join(self._lines)
        script = split(text)
        found = [
            Placed(statement, *self._after(text[:start]))
            for statement, start in zip(script.statements, script.starts, strict=True)
        ]
        self._before = self._after(text[: len(text) - len(script.rest)])
        self._lines = [script.rest]
        self.has_words = not is_blank(script.rest)
        return found

    def rest(self) -> list[Placed]:
        """What is left, as the last statement, and nothing after it."""
        text, self._lines, self.has_words = "".join(self._lines), [], False
        blank = text[: len(text) - len(text.lstrip())]
        found = [] if is_blank(text) else [Placed(text.strip(), *self._after(blank))]
        self._before = self._after(text)
        return found

    def _after(self, text: str) -> tuple[int, int]:
        """Lines, and characters of the line that goes on, once the text has come too."""
        lines, characters = self._before
        count = text.count("\n")
        return lines + count, len(text) - (text.rfind("\n") + 1) + (0 if count else characters)


def words_of(line: str) -> list[str]:
    """The words of a command, which may be quoted; Error if a quotation mark has no other."""
    try:
        return shlex.split(line)
    except ValueError as error:
        raise Error(
            f"cannot run {visible(line.strip())}: {error}; put words with spaces or quotes in quotes"
        ) from error
