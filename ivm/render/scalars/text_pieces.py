"""Functions of single strings that cut, pad, count and encode, as DuckDB computes them (characters are code points).

ValueError where DuckDB raises; its message completes "cannot compute f(...): ".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from ivm.render.scalars.graphemes import clusters

_MOST = 1 << 28
"""The longest text that repeating or padding may make, in characters."""


def left(text: str, count: int) -> str:
    """The first `count` characters; all but the last -count if it is negative."""
    return text[:count]


def right(text: str, count: int) -> str:
    """The last `count` characters; all but the first -count if it is negative."""
    return text[max(len(text) - count, 0) :] if count >= 0 else text[-count:]


def cut(text: str, first: int, last: int) -> str:
    """The characters from `first` to `last`, both included; they count from 1, negative ones from the end."""
    start = first - 1 if first > 0 else max(len(text) + first, 0) if first < 0 else 0
    end = last if last >= 0 else len(text) + last + 1
    return text[start:end] if end > 0 else ""


def repeat(text: str, count: int) -> str:
    """The text `count` times; empty if that is negative."""
    if len(text) * count > _MOST:
        raise ValueError("the result is too long")
    return text * count


def lpad(text: str, count: int, filling: str) -> str:
    """`count` characters: filled up on the left, or cut on the right."""
    return _filling(text, count, filling, "LPAD") + text[: max(count, 0)]


def rpad(text: str, count: int, filling: str) -> str:
    """`count` characters: filled up or cut on the right."""
    return text[: max(count, 0)] + _filling(text, count, filling, "RPAD")


def _filling(text: str, count: int, filling: str, function: str) -> str:
    missing = count - len(text)
    if missing <= 0:
        return ""
    if not filling:
        raise ValueError(f"there is nothing to pad with; give {function} a text that is not empty")
    if missing > _MOST:
        raise ValueError("the result is too long")
    return (filling * (missing // len(filling) + 1))[:missing]


def split_part(text: str, separator: str, index: int) -> str:
    """The part number `index` between separators, from 1, or from the end if negative; empty if there is none."""
    parts = text.split(separator) if separator else list(text)
    if index == 0 or not -len(parts) <= index <= len(parts):
        return ""
    return parts[index - 1 if index > 0 else index]


def reverse(text: str) -> str:
    """The characters as readers see them in reverse: marks stay with their letter, and emoji are whole."""
    return text[::-1] if text.isascii() else "".join(reversed(list(clusters(text))))


def translate(text: str, given: str, wanted: str) -> str:
    """Each character of `given` replaced by the one at its place in `wanted`, or left out if there is none."""
    table: dict[str, str] = {}
    for i, char in enumerate(given):
        table.setdefault(char, wanted[i] if i < len(wanted) else "")
    return "".join(table.get(char, char) for char in text)


def code_point(text: str) -> int:
    """The first character's code point; 0 for empty text."""
    return ord(text[0]) if text else 0


def unicode(text: str) -> int:
    """The first character's code point; -1 for empty text."""
    return ord(text[0]) if text else -1


def character(code: int) -> str:
    """The character of a code point."""
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError("there is no such character")
    return chr(code)


def levenshtein(a: str, b: str) -> int:
    """The least number of bytes to insert, delete or replace that make one text of the other."""
    x, y = a.encode(), b.encode()
    above = list(range(len(y) + 1))
    for i, char in enumerate(x, 1):
        row = [i]
        for j, other in enumerate(y, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (char != other)))
        above = row
    return above[-1]


def byte_length(text: str) -> int:
    """How many bytes it has."""
    return len(text.encode())


def bit_length(text: str) -> int:
    """How many bits it has."""
    return 8 * len(text.encode())


def position(text: str, part: str) -> int:
    """Where a part first stands, from 1; 0 if nowhere."""
    return text.find(part) + 1


def hexadecimal(text: str) -> str:
    """Its bytes, two digits each."""
    return text.encode().hex().upper()


def digest(algorithm: str) -> Callable[[str], str]:
    """The digest of its bytes by an algorithm, in hexadecimal digits."""
    return lambda text: hashlib.new(algorithm, text.encode(), usedforsecurity=False).hexdigest()
