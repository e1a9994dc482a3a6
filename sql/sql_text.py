"""Places in a SQL text: where an expression or a token stands, and messages that show it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from ivm.catalog.errors import BindError, ParseError, TypeMismatchError, UnsupportedError
from ivm.catalog.zones import UTC

Place = exp.Expr | int | None
"""An expression, or an offset in the text; None where there is none to show."""


class Placed:
    """What reads a text, its `source`: each of its errors has the position of what is wrong."""

    __slots__ = ()
    source: SqlText

    def locate(self, message: str, at: Place) -> str:
        """The message with its place in the text; see `SqlText.locate`."""
        return self.source.locate(message, at)

    def fail(self, at: Place, message: str) -> NoReturn:
        """Raise BindError."""
        raise BindError(self.locate(message, at))

    def mismatch(self, at: Place, message: str) -> NoReturn:
        """Raise TypeMismatchError."""
        raise TypeMismatchError(self.locate(message, at))

    def refuse(self, at: Place, message: str) -> NoReturn:
        """Raise UnsupportedError."""
        raise UnsupportedError(self.locate(message, at))

    def misread(self, at: Place, message: str) -> NoReturn:
        """Raise ParseError."""
        raise ParseError(self.locate(message, at))


@dataclass(frozen=True, slots=True)
class SqlText(Placed):
    """A piece of SQL text; `line` and `column` (both from 1) say where it begins in what the user wrote, and `zone` by
    whose clocks it tells moments.
    """

    text: str
    line: int = 1
    column: int = 1
    zone: str = UTC

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1, of the character at `offset`."""
        before = self.text[:offset]
        line_start = before.rfind("\n") + 1
        lines = before.count("\n")
        column = offset - line_start + (self.column if lines == 0 else 1)
        return self.line + lines, column

    def locate(self, message: str, at: Place) -> str:
        """`message` with the position of `at` and its line, a caret under it.

        Only the message where the position is not known.
        """
        offset = at if isinstance(at, int) else offset_of(at)
        if offset is None and isinstance(at, exp.Expr):
            offset = self._search(at)
        if offset is None:
            return message
        line, column = self.position(offset)
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        shown, caret = _window(self.text[start : end if end >= 0 else len(self.text)], offset - start)
        return f"{message} (line {line}, column {column})\n  {shown}\n  {' ' * caret}^"

    def _search(self, node: exp.Expr) -> int | None:
        """Where the word that `node` begins with first stands; for keywords, whose place sqlglot does not keep."""
        word = re.match(r"\w+|\S", text_of(node))
        found = re.search(re.escape(word[0]), self.text, re.IGNORECASE) if word else None
        return found.start() if found else None


def text_of(node: exp.Expr) -> str:
    """`node` in SQL, for messages; of what sqlglot cannot write, such as a function without arguments, its kind."""
    try:
        return node.sql("duckdb", unsupported_level=ErrorLevel.IGNORE)
    except Exception:  # noqa: BLE001  sqlglot fails in many ways on nodes that are not whole
        return type(node).__name__.lower()


def offset_of(node: exp.Expr | None) -> int | None:
    """Offset of the first character known of `node`, or None; sqlglot keeps it for names, literals and calls."""
    if node is None:
        return None
    offsets = [n.meta["start"] for n in node.walk() if "start" in n.meta]
    return min(offsets, default=None)


_WIDTH = 100


def _window(line: str, offset: int) -> tuple[str, int]:
    """At most `_WIDTH` characters of `line` around `offset`, and where the offset stands in them."""
    start = max(0, min(offset - _WIDTH // 2, len(line) - _WIDTH))
    return line[start : start + _WIDTH].replace("\t", " ").rstrip(), offset - start
