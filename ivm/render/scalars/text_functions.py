"""Functions of single strings, as DuckDB computes them (characters are code points).

ValueError where DuckDB raises; its message completes "cannot compute f(...): ".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from math import isfinite

from ivm.render.scalars.graphemes import clusters

SPACES = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""The characters of Unicode's category Zs: what is trimmed where nothing else is named, but no tabs or line ends."""
_MOST = 1 << 28
"""The longest text that repeating or padding may make, in characters."""


_WIDE = re.compile(r"([+ ]?)(0?)(\d+)(.*)")
"""A width without an alignment."""


def upper(text: str) -> str:
    """Upper case, character by character: the length stays the same."""
    return text.upper() if text.isascii() else "".join([_of_one(char, char.upper()) for char in text])


def lower(text: str) -> str:
    """Lower case, character by character: the length stays the same."""
    return text.lower() if text.isascii() else "".join([_of_one(char, char.lower()) for char in text])


def _of_one(char: str, mapped: str) -> str:
    return mapped if len(mapped) == 1 else {"ß": "ẞ", "İ": "i"}.get(char, char)


def substring(text: str, offset: int, length: int | None = None) -> str:
    """Positions count from 1, negative ones from the end; a negative length reaches backwards."""
    start = offset - 1 if offset >= 0 else len(text) + offset
    if length is None:
        return text[max(start, 0) :]
    end = start + length
    if end < start:
        start, end = end, start
    return text[max(start, 0) : max(end, 0)]


def like(text: str, pattern: str, escape: str | None = None) -> bool:
    """SQL's LIKE."""
    wild = {"%": ".*", "_": "."}
    form = "".join(wild[char] if is_wild else re.escape(char) for char, is_wild in like_parts(pattern, escape))
    return re.fullmatch(form, text, re.DOTALL) is not None


def ilike(text: str, pattern: str, escape: str | None = None) -> bool:
    """LIKE between the lower-case forms, also of the character that escapes."""
    return like(lower(text), lower(pattern), escape and lower(escape))


def like_parts(pattern: str, escape: str | None) -> list[tuple[str, bool]]:
    """The pattern's characters, and for each whether it is one of the wildcards % and _.

    ValueError where nothing follows the character that escapes.
    """
    parts: list[tuple[str, bool]] = []
    chars = iter(pattern)
    for char in chars:
        if escape and char == escape:
            escaped = next(chars, None)
            if escaped is None:
                raise ValueError("the pattern ends with the character that escapes; put another behind it")
            parts.append((escaped, False))
        else:
            parts.append((char, char in "%_"))
    return parts


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


def digest(algorithm: str) -> Callable[[str], str]:
    """The digest of its bytes by an algorithm, in hexadecimal digits."""
    return lambda text: hashlib.new(algorithm, text.encode(), usedforsecurity=False).hexdigest()


def formatted(value: int | float | str, spec: str) -> str:
    """The value as the format writes it; what is no finite number stands on the left, as DuckDB has it."""
    if isinstance(value, float) and not isfinite(value):
        found = _WIDE.fullmatch(spec)
        if found is not None:
            return format(value, found[1] + found[4]).ljust(int(found[3]), found[2] or " ")
    return format(value, spec)
