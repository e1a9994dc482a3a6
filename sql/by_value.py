"""A SELECT of the rows that have a value, cut into what all such SELECTs have in common and the value of this one.

Thousands who ask the same, each of another tenant, are answered by one view, which shows the tenant too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from ivm.catalog.clock import OWN
from ivm.sql.edits import edited
from ivm.sql.sql_text import SqlText
from ivm.sql.syntax import dialect_named, statement_tokens


@dataclass(frozen=True, slots=True)
class ByValue:
    """A SELECT whose rows are those of `text` on which its last columns, called `columns`, have these `values`, without
    these columns. Each value is as it is written.

    Where it is all columns of a relation that are asked, and nothing else, `of` is the name of that, and `compared`
    are the names of its columns that the values are of.
    """

    text: str
    columns: tuple[str, ...]
    values: tuple[str, ...]
    of: str
    compared: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Compared:
    """`name = value` from `begin` to `end` of the text, where the `column` is what the name ends with."""

    begin: int
    end: int
    name: str
    column: str
    value: str


_CLAUSES = frozenset(("WHERE", "GROUP BY", "HAVING"))
_NOT_CUT = frozenset((
    "ORDER BY", "LIMIT", "OFFSET", "FETCH", "QUALIFY", "WINDOW", "UNION", "EXCEPT", "INTERSECT", "DISTINCT", "OR",
    "XOR", "BETWEEN", "CASE", ";", "TABLESAMPLE", "LAMBDA", "->",
))  # fmt: skip
"""What asks of several rows at once, or has an AND that joins no terms, where it stands outside of parentheses."""
_NOT_GROUPED = frozenset(("ALL", "ROLLUP", "CUBE", "GROUPING SETS"))
_TEXTS = (TokenType.STRING, TokenType.IDENTIFIER)


def by_value(text: str) -> ByValue | None:
    """How a SELECT in DuckDB's dialect is cut; None where its words do not say for certain that it can be.

    What comes of it is to be bound: a SELECT that is wrong is cut, too. Cost: that of tokens.
    """
    tokens = statement_tokens(dialect_named("duckdb"), SqlText(text))
    outer = _outer(tokens)
    words = {_word(tokens[place]): place for place in reversed(outer)}  # the first of each
    if words.get("SELECT") != 0 or not _NOT_CUT.isdisjoint(words) or not {"FROM", "WHERE"} <= words.keys():
        return None
    begins, where = words["FROM"], words["WHERE"]
    if any(_word(token) == "OVER" for token in tokens[:begins]):
        return None
    stops = [place for place in outer if _word(tokens[place]) in _CLAUSES] + [len(tokens)]
    ends = dict(pairwise(stops))
    terms = _terms(tokens, outer, where + 1, ends[where])
    compared = [found for term in terms if (found := _compared(term, text)) is not None]
    edits = [(each.begin, each.end, "TRUE") for each in compared]
    if "GROUP BY" in words:
        grouped = tokens[words["GROUP BY"] + 1 : ends[words["GROUP BY"]]]
        if not _is_list(grouped):
            return None
        edits += [(grouped[-1].end + 1, grouped[-1].end + 1, f", {each.name}") for each in compared]
    columns = tuple(f"{OWN}value_{place}" for place in range(len(compared)))
    behind = tokens[begins - 1].end + 1
    edits += [(behind, behind, f", {each.name} AS {name}") for each, name in zip(compared, columns, strict=True)]
    of = _all_of(tokens[1:where]) if len(compared) == len(terms) and len(stops) == 2 else ""
    values = tuple(each.value for each in compared)
    return (
        ByValue(edited(text, edits), columns, values, of, tuple(each.column for each in compared)) if compared else None
    )


def _is_list(grouped: Sequence[Token]) -> bool:
    """Whether these are expressions, one after the other, and no sets of them."""
    words = [_word(token) for token in grouped]
    begin_sets = (word == "(" and before in (",", "") for before, word in zip(["", *words], words, strict=False))
    return bool(words) and _NOT_GROUPED.isdisjoint(words) and not any(begin_sets)


def _word(token: Token) -> str:
    return "" if token.token_type in _TEXTS else token.text.upper()


def _outer(tokens: Sequence[Token]) -> list[int]:
    """The places of the tokens outside of all parentheses."""
    depth, found = 0, list[int]()
    for place, token in enumerate(tokens):
        word = _word(token)
        depth += word in ("(", "[", "{")
        if not depth:
            found.append(place)
        depth -= word in (")", "]", "}")
    return found


def _terms(tokens: Sequence[Token], outer: Sequence[int], begin: int, end: int) -> list[Sequence[Token]]:
    """What AND joins, from one place to another."""
    ands = [place for place in outer if begin <= place < end and tokens[place].token_type == TokenType.AND]
    return [tokens[a:b] for a, b in zip([begin, *(place + 1 for place in ands)], [*ands, end], strict=True)]


def _compared(term: Sequence[Token], text: str) -> _Compared | None:
    """A column that is compared with something, by its words."""
    equals = [place for place, token in enumerate(term) if token.token_type == TokenType.EQ]
    if len(equals) != 1 or not 0 < equals[0] < len(term) - 1:
        return None
    left, right = term[: equals[0]], term[equals[0] + 1 :]
    if not _is_name(left):
        left, right = right, left
    if not _is_name(left):
        return None
    name, value = (text[each[0].start : each[-1].end + 1] for each in (left, right))
    return _Compared(term[0].start, term[-1].end + 1, name, left[-1].text, value)


def _is_name(tokens: Sequence[Token]) -> bool:
    """Whether this is what a column is called, maybe with its table."""
    names, dots = tokens[::2], tokens[1::2]
    are_names = all(token.token_type == TokenType.IDENTIFIER or token.text.isidentifier() for token in names)
    is_value = tokens[0].token_type in (TokenType.STRING, TokenType.NULL, TokenType.TRUE, TokenType.FALSE)
    are_dots = all(token.token_type == TokenType.DOT for token in dots)
    return len(tokens) in (1, 3) and are_names and are_dots and not is_value


def _all_of(tokens: Sequence[Token]) -> str:
    """The relation of `* FROM relation`; empty where there is more."""
    kinds = [token.token_type for token in tokens[:2]]
    return tokens[2].text if kinds == [TokenType.STAR, TokenType.FROM] and len(tokens) == 3 else ""
