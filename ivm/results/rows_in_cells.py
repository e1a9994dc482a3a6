"""ROW(1, 2) as a tuple of Python's: Arrow has it as a struct whose fields are called element1, element2, ..

Which structs are such is told by the SQL text of a column's type, as TUPLE(INTEGER, INTEGER)[].
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

Convert = Callable[[Any], Any]
"""From a value as Arrow gives it to one with tuples."""

_TOKEN = re.compile(r"""\s*("(?:[^"]|"")*"|'(?:[^']|'')*'|[()\[\],]|[^\s()\[\],]+)""")


def has_rows(type_text: str) -> bool:
    """Whether the SQL text of a type may be of rows, or of what is made of them."""
    return "TUPLE(" in type_text


@lru_cache
def converter(type_text: str) -> Convert:
    """What makes tuples of the rows in a value of the type."""
    return _Reader(_TOKEN.findall(type_text)).type() or _same


def _same(value: Any) -> Any:
    return value


class _Reader:
    """Reads the text of a type; what is not made of rows is None."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = [*tokens, ""]
        self._at = 0

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def type(self) -> Convert | None:
        """A type, up to what ends it."""
        name = self._next()
        found = None
        while self._tokens[self._at] not in ("", ",", ")", "[", "]", "("):
            self._next()  # more words, as of TIMESTAMP WITH TIME ZONE
        if self._tokens[self._at] == "(":
            self._next()
            found = self._parts(name)
        while self._tokens[self._at] == "[":
            while self._next() != "]":
                pass
            found = None if found is None else _of_lists(found)
        return found

    def _parts(self, name: str) -> Convert | None:
        names, parts = list[str](), list[Convert | None]()
        while True:
            if name == "STRUCT":
                names.append(self._next().strip('"').replace('""', '"'))
            parts.append(self.type())
            if self._next() != ",":
                break
        if name == "TUPLE":
            return _of_rows(parts)
        if all(part is None for part in parts):
            return None
        return _of_structs(names, parts) if name == "STRUCT" else _of_maps(*parts)


def _of_rows(parts: list[Convert | None]) -> Convert:
    convert = [part or _same for part in parts]

    def row(value: Any) -> Any:
        return None if value is None else tuple(each(v) for each, v in zip(convert, value.values(), strict=True))

    return row


def _of_structs(names: list[str], parts: list[Convert | None]) -> Convert:
    convert = [(name, part) for name, part in zip(names, parts, strict=True) if part is not None]
    return lambda value: None if value is None else value | {name: each(value[name]) for name, each in convert}


def _of_lists(part: Convert) -> Convert:
    return lambda value: None if value is None else [part(each) for each in value]


def _of_maps(key: Convert | None, item: Convert | None) -> Convert:
    key, item = key or _same, item or _same

    def entries(value: Any) -> Any:
        if value is None:
            return None
        pairs = [(key(k), item(v)) for k, v in (value.items() if isinstance(value, dict) else value)]
        try:
            return dict(pairs)
        except TypeError:  # keys that are lists cannot be those of a dict
            return pairs

    return entries
