"""SQL statements in a text or a file, cut without parsing it: at semicolons outside of quotes and comments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ivm.catalog.errors import Error

# A semicolon, after everything in which one may hide. An opening mark without its end swallows the rest of the text.
_MARKS = re.compile(
    r"""
      '(?:[^']|'')*(?:'|\Z)                         # text
    | "(?:[^"]|"")*(?:"|\Z)                         # a quoted name
    | \$(?P<tag>\w*)\$ .*? (?:\$(?P=tag)\$|\Z)      # dollar-quoted text
    | --[^\n]*                                      # a comment to the end of the line
    | /\* .*? (?:\*/|\Z)                            # a comment between marks
    | (?P<end>;)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENTS = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Script:
    """Whole statements, without their semicolons, where each begins in the text, and what follows the last semicolon,
    which may still go on.
    """

    statements: tuple[str, ...]
    rest: str
    starts: tuple[int, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """The statements, with what follows the last semicolon as one of them."""
        return self.statements if is_blank(self.rest) else (*self.statements, self.rest.strip())


def split(text: str) -> Script:
    """The statements of a text, in order, without those of nothing but space and comments. Cost: linear in it."""
    found, starts = [], []
    start = 0
    for mark in _MARKS.finditer(text):
        if mark["end"]:
            piece = text[start : mark.start()]
            if not is_blank(piece):
                found.append(piece.strip())
                starts.append(start + len(piece) - len(piece.lstrip()))
            start = mark.end()
    return Script(tuple(found), text[start:], tuple(starts))


def is_blank(text: str) -> bool:
    """True if the text holds nothing but space and comments."""
    return not without_comments(text)


def first_word(statement: str) -> str:
    """The keyword that a statement begins with, in upper case; '(' for one in parentheses, '' for a blank one."""
    found = re.match(r"\w+|\(", without_comments(statement))
    return found[0].upper() if found else ""


def without_comments(statement: str) -> str:
    """The statement from its first word on, leading comments and space removed."""
    while True:
        stripped = statement.lstrip()
        comment = _COMMENTS.match(stripped)
        if comment is None:
            return stripped
        statement = stripped[comment.end() :]


def read_text(path: Path) -> str:
    """The text of a file; Error if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise Error(f"cannot read {path}: {error}") from error
