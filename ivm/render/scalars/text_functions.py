"""Functions of single strings, as DuckDB computes them (characters are code points)."""

from __future__ import annotations

import re
import unicodedata


def upper(text: str) -> str:
    """Upper case, character by character: the length stays the same."""
    return text.upper() if text.isascii() else "".join(map(_upper, text))


def lower(text: str) -> str:
    """Lower case, character by character: the length stays the same."""
    return text.lower() if text.isascii() else "".join(map(_lower, text))


def _upper(char: str) -> str:
    mapped = char.upper()
    return mapped if len(mapped) == 1 else {"ß": "ẞ"}.get(char, char)


def _lower(char: str) -> str:
    mapped = char.lower()
    return mapped if len(mapped) == 1 else {"İ": "i"}.get(char, char)


def trim(text: str, chars: str | None = None) -> str:
    """Without the spaces (any of Unicode's, but no tabs or line ends), or any of `chars`, at both ends."""
    return ltrim(rtrim(text, chars), chars)


def ltrim(text: str, chars: str | None = None) -> str:
    """`trim` at the beginning."""
    if chars is not None:
        return text.lstrip(chars) if chars else text
    start = 0
    while start < len(text) and _is_space(text[start]):
        start += 1
    return text[start:]


def rtrim(text: str, chars: str | None = None) -> str:
    """`trim` at the end."""
    if chars is not None:
        return text.rstrip(chars) if chars else text
    end = len(text)
    while end > 0 and _is_space(text[end - 1]):
        end -= 1
    return text[:end]


def _is_space(char: str) -> bool:
    return char == " " or unicodedata.category(char) == "Zs"


def substring(text: str, offset: int, length: int | None = None) -> str:
    """Positions count from 1, negative ones from the end; a negative length reaches backwards."""
    start = offset - 1 if offset >= 0 else len(text) + offset
    if length is None:
        return text[max(start, 0) :]
    end = start + length
    if end < start:
        start, end = end, start
    return text[max(start, 0) : max(end, 0)]


def replace(text: str, old: str, new: str) -> str:
    """Every `old` becomes `new`; an empty `old` occurs nowhere."""
    return text.replace(old, new) if old else text


def like(text: str, pattern: str, escape: str | None = None) -> bool:
    """SQL's LIKE."""
    return re.fullmatch(like_regex(pattern, escape), text, re.DOTALL) is not None


def ilike(text: str, pattern: str, escape: str | None = None) -> bool:
    """LIKE between the lower-case forms."""
    return like(lower(text), lower(pattern), escape)


def like_regex(pattern: str, escape: str | None) -> str:
    """The pattern as a regular expression."""
    return "".join({"%": ".*", "_": "."}[p] if wild else re.escape(p) for p, wild in like_parts(pattern, escape))


def like_parts(pattern: str, escape: str | None) -> list[tuple[str, bool]]:
    """The pattern's characters, and for each whether it is one of the wildcards % and _."""
    parts: list[tuple[str, bool]] = []
    chars = iter(pattern)
    for char in chars:
        if escape and char == escape:
            parts.append((next(chars, escape), False))
        else:
            parts.append((char, char in "%_"))
    return parts
