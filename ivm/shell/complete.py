"""When what has been typed is complete, which is known without the engine: at the prompt, before it is there."""

from __future__ import annotations

from ivm.script import is_blank, split

LEAVE = (".quit", ".exit")
_WORDS = ("exit", "quit")


def is_command(line: str) -> bool:
    """True for a line that begins with a dot."""
    return line.lstrip().startswith(".")


def is_leaving(line: str) -> bool:
    """True for `exit` and `quit`, alone on a line."""
    return line.strip().rstrip(";").rstrip().lower() in _WORDS


def is_complete(text: str) -> bool:
    """True if nothing has to follow: the text is a command, ends with a semicolon, or holds no words."""
    return is_command(text) or is_leaving(text) or is_blank(split(text).rest)
