"""Names as people write them: in any case, with spaces, quotes and keywords; found in any case."""

from __future__ import annotations

import re
from random import Random

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS = ("order", "group", "select", "from", "table", "end", "left")
IDENTIFIER = r'(?:"(?:[^"]|"")*"|\w+)'


def named(rng: Random, name: str) -> str:
    """A name made of `name`, mostly the same; no two that differ become one."""
    return rng.choice((name.upper(), name.capitalize(), f"{name[0]} {name[1:]}", f'{name}"x', f"É{name}", f"{name}.x"))


def keyword(rng: Random) -> str:
    """A word that has to be quoted to be a name."""
    return rng.choice(_KEYWORDS)


def quoted(name: str) -> str:
    """The name in SQL."""
    if _PLAIN.fullmatch(name) and name.lower() not in _KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def spelled(rng: Random, name: str) -> str:
    """The name in SQL, now and then in another case or in quotes that it does not need."""
    roll = rng.random()
    if roll < 0.06:
        name = "".join(c.swapcase() if c.isascii() else c for c in name)
    return '"' + name.replace('"', '""') + '"' if roll > 0.97 else quoted(name)


def unquoted(text: str) -> str:
    """The name that an identifier stands for."""
    return text[1:-1].replace('""', '"') if text.startswith('"') else text
