"""The part of parsers that keeps the words which sqlglot would lose, for the names of columns and for messages."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.parser import Parser

WRITTEN = "written"
"""Where a type keeps, in its `meta`, its text."""
CALLED = "called"
"""Where a call without a place keeps, in its `meta`, the name by which it was called."""
_AROUND = (exp.Window, exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)
PART = "part"
"""Where EXTRACT keeps, in its `meta`, the part as it was written."""
DIRECTION = "direction"
"""Where a term of ORDER BY keeps, in its `meta`, the words behind it that were written, such as DESC and NULLS LAST."""
_DIRECTIONS = frozenset(("ASC", "DESC", "NULLS", "FIRST", "LAST"))


class Words(Parser):
    """A parser of any dialect that keeps words."""

    def _parse_types(self, *args: Any, **more: Any) -> exp.Expr | None:
        """A type with its text, of which sqlglot keeps what it means."""
        start = self._index
        found = super()._parse_types(*args, **more)
        if isinstance(found, exp.DataType) and self._index > start and WRITTEN not in found.meta:
            found.meta[WRITTEN] = self._find_sql(self._tokens[start], self._prev)
            if self._tokens[start].text.upper() == "FLOAT" and found.this == exp.DType.FLOAT:
                _make_float(found)
        return found

    def _parse_function_call(self, *args: Any, **more: Any) -> exp.Expr | None:
        """A call with its name, where sqlglot keeps neither that nor its place."""
        name = self._curr.text
        call = found = super()._parse_function_call(*args, **more)
        while isinstance(call, _AROUND):
            call = call.this
        if isinstance(call, exp.Func) and "start" not in call.meta:
            call.meta.setdefault(CALLED, name)
        return found

    def _parse_extract(self) -> exp.Extract | exp.Anonymous:
        """EXTRACT(part FROM ..) with the part as it was written, of which sqlglot has some in upper case."""
        part = self._curr.text
        found = super()._parse_extract()
        found.meta[PART] = part
        return found

    def _parse_ordered(self, parse_method: Any = None) -> exp.Ordered | None:
        """A term of ORDER BY with its words, of which sqlglot leaves those out that change nothing."""
        term = super()._parse_ordered(parse_method)
        words: list[str] = []
        while term is not None and self._tokens[self._index - 1 - len(words)].text.upper() in _DIRECTIONS:
            words.insert(0, self._tokens[self._index - 1 - len(words)].text.upper())
        if term is not None:
            term.meta[DIRECTION] = tuple(words)
        return term


def _make_float(type_: exp.DataType) -> None:
    """Let FLOAT(53), bits of a number, be DOUBLE, and FLOAT(24) FLOAT, as in DuckDB."""
    bits = [each.name for each in type_.expressions]
    if len(bits) == 1 and bits[0].isdecimal() and 0 < int(bits[0]) <= _BITS[exp.DType.DOUBLE]:
        type_.set("this", exp.DType.FLOAT if int(bits[0]) <= _BITS[exp.DType.FLOAT] else exp.DType.DOUBLE)
        type_.set("expressions", [])


_BITS = {exp.DType.FLOAT: 24, exp.DType.DOUBLE: 53}
