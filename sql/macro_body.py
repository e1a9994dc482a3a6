"""The bodies of macros: where their parameters stand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from ivm.catalog.macro import Overload, RelationParameter
from ivm.catalog.names import key
from ivm.sql.sql_text import SqlText
from ivm.sql.syntax import dialect_named, query, statement_tokens
from ivm.sql.tree import nodes_of

_SELECT = "SELECT "


def trees(text: str, placed: SqlText) -> list[exp.Expr]:
    """The nodes of an expression, whose offsets are those in `text`, behind `_SELECT`; ParseError for what is none."""
    line, column = placed.line, placed.column
    read = query(SqlText(_SELECT + text, line, column - len(_SELECT)), "duckdb").tree
    items = read.expressions
    rest = [arg for arg, value in read.args.items() if value and arg not in ("expressions", "kind")]
    if not isinstance(read, exp.Select) or len(items) != 1 or isinstance(items[0], exp.Alias) or rest:
        placed.misread(0, "expected one expression here; put a query in parentheses, or write AS TABLE before it")
    return nodes_of(items[0])


def query_of(text: str, placed: SqlText) -> list[exp.Expr]:
    """The nodes of a query; ParseError for what is none."""
    tree = query(placed, "duckdb").tree
    if not isinstance(tree, exp.Query | exp.Values):
        placed.misread(0, "expected SELECT after AS TABLE; leave TABLE out for an expression")
    return nodes_of(tree)


@lru_cache(1024)
def sites(overload: Overload, is_table: bool) -> tuple[tuple[int, int, str], ...]:
    """Where parameters stand in the body: from an offset to another, and the key of the parameter, in order.

    That is where a column of that name could stand, or a STRUCT before the name of a field; names of tables and aliases
    are none, but for those of relations.
    """
    body, known = overload.body, {key(each.name) for each in overload.parameters}
    given = {key(each.name) for each in overload.parameters if isinstance(each, RelationParameter)}
    shift = 0 if is_table else len(_SELECT)
    nodes = query_of(body, SqlText(body)) if is_table else trees(body, SqlText(body))
    relations = {key(each.alias_or_name) for each in nodes if isinstance(each, exp.Table | exp.Subquery)}
    starts = set[int | None]()
    for node in nodes:
        if isinstance(node, exp.Column):
            first = node.parts[0]
            if len(node.parts) == 1 or key(first.name) not in relations:
                starts.add(first.meta.get("start"))
        elif isinstance(node, exp.Table) and key(node.name) in given:
            starts.add(node.this.meta.get("start"))
    tokens = statement_tokens(dialect_named("duckdb"), SqlText(body))
    return tuple(
        (token.start, token.end + 1, key(token.text))
        for place, token in enumerate(tokens)
        if key(token.text) in known and (token.start + shift in starts or _is_unit(tokens, place))
    )


_WITH_UNITS = frozenset(["date_trunc", "datetrunc", "date_diff", "datediff", "date_sub", "datesub"])


def _is_unit(tokens: Sequence[Token], place: int) -> bool:
    """Whether it is the unit of a function of dates, which sqlglot makes a word of."""
    before = tokens[place - 2 : place] if place > 1 else ()
    return len(before) == 2 and before[1].token_type == TokenType.L_PAREN and key(before[0].text) in _WITH_UNITS
