"""Where a text calls macros, found by its tokens: whatever surrounds a call stays as it was written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from sqlglot.tokenizer_core import Token, TokenType

from ivm.catalog.names import key
from ivm.sql.macro_words import CLOSING, OPENING, closing
from ivm.sql.refused import too_deep
from ivm.sql.sql_text import SqlText


@dataclass(frozen=True, slots=True)
class Call:
    """A call of what is known as `name`: its tokens from `first` to `close`, its arguments between `opened` and that.

    `is_table`: it stands in FROM.
    """

    name: str
    is_table: bool
    first: int
    opened: int
    close: int


@dataclass(slots=True)
class Found:
    """Calls, outer ones before those within, and the items of all lists of SELECT and RETURNING: places of tokens."""

    calls: list[Call] = field(default_factory=list)
    items: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class _Level:
    """What stands in one pair of parentheses: the `clause` that is being read, and where an item of SELECT begins.

    In `clause` "value" there is an expression, and FROM begins no clause, as in extract(year FROM x).
    """

    clause: str
    item: int = 0
    at_table: bool = False


Meant = Callable[[Sequence[str], bool], str | None]
"""What a macro is known as that has a name of these parts, and stands in FROM or not; None if there is none."""

MOST_LEVELS = 400
"""Parentheses in parentheses; the parser takes some 200."""
T = TokenType
_LISTS = frozenset([T.SELECT, T.RETURNING])
_ENDS_FROM = frozenset(
    (T.WHERE, T.GROUP_BY, T.HAVING, T.QUALIFY, T.WINDOW, T.ORDER_BY, T.LIMIT, T.OFFSET, T.UNION, T.EXCEPT, T.INTERSECT)
)
_ENDS = _ENDS_FROM | {T.ON, T.INTO, T.USING}
"""What ends a list of SELECT, beside FROM."""
_BEFORE_TABLES = frozenset([T.FROM, T.JOIN, T.COMMA, T.LATERAL, T.USING])
_AFTER_WORDS = frozenset((T.INTO, T.TABLE, T.VIEW, T.REFERENCES, T.ALIAS, T.COPY, T.EXISTS, T.WITH, T.RECURSIVE))
_BEFORE_NAMES = _AFTER_WORDS | {T.DCOLON, T.VAR, T.IDENTIFIER, T.R_PAREN, T.STRING}
"""What stands before a name with columns in parentheses, and never before a call."""
_NOT_NAMES = frozenset([T.STRING, T.NUMBER])


def find(
    tokens: Sequence[Token], names: Collection[str], meant: Meant, source: SqlText, *, value: bool = False
) -> Found:
    """The calls of macros by these keys in a statement, or in an expression if it is a `value`."""
    reader = _Reader(tokens, names, meant, source)
    reader.read("value" if value else "other")
    return reader.found


class _Reader:
    def __init__(self, tokens: Sequence[Token], names: Collection[str], meant: Meant, source: SqlText) -> None:
        self.tokens = tokens
        self.kinds = [token.token_type for token in tokens]
        self.names = names
        self.meant = meant
        self.source = source
        self.found = Found()
        words = [token.text.upper() for token in tokens[:3]]
        self.is_index = words[:1] == ["CREATE"] and "INDEX" in words
        self.is_using = T.DELETE in self.kinds or T.MERGE in self.kinds

    def read(self, clause: str) -> None:
        levels = [_Level(clause)]
        for place, kind in enumerate(self.kinds):
            level = levels[-1]
            if kind in OPENING:
                levels.append(self._opened(level, place))
                if len(levels) > MOST_LEVELS:
                    self.source.refuse(self.tokens[place].start, too_deep())
            elif kind in CLOSING:
                self._end_item(level, place)
                if len(levels) > 1:
                    levels.pop()
            else:
                self._step(level, place, kind)
                if place + 1 < len(self.kinds) and self.kinds[place + 1] == T.L_PAREN:
                    self._call(level, place)
        self._end_item(levels[0], len(self.tokens))

    def _opened(self, level: _Level, place: int) -> _Level:
        at_table = self.kinds[place] == T.L_PAREN and self._is_table(level, place)
        return _Level("from" if at_table else "value", at_table=at_table)

    def _is_table(self, level: _Level, place: int) -> bool:
        """Whether what begins here stands where a table does."""
        if level.clause != "from" or not place:
            return False
        before = self.kinds[place - 1]
        return before in _BEFORE_TABLES or (before == T.L_PAREN and level.at_table)

    def _step(self, level: _Level, place: int, kind: TokenType) -> None:
        before = self.kinds[place - 1] if place else None
        if kind in _LISTS:
            self._end_item(level, place)
            level.clause, level.item = "select", self._begin(place + 1)
        elif kind == T.FROM and before != T.DISTINCT and (level.clause != "value" or before == T.L_PAREN):
            self._end_item(level, place)
            level.clause = "from"
        elif kind == T.COMMA and level.clause == "select":
            self._end_item(level, place)
            level.item = place + 1
        elif level.clause == "select" and place >= level.item and (kind in _ENDS or self._is_data(place)):
            self._end_item(level, place)
            level.clause = "other"
        elif level.clause == "from" and (kind in _ENDS_FROM or kind == T.WHEN):
            level.clause = "other"
        elif kind == T.USING and self.is_using and level.clause == "other":
            level.clause = "from"

    def _is_data(self, place: int) -> bool:
        """Whether WITH [NO] DATA begins here."""
        following = self.tokens[place + 1 : place + 2]
        return self.kinds[place] == T.WITH and bool(following) and following[0].text.upper() in ("NO", "DATA")

    def _begin(self, place: int) -> int:
        """Where the first item of a list begins, behind DISTINCT [ON (..)] or ALL."""
        kinds = self.kinds[place : place + 2]
        if kinds[:1] == [T.ALL]:
            return place + 1
        if kinds == [T.DISTINCT, T.ON]:
            return closing(self.tokens, place + 2) + 1
        return place + (kinds[:1] == [T.DISTINCT])

    def _end_item(self, level: _Level, place: int) -> None:
        if level.clause == "select" and level.item < place:
            self.found.items.append((level.item, place - 1))
            level.item = place

    def _call(self, level: _Level, place: int) -> None:
        """Note what is called by the name that stands here, if it is a call of a macro."""
        token, first = self.tokens[place], place
        if key(token.text) not in self.names or token.token_type in _NOT_NAMES:
            return
        while first > 1 and self.kinds[first - 1] == T.DOT:
            first -= 2
        is_table = self._is_table(level, first)
        name = self.meant([each.text for each in self.tokens[first : place + 1 : 2]], is_table)
        if name is None:
            if self.meant([token.text], is_table) is not None:
                what = f"a macro is not called behind a dot; write {token.text}(x) instead of x.{token.text}()"
                self.source.refuse(token.start, what)
            return
        before = self.kinds[first - 1] if first else None
        close = closing(self.tokens, place + 1)
        is_named = before in _BEFORE_NAMES and not (level.clause == "select" and level.item == first)
        if is_named or (before == T.ON and self.is_index) or self._is_expression(close):
            return
        self.found.calls.append(Call(name, is_table, first, place + 1, close))

    def _is_expression(self, close: int) -> bool:
        """Whether what ends here is the head of a common table expression: name (columns) AS (...)."""
        kinds = self.kinds[close + 1 : close + 3]
        words = [token.text.upper() for token in self.tokens[close + 2 : close + 3]]
        return kinds[:1] == [T.ALIAS] and (kinds[1:] == [T.L_PAREN] or words in (["MATERIALIZED"], ["NOT"]))
