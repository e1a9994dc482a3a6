"""USE, SET, RESET, PRAGMA, CALL and their like: what scripts of DuckDB's begin with, by the tokens of the statement."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from ivm.catalog.names import as_literal
from ivm.sql.connection_statements import Idle, Load, Set, SetVariable
from ivm.sql.sql_text import SqlText
from ivm.sql.statements import Checkpoint, Show

_FIRST = ("DEFAULT",)
"""The words for what a setting was first."""
_SCOPES = frozenset(["GLOBAL", "SESSION", "LOCAL"])
SEARCH_PATH = "search_path"
"""The setting that USE sets, and SET schema too."""
_ASKS = {
    "database_list": "SELECT database_oid AS seq, database_name AS name, path AS file FROM duckdb_databases() "
    "WHERE NOT internal ORDER BY 1",
    "show_databases": "SELECT database_name FROM duckdb_databases() WHERE NOT internal ORDER BY 1",
    **{name: f"SELECT * FROM pragma_{name}()" for name in ("version", "platform", "collations", "user_agent")},
    "database_size": "SELECT * FROM pragma_database_size()",
}
"""What PRAGMAs without arguments ask."""
_OF_TABLE = frozenset(["table_info", "show", "storage_info"])
_SWITCHES = ("enable_", "disable_", "verify_")
"""PRAGMAs that begin so have to do with how DuckDB runs, and nothing to say."""


def about_setting(tokens: Sequence[Token], source: SqlText) -> Set | SetVariable:
    """USE, SET or RESET; ParseError for what is none."""
    word, rest = tokens[0].text.upper(), tokens[1:]
    if rest and rest[0].text.upper() in _SCOPES and word != "USE":
        rest = rest[1:]
    if not rest:
        source.misread(tokens[0].end, f"expected a name behind {word}")
    if word == "USE":
        return Set(SEARCH_PATH, _written(rest, source).strip("'"))
    if rest[0].text.upper() == "VARIABLE" and rest[1:]:
        return _variable(word, rest[1:], source)
    if [token.text.upper() for token in rest[:2]] == ["TIME", "ZONE"] and (word == "RESET") == (not rest[2:]):
        return Set("timezone", _chosen(rest[2:], source, (*_FIRST, "LOCAL")))
    name = _called(rest[0])
    if word == "RESET":
        if len(rest) > 1:
            source.misread(rest[1].start, f"RESET takes one name; {rest[1].text!r} follows")
        return Set(name, None)
    return Set(name, _value(rest, source, _FIRST))


def about_pragma(tokens: Sequence[Token], source: SqlText) -> Set | Show | Checkpoint | Idle | str:
    """PRAGMA, or the query that answers it; ParseError or UnsupportedError for what is none."""
    if len(tokens) < 2:
        source.misread(tokens[0].end, "expected a name behind PRAGMA")
    name, rest = tokens[1].text.lower(), tokens[2:]
    if rest and rest[0].token_type == TokenType.EQ:
        return Set(_called(tokens[1]), _value(tokens[1:], source))
    if name in _OF_TABLE and len(rest) > 2:
        table = _written(rest[1:-1], source)
        text = table if rest[1].token_type == TokenType.STRING else as_literal(table)
        return f"SELECT * FROM pragma_{name}({text})"
    if rest:
        source.misread(rest[0].start, f"PRAGMA {name} is followed by nothing, = and a value, or a table in parentheses")
    if name in ("show_tables", "show_tables_expanded"):
        return Show("tables" if name == "show_tables" else "all tables")
    if name == "force_checkpoint":
        return Checkpoint()
    if name.startswith(_SWITCHES):
        return Idle()
    if name not in _ASKS:
        source.refuse(tokens[1].start, f"PRAGMA {name} is not supported; {', '.join(_ASKS)} are, and table_info('t')")
    return _ASKS[name]


def about_call(tokens: Sequence[Token], source: SqlText) -> str:
    """CALL of a table function: a query."""
    if len(tokens) < 2:
        source.misread(tokens[0].end, "expected a table function behind CALL")
    return f"SELECT * FROM {_written(tokens[1:], source)}"


def about_upkeep(tokens: Sequence[Token], source: SqlText) -> Idle:
    """VACUUM and ANALYZE, of a table or all."""
    rest = list(tokens[1:])
    while rest and rest[0].text.upper() in ("ANALYZE", "FULL", "VERBOSE"):
        rest = rest[1:]
    return Idle(rest[0].text if rest else "")


def about_extension(tokens: Sequence[Token], source: SqlText) -> Load:
    """LOAD and INSTALL."""
    if len(tokens) < 2:
        source.misread(tokens[0].end, f"expected the name of an extension behind {tokens[0].text.upper()}")
    return Load(tokens[1].text, _written(tokens, source))


def _variable(word: str, rest: Sequence[Token], source: SqlText) -> SetVariable:
    if word == "RESET":
        return SetVariable(rest[0].text, None)
    if len(rest) < 3 or (rest[1].token_type != TokenType.EQ and rest[1].text.upper() != "TO"):
        source.misread(rest[0].end, "expected = and an expression behind the name of the variable")
    return SetVariable(rest[0].text, _written(rest[2:], source))


def _called(token: Token) -> str:
    name = token.text.lower()
    return SEARCH_PATH if name == "schema" else name


def _value(tokens: Sequence[Token], source: SqlText, first: Sequence[str] = ()) -> str | None:
    """What stands behind = or TO: a text without its quotes, else as it was written; None for a word of `first`."""
    name, *rest = tokens
    if not rest or (rest[0].token_type != TokenType.EQ and rest[0].text.upper() != "TO"):
        source.misread(name.end, f"expected = and a value behind SET {name.text}")
    if not rest[1:]:
        source.misread(rest[0].end, f"expected a value behind SET {name.text} {rest[0].text}")
    if any(token.token_type == TokenType.COMMA for token in rest[1:]):
        source.misread(rest[2].start, "SET takes one value; write 'a, b' for several schemas")
    return _chosen(rest[1:], source, first)


def _chosen(tokens: Sequence[Token], source: SqlText, first: Sequence[str]) -> str | None:
    is_first = len(tokens) == 1 and tokens[0].token_type != TokenType.STRING and tokens[0].text.upper() in first
    return None if is_first or not tokens else _text(tokens, source)


def _text(tokens: Sequence[Token], source: SqlText) -> str:
    is_text = len(tokens) == 1 and tokens[0].token_type == TokenType.STRING
    return tokens[0].text if is_text else _written(tokens, source)


def _written(tokens: Sequence[Token], source: SqlText) -> str:
    return source.text[tokens[0].start : tokens[-1].end + 1]
