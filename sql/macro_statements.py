"""CREATE MACRO and DROP MACRO, read from their tokens: sqlglot does not know all of their grammar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from ivm.catalog.macro import Macro, Overload, Parameter
from ivm.catalog.names import spelled_part, twice
from ivm.sql.macro_body import query_of, trees
from ivm.sql.macro_words import CLOSING, NAMING, OPENING, closing, parts
from ivm.sql.sql_text import SqlText
from ivm.sql.statements import CreateMacro, Drop
from ivm.sql.words import without

_CREATE = "CREATE MACRO name(x, y := 1) AS expression, or AS TABLE SELECT ..."
_NOT_NAMES = frozenset([TokenType.STRING, TokenType.NUMBER])


def about_macro(tokens: Sequence[Token], source: SqlText, dialect: str) -> CreateMacro | Drop:
    """The statement of these tokens. ParseError for what is none; UnsupportedError for what is not supported of it."""
    if dialect != "duckdb":
        source.refuse(tokens[0].start, f"macros are written in DuckDB's dialect, not in {dialect!r}; leave dialect out")
    if tokens[0].text.upper() == "DROP":
        return _drop(tokens, source)
    replace, rest = without(("OR", "REPLACE"), tokens[1:])
    temporary = rest[0].text.upper() in ("TEMP", "TEMPORARY")
    rest = rest[temporary:]
    exists, rest = without(("IF", "NOT", "EXISTS"), rest[1:])
    if replace and exists:
        source.fail(tokens[0].start, "OR REPLACE and IF NOT EXISTS exclude each other; write one of them")
    (*schema, name), rest = _name(rest, source, tokens)
    if schema and temporary:
        source.refuse(tokens[0].start, f"a TEMP macro is in no schema; write {name} alone")
    forms = list(_forms(rest, source))
    if len({is_table for is_table, _ in forms}) > 1:
        source.fail(tokens[0].start, f"macro {name!r} has forms with TABLE and without; create one macro of each kind")
    typed = [len(each.parameters) for _, each in forms if any(parameter.type for parameter in each.parameters)]
    if any(sum(len(each.parameters) == count for _, each in forms) > 1 for count in typed):
        what = f"macro {name!r} has forms that types alone tell from each other, which is not supported"
        source.refuse(tokens[0].start, f"{what}; create a macro of another name for each")
    macro = Macro(name, forms[0][0], tuple(overload for _, overload in forms), temporary, ".".join(schema))
    return CreateMacro(macro, exists, replace)


def _drop(tokens: Sequence[Token], source: SqlText) -> Drop:
    is_table, rest = without(("TABLE",), tokens[2:])
    exists, rest = without(("IF", "EXISTS"), rest)
    parts, rest = _name(rest, source, tokens)
    if rest:
        source.misread(
            rest[0].start, "unexpected here; write DROP MACRO [TABLE] [IF EXISTS] name, one statement for each"
        )
    return Drop("MACRO TABLE" if is_table else "MACRO", ".".join(map(spelled_part, parts)), exists)


def _name(rest: Sequence[Token], source: SqlText, tokens: Sequence[Token]) -> tuple[list[str], Sequence[Token]]:
    """The name of the macro, behind its database and schema where they are written, and what follows it."""
    parts = list[str]()
    while True:
        if (
            not rest
            or rest[0].token_type in _NOT_NAMES
            or not rest[0].text[0].isprintable()
            or rest[0].text[0] in "(.,"
        ):
            source.misread(rest[0].start if rest else tokens[-1].end, f"expected the name of a macro; write {_CREATE}")
        parts.append(rest[0].text)
        rest = rest[1:]
        if not rest or rest[0].token_type != TokenType.DOT:
            return parts, rest
        rest = rest[1:]


def _forms(rest: Sequence[Token], source: SqlText) -> Iterator[tuple[bool, Overload]]:
    """The forms (x, y) AS ..., each with whether it is one of TABLE."""
    begin, end = 0, 0
    while begin < len(rest):
        close = closing(rest, begin)
        if rest[begin].token_type != TokenType.L_PAREN or rest[close + 1 : close + 2] == []:
            break
        if rest[close + 1].token_type != TokenType.ALIAS:
            source.misread(rest[close + 1].start, f"expected AS here; write {_CREATE}")
        end = _end_of_form(rest, close + 2)
        is_table, body = without(("TABLE",), rest[close + 2 : end])
        if not body:
            break
        parameters = tuple(_parameters(rest[begin + 1 : close], source))
        yield is_table, Overload(parameters, _body(body, is_table, source))
        begin = end + 1
    if begin <= len(rest) and (begin == 0 or end != len(rest)):
        at = rest[min(begin, len(rest) - 1)].start if rest else len(source.text) - 1
        source.misread(at, f"something is missing here; write {_CREATE}")


def _end_of_form(rest: Sequence[Token], begin: int) -> int:
    """Where a form ends that begins there: at a comma with (x, y) AS behind it, or at the end."""
    depth, is_table = 0, rest[begin : begin + 1] != [] and rest[begin].token_type == TokenType.TABLE
    for place in range(begin, len(rest)):
        depth += (rest[place].token_type in OPENING) - (rest[place].token_type in CLOSING)
        if depth == 0 and rest[place].token_type == TokenType.COMMA:
            close = closing(rest, place + 1)
            words = [token.text.upper() for token in rest[close + 1 : close + 3]]
            if not is_table or words == ["AS", "TABLE"]:
                return place
    return len(rest)


def _parameters(tokens: Sequence[Token], source: SqlText) -> Iterator[Parameter]:
    names, defaults = list[str](), False
    for part in parts(tokens):
        if not part or part[0].token_type in _NOT_NAMES:
            source.misread((part or tokens)[0].start, f"expected the name of a parameter; write {_CREATE}")
        name, default, kind = part[0].text, None, ""
        names.append(name)
        if twice(names) is not None:
            source.fail(part[0].start, f"two parameters are called {name!r}; rename one")
        named = next((i for i, token in enumerate(part) if token.token_type in NAMING), len(part))
        if named > 1:
            kind = source.text[part[1].start : part[named - 1].end + 1]
            trees(f"CAST(NULL AS {kind})", SqlText(kind, *source.position(part[1].start)))
        if named < len(part):
            if named + 1 == len(part):
                source.misread(part[named].end, f"expected the default of parameter {name!r} here; write {_CREATE}")
            first = part[named + 1].start
            default = source.text[first : part[-1].end + 1]
            tree = trees(default, SqlText(default, *source.position(first)))
            if any(isinstance(node, exp.Column) for node in tree):
                source.fail(first, f"the default of parameter {name!r} names a column; write a constant")
        elif defaults:
            source.fail(part[0].start, f"parameter {name!r} has no default and follows one that has; put it before")
        defaults = defaults or default is not None
        yield Parameter(name, default, kind)


def _body(tokens: Sequence[Token], is_table: bool, source: SqlText) -> str:
    """The text of a body; ParseError where it is not what it should be."""
    text = source.text[tokens[0].start : tokens[-1].end + 1]
    placed = SqlText(text, *source.position(tokens[0].start))
    if is_table:
        query_of(text, placed)
    else:
        trees(text, placed)
    return text
