"""Cut a text into SQL statements without parsing it: at semicolons outside of quotes and comments."""

from __future__ import annotations

import re
from dataclasses import dataclass

# What a semicolon may hide in. An opening mark without its end swallows the rest of the text.
_HIDING = re.compile(
    r"""
      '(?:[^']|'')*(?:'|\Z)                         # text
    | "(?:[^"]|"")*(?:"|\Z)                         # a quoted name
    | \$(?P<tag>\w*)\$ .*? (?:\$(?P=tag)\$|\Z)      # dollar-quoted text
    | --[^\n]*                                      # a comment to the end of the line
    | /\* .*? (?:\*/|\Z)                            # a comment between marks
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENTS = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Script:
    """Whole statements, without their semicolons, and the text after the last semicolon, which may still go on."""

    statements: tuple[str, ...]
    rest: str


def split(text: str) -> Script:
    """The statements of a text, in order; those that hold nothing but space and comments are left out.

    Cost: linear in the text.
    """
    found = []
    start = position = 0
    while position < len(text):
        hidden = _HIDING.match(text, position)
        if hidden:
            position = hidden.end()
            continue
        if text[position] == ";":
            found.append(text[start:position].strip())
            start = position + 1
        position += 1
    return Script(tuple(statement for statement in found if not is_blank(statement)), text[start:])


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
