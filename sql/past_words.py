"""The part of parsers that reads as of which time a relation, or a whole query, is asked for.

Behind a name: AT (VERSION => n), AT (TIMESTAMP => t), FOR SYSTEM_TIME AS OF t, FOR VERSION AS OF n, AS OF t. At the
end of a query AS OF t is of all that it reads.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import TokenType

AS_OF = "as_of"
"""The argument of a query where its time stands; that of a table stands in "version", or in "when"."""
CLAUSE = "clause"
"""Where a time keeps, in its `meta`, from which offset to which it was written."""

_VERSION, _TIMESTAMP = "VERSION", "TIMESTAMP"
_KINDS = {_VERSION: _VERSION, _TIMESTAMP: _TIMESTAMP, "TIMESTAMPTZ": _TIMESTAMP, "DATE": _TIMESTAMP}
_LITERALS = frozenset((TokenType.NUMBER, TokenType.STRING))


class Past(Parser):
    """A parser of any dialect that reads times."""

    def _parse_table_alias(self, *args: Any, **more: Any) -> exp.TableAlias | None:
        """AS OF 5 gives no other name."""
        return None if self._is_as_of() else super()._parse_table_alias(*args, **more)

    def _parse_table(self, schema: bool = False, joins: bool = False, *args: Any, **more: Any) -> exp.Expr | None:
        """A table may have its time behind its alias, too. At the end of a query it is left to that."""
        table = super()._parse_table(schema, joins, *args, **more)
        if schema or not isinstance(table, exp.Table) or table.args.get("version") or table.args.get("when"):
            return table
        start, version = self._index, self._parse_version() or self._parse_as_of()
        if version is not None and not version.args.get("this") and self._is_at_end():
            self._retreat(start)
        elif version is not None:
            table.set("version", version)
            for join in self._parse_joins() if joins else ():
                table.append("joins", join)
        return table

    def _parse_query_modifiers(self, this: Any) -> Any:
        """A query may have its time behind it."""
        query = super()._parse_query_modifiers(this)
        if isinstance(query, exp.Query) and not query.args.get(AS_OF):
            found = self._parse_as_of()
            if found is not None:
                query.set(AS_OF, found)
        return query

    def _parse_version(self) -> exp.Version | None:
        """FOR SYSTEM_TIME AS OF, with its place."""
        start = self._curr.start
        found = super()._parse_version()
        if found is not None:
            found.meta[CLAUSE] = start, self._prev.end + 1
        return found

    def _parse_historical_data(self) -> exp.HistoricalData | None:
        """AT (VERSION => n), with its place."""
        start = self._curr.start
        found = super()._parse_historical_data()
        if found is not None:
            found.meta[CLAUSE] = start, self._prev.end + 1
        return found

    def _parse_as_of(self) -> exp.Version | None:
        """AS OF 5, AS OF '2024-01-01', AS OF TIMESTAMP .., AS OF VERSION ..; `this` is empty."""
        if not self._is_as_of():
            return None
        start, is_typed = self._curr.start, False
        self._advance(2)
        word = self._curr.text.upper() if self._curr.token_type not in _LITERALS else ""
        if word in _KINDS:
            is_typed = self._next.token_type is TokenType.STRING
            if not is_typed:
                self._advance()
        kind = _KINDS.get(word, _VERSION if self._curr.token_type is TokenType.NUMBER else _TIMESTAMP)
        found = exp.Version(kind=kind, expression=self._parse_bitwise())
        found.meta[CLAUSE] = start, self._prev.end + 1
        return found

    def _is_as_of(self) -> bool:
        """Whether a time follows: AS OF and what could not stand behind a name `of`."""
        if self._curr.token_type is not TokenType.ALIAS or self._next.text.upper() != "OF":
            return False
        behind = self._tokens[self._index + 2] if self._index + 2 < len(self._tokens) else None
        return behind is not None and (behind.token_type in _LITERALS or behind.text.upper() in _KINDS)

    def _is_at_end(self) -> bool:
        return self._index >= len(self._tokens) or self._curr.token_type is TokenType.R_PAREN


def moment_of(time: exp.Expr) -> tuple[str, exp.Expr] | None:
    """VERSION or TIMESTAMP, and the expression that says which; None for what is no one time."""
    said, kind = time.args.get("expression"), time.args.get("kind")
    if not isinstance(said, exp.Expr):
        return None
    if isinstance(time, exp.HistoricalData):
        return (kind, said) if time.args.get("this") == "AT" and kind in (_VERSION, _TIMESTAMP) else None
    if not time.args.get("this"):
        return str(kind), said
    if kind != "AS OF":
        return None
    is_number = isinstance(said, exp.Literal) and not said.is_string
    return (_VERSION if is_number or time.args.get("this") == _VERSION else _TIMESTAMP), said
