"""Text functions of the model, by code points."""

from __future__ import annotations

import re
from collections.abc import Callable

from ivm.sql.ir.scalar import Call, Value


def _like(args: list[str], flags: re.RegexFlag) -> bool:
    subject, pattern, *escape = args
    regex, i = "", 0
    while i < len(pattern):
        if escape and pattern[i] == escape[0] and i + 1 < len(pattern):
            i += 1
            regex += re.escape(pattern[i])
        else:
            regex += {"%": ".*", "_": "."}.get(pattern[i], re.escape(pattern[i]))
        i += 1
    return re.fullmatch(regex, subject, flags | re.DOTALL) is not None


def _substring(args: list) -> str:  # type: ignore[type-arg]
    """Positions count from 1, from the end if negative; a negative length reaches to the left."""
    text, start, *length = args
    first = len(text) + start if start < 0 else start - 1
    if not length:
        return str(text[max(first, 0) :])
    low, high = sorted((first, first + length[0]))
    return str(text[max(low, 0) : max(high, 0)])


def _trim(args: list[str]) -> str:
    return args[0].strip(args[1] if len(args) > 1 else " ")


def _replace(args: list[str]) -> str:
    text, old, new = args
    return text.replace(old, new) if old else text


FUNCTIONS: dict[str, Callable[[Call, list], Value]] = {  # type: ignore[type-arg]
    "like": lambda call, args: _like(args, re.RegexFlag(0)),
    "ilike": lambda call, args: _like(args, re.IGNORECASE),
    "upper": lambda call, args: args[0].upper(),
    "lower": lambda call, args: args[0].lower(),
    "trim": lambda call, args: _trim(args),
    "length": lambda call, args: len(args[0]),
    "substring": lambda call, args: _substring(args),
    "concat": lambda call, args: "".join(args),
    "replace": lambda call, args: _replace(args),
    "starts_with": lambda call, args: args[0].startswith(args[1]),
    "contains": lambda call, args: args[1] in args[0],
}
