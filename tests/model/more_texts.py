"""The rarer text functions of the model, by code points; regular expressions by Python's own engine."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from datetime import datetime

from ivm.catalog.errors import NumericError
from ivm.catalog.types import TIMESTAMP
from ivm.sql.ir.scalar import Call, Value
from tests.model.values import from_engine, to_engine


def _python(pattern: str) -> re.Pattern[str]:
    """RE2's \\z is Python's \\Z, and its $ is at the very end only."""
    return re.compile(re.sub(r"(?<!\\)\$", r"\\Z", pattern).replace(r"\z", r"\Z"))


def _replaced(args: list) -> str:  # type: ignore[type-arg]
    text, pattern, rewrite, every = args
    rewritten = re.sub(r"\\(\d)", r"\\g<\1>", rewrite)
    return _python(pattern).sub(rewritten, text, count=0 if every else 1)


def _extracted(args: list) -> str:  # type: ignore[type-arg]
    text, pattern, group = args
    match = _python(pattern).search(text)
    return "" if match is None or group > (match.re.groups) else match[group] or ""


def _padded(args: list, left: bool) -> str:  # type: ignore[type-arg]
    text, length, filling = args
    missing = max(length - len(text), 0)
    if missing and not filling:
        raise NumericError("there is nothing to pad with")
    added = (filling * missing)[:missing]
    return added + text[: max(length, 0)] if left else text[: max(length, 0)] + added


def _slice(args: list) -> str:  # type: ignore[type-arg]
    """The characters whose place, counted from 1 or from the end, lies between both bounds."""
    text, first, last = args
    low = first if first >= 0 else len(text) + 1 + first
    high = last if last >= 0 else len(text) + 1 + last
    return "".join(char for place, char in enumerate(text, 1) if low <= place <= high)


def _part(args: list) -> str:  # type: ignore[type-arg]
    text, separator, index = args
    parts = text.split(separator) if separator else list(text)
    places = {**dict(enumerate(parts, 1)), **{i - len(parts): part for i, part in enumerate(parts)}}
    return str(places.get(index, ""))


def _translated(args: list[str]) -> str:
    text, given, wanted = args
    return "".join((wanted + " " * len(given))[given.index(c)].strip() if c in given else c for c in text)


def _reversed(args: list[str]) -> str:
    out: list[str] = []
    for char in args[0]:
        if out and unicodedata.category(char).startswith("M"):
            out[-1] += char
        else:
            out.append(char)
    return "".join(reversed(out))


def _character(args: list[int]) -> str:
    try:
        return chr(args[0]).encode().decode()
    except (ValueError, UnicodeError, OverflowError) as reason:
        raise NumericError("no such character") from reason


def _read(args: list[str]) -> Value:
    try:
        return to_engine(datetime.strptime(args[0].strip(), args[1]), TIMESTAMP)
    except ValueError as reason:
        raise NumericError(str(reason)) from reason


def _tried(args: list[str]) -> Value:
    try:
        return _read(args)
    except NumericError:
        return None


def _written(call: Call, args: list) -> str:  # type: ignore[type-arg]
    moment = from_engine(args[0], call.args[0].type)
    micros = f"{moment.microsecond:06d}"
    ours = {"%x": "%Y-%m-%d", "%X": "%H:%M:%S", "%c": "%Y-%m-%d %H:%M:%S", "%g": micros[:3], "%n": f"{micros}000"}
    form = re.sub("%[xXcgn%]", lambda found: ours.get(found[0], found[0]), args[1])
    return str(
        moment.strftime(form.replace("%Y", f"{moment.year:04d}").replace("%G", f"{moment.isocalendar().year:04d}"))
    )


def _named(form: str) -> Callable[[Call, list], Value]:  # type: ignore[type-arg]
    return lambda call, args: from_engine(args[0], call.args[0].type).strftime(form)


def _digest(name: str) -> Callable[[Call, list], Value]:  # type: ignore[type-arg]
    return lambda call, args: hashlib.new(name, args[0].encode()).hexdigest()


def _levenshtein(a: bytes, b: bytes) -> int:
    if not a or not b:
        return len(a) + len(b)
    ends = _levenshtein(a[:-1], b[:-1]) + (a[-1] != b[-1])
    return min(ends, _levenshtein(a[:-1], b) + 1, _levenshtein(a, b[:-1]) + 1)


def _put(value: Value, spec: str) -> str:
    """By Python's format; "nan" and "inf" as text is put, to the left, over zeros if these fill the place."""
    width = re.match(r"[+ ]?(0?)\d", spec)
    if isinstance(value, float) and (value != value or abs(value) == float("inf")) and width:
        wide = format(value, spec)
        return wide.strip(" ").replace("0", "").ljust(len(wide), width[1] or " ")
    return format(value, spec)


FUNCTIONS: dict[str, Callable[[Call, list], Value]] = {  # type: ignore[type-arg]
    "regexp_matches": lambda call, args: _python(args[1]).search(args[0]) is not None,
    "regexp_full_match": lambda call, args: _python(args[1]).fullmatch(args[0]) is not None,
    "regexp_replace": lambda call, args: _replaced(args),
    "regexp_extract": lambda call, args: _extracted(args),
    "ltrim": lambda call, args: args[0].lstrip(*(args[1:] or " ")),
    "rtrim": lambda call, args: args[0].rstrip(*(args[1:] or " ")),
    "left": lambda call, args: args[0][: args[1]],
    "right": lambda call, args: args[0][-args[1] :] if args[1] else "",
    "cut": lambda call, args: _slice(args),
    "repeat": lambda call, args: args[0] * args[1],
    "lpad": lambda call, args: _padded(args, left=True),
    "rpad": lambda call, args: _padded(args, left=False),
    "reverse": lambda call, args: _reversed(args),
    "translate": lambda call, args: _translated(args),
    "split_part": lambda call, args: _part(args),
    "strpos": lambda call, args: args[0].find(args[1]) + 1,
    "ends_with": lambda call, args: args[0].endswith(args[1]),
    "ascii": lambda call, args: ord(args[0][0]) if args[0] else 0,
    "unicode": lambda call, args: ord(args[0][0]) if args[0] else -1,
    "chr": lambda call, args: _character(args),
    "strlen": lambda call, args: len(args[0].encode()),
    "bit_length": lambda call, args: 8 * len(args[0].encode()),
    "levenshtein": lambda call, args: _levenshtein(args[0].encode(), args[1].encode()),
    "hex": lambda call, args: args[0].encode().hex().upper(),
    "strptime": lambda call, args: _read(args),
    "strftime": _written,
    "formatted": lambda call, args: _put(*args),
    "dayname": _named("%A"),
    "monthname": _named("%B"),
    **{name: _digest(name) for name in ("md5", "sha1", "sha256")},
}

NULL_AWARE: dict[str, Callable[[Sequence[Value]], Value]] = {
    "try_strptime": lambda args: None if None in args else _tried([str(arg) for arg in args]),
}
