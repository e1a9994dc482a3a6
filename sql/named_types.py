"""Types by the names that CREATE TYPE gave them, replaced in a text by what they stand for.

What is kept of a text, such as the definition of a view, holds no names of types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from ivm.catalog.names import key, parts_of, spelled_part
from ivm.catalog.paths import Names
from ivm.sql.sql_text import SqlText
from ivm.sql.statements import CreateType, Drop
from ivm.sql.syntax import chunks, dialect_named, statement_tokens
from ivm.sql.types.declared import declared_type, is_type
from ivm.sql.words import end_of_name, without

_CREATES = re.compile(r"create\s+(?:or\s+replace\s+)?type\s")
_CASTS = frozenset(["CAST", "TRY_CAST"])
_CONSTRAINTS = frozenset(["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"])
_Place = tuple[int, int, str]
"""From where to where in a text there is something else."""
_FIELDS = {"STRUCT": 1, "ROW": 1, "UNION": 1, "MAP": 0}
"""Types that are made of others, in parentheses, and how many words stand before each of these."""
_NOT_NAMES = frozenset([TokenType.STRING, TokenType.NUMBER])


def with_types(text: str, names: Names, dialect: str = "duckdb") -> str:
    """The text with the SQL of each type in the place of its name.

    Looked at are casts and the columns of CREATE and ALTER TABLE. Types that the text creates are known behind that.
    Cost: that of tokens, where the text holds a name or CREATE TYPE; else a search.
    """
    folded, types = key(text), names.catalog.types
    if not any(names.catalog.parts(name)[1] in folded for name in types) and _CREATES.search(folded) is None:
        return text
    known, places = {name: str(type_) for name, type_ in types.items()}, list[_Place]()
    for tokens in chunks(statement_tokens(dialect_named(dialect), SqlText(text))):
        created = _created(tokens)
        found = _types(tokens) if created is None else _names(tokens, created)
        named = list(_meant(tokens, found, names, known))
        places += named
        places += _of_pivots(tokens, names, known)
        if created is not None:
            begin = _begin(tokens)
            name = names.created([token.text for token in tokens[begin : end_of_name(tokens, begin) : 2]])
            known[key(name)] = _written(text, tokens[created].start, tokens[-1].end + 1, named)
    return _written(text, 0, len(text), places)


def _written(text: str, start: int, end: int, places: Sequence[_Place]) -> str:
    """A part of a text with others in some places of it."""
    written = text[start:end]
    for first, last, other in sorted(places, reverse=True):
        written = written[: first - start] + other + written[last - start :]
    return written


def _meant(tokens: list[Token], places: Iterator[int], names: Names, known: Mapping[str, str]) -> Iterator[_Place]:
    """What stands for the names of types that begin at these places."""
    for place in places:
        end = end_of_name(tokens, place)
        name = names.type([token.text for token in tokens[place:end:2]], known)
        if name is not None and key(name) in known:
            yield tokens[place].start, tokens[end - 1].end + 1, known[key(name)]


def _begin(tokens: list[Token]) -> int:
    """Where the name begins of CREATE [OR REPLACE] TYPE [IF NOT EXISTS] name AS type."""
    words = [token.text.upper() for token in tokens[:7]]
    begin = 4 if words[1:3] == ["OR", "REPLACE"] else 2
    return begin + (3 if words[begin : begin + 3] == ["IF", "NOT", "EXISTS"] else 0)


def _created(tokens: list[Token]) -> int | None:
    """Where the type begins that CREATE TYPE gives a name."""
    begin = _begin(tokens)
    words = [token.text.upper() for token in tokens[:begin]]
    if words[:1] != ["CREATE"] or "TYPE" not in words[1:4:2]:
        return None
    at = end_of_name(tokens, begin) + 1
    return at if len(tokens) > at and tokens[at - 1].text.upper() == "AS" else None


def _types(tokens: list[Token]) -> Iterator[int]:
    """Where the names of types stand, also within other types."""
    for place in (*_of_columns(tokens), *_of_altered(tokens), *_of_casts(tokens)):
        yield from _names(tokens, place)


def _names(tokens: list[Token], place: int) -> Iterator[int]:
    """Where the names of types stand in the one that begins at a place."""
    if place < len(tokens):
        yield place
    word = tokens[place].text.upper() if place < len(tokens) else ""
    if word not in _FIELDS or place + 1 == len(tokens) or tokens[place + 1].token_type != TokenType.L_PAREN:
        return
    depth = 0
    for at in range(place + 1, len(tokens)):
        kind = tokens[at].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth == 0:
            return
        if depth == 1 and kind in (TokenType.L_PAREN, TokenType.COMMA):
            yield from _names(tokens, at + 1 + _FIELDS[word])


def _of_casts(tokens: list[Token]) -> Iterator[int]:
    """Where a type begins in CAST(x AS type) and x::type."""
    casts: list[bool] = []
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else token
        if token.token_type == TokenType.L_PAREN:
            casts.append(before.text.upper() in _CASTS)
        elif token.token_type == TokenType.R_PAREN and casts:
            casts.pop()
        elif token.token_type == TokenType.ALIAS and casts and casts[-1]:
            yield place + 1
        elif before.token_type == TokenType.DCOLON and token.token_type not in _NOT_NAMES:
            yield place


def _of_pivots(tokens: list[Token], names: Names, types: Mapping[str, str]) -> Iterator[_Place]:
    """The labels of an ENUM where a PIVOT lists values by its name: IN mood."""
    if not any(token.text.upper().startswith("PIVOT") for token in tokens):
        return
    behind = (
        place for place, token in enumerate(tokens, 1) if token.token_type == TokenType.IN and place < len(tokens)
    )
    for start, end, sql in _meant(tokens, behind, names, types):
        if sql.startswith("ENUM("):
            yield start, end, sql.removeprefix("ENUM")


def _of_columns(tokens: list[Token]) -> Iterator[int]:
    """Where what follows the name of each column that CREATE TABLE declares begins."""
    words = [token.text.upper() for token in tokens]
    opened = words.index("(") if "(" in words else len(words)
    if words[:1] != ["CREATE"] or "TABLE" not in words[:4] or "AS" in words[:opened]:
        return
    depth = 0
    for place in range(opened, len(tokens) - 2):
        kind = tokens[place].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth == 0:
            return
        starts = depth == 1 and kind in (TokenType.L_PAREN, TokenType.COMMA)
        if starts and words[place + 1] not in _CONSTRAINTS and tokens[place + 2].token_type not in _NOT_NAMES:
            yield place + 2


def _of_altered(tokens: list[Token]) -> Iterator[int]:
    """Where the type begins that ALTER TABLE gives a column: behind TYPE, or behind the name of one that is added."""
    words = [token.text.upper() for token in tokens]
    if words[:2] != ["ALTER", "TABLE"]:
        return
    at = 5 if words[2:4] == ["IF", "EXISTS"] else 3
    if words[at : at + 1] == ["."]:
        at += 2
    if words[at : at + 1] == ["ADD"]:
        at += 2 if words[at + 1 : at + 2] == ["COLUMN"] else 1
        at += 3 if words[at : at + 3] == ["IF", "NOT", "EXISTS"] else 0
    elif "TYPE" in words[at:]:
        at = words.index("TYPE", at)
    else:
        return
    yield at + 1


_CREATE = "CREATE TYPE name AS ENUM ('a', 'b'), or AS another type"
_DROP = "DROP TYPE name"


def is_about_type(tokens: Sequence[Token]) -> bool:
    """Whether a statement that begins so creates or drops a type."""
    words = [token.text.upper() for token in tokens[:4]]
    return words[:1] in (["CREATE"], ["DROP"]) and (words[1:2] == ["TYPE"] or words[1:] == ["OR", "REPLACE", "TYPE"])


def about_type(tokens: Sequence[Token], source: SqlText) -> CreateType | Drop:
    """The statement of these tokens. ParseError for what is none; UnsupportedError for what is not supported of it."""
    return _create(tokens, source) if tokens[0].text.upper() == "CREATE" else _drop(tokens, source)


def _create(tokens: Sequence[Token], source: SqlText) -> CreateType:
    replaces, rest = without(("OR", "REPLACE"), tokens[1:])
    exists, rest = without(("IF", "NOT", "EXISTS"), rest[1:])
    if exists and replaces:
        source.fail(tokens[0].start, "OR REPLACE and IF NOT EXISTS exclude each other; write one of them")
    name, rest = _named(rest, source)
    if len(rest) < 2 or rest[0].text.upper() != "AS":
        source.misread(tokens[0].start, f"cannot read this CREATE TYPE; write {_CREATE}")
    what = f"CREATE TYPE {name}"
    if is_type(parts_of(name)[-1]):
        source.fail(tokens[0].start, f"cannot create type {name!r}: SQL has one of that name")
    node = _enum(rest, source, what) if rest[1].text.upper() == "ENUM" else _other(rest, source, what)
    return CreateType(name, declared_type(node, SqlText(""), what), exists, replaces)


def _enum(rest: Sequence[Token], source: SqlText, what: str) -> exp.DataType:
    kinds = [token.token_type for token in rest[2:]]
    labels = [token for token in rest[3:-1] if token.token_type == TokenType.STRING]
    separated = [TokenType.L_PAREN, *[TokenType.STRING, TokenType.COMMA] * len(labels)]
    if not labels or kinds != [*separated[:-1], TokenType.R_PAREN]:
        source.refuse(rest[1].start, f"{what} takes an ENUM with its labels; write {_CREATE}")
    return exp.DataType(this=exp.DType.ENUM, expressions=[exp.Literal.string(label.text) for label in labels])


def _other(rest: Sequence[Token], source: SqlText, what: str) -> exp.DataType:
    written = source.text[rest[1].start : rest[-1].end + 1]
    try:
        return exp.DataType.build(written, dialect="duckdb")
    except ParseError:
        source.refuse(rest[1].start, f"{what} takes a type, which {written!r} is not; write {_CREATE}")


def _drop(tokens: Sequence[Token], source: SqlText) -> Drop:
    exists, rest = without(("IF", "EXISTS"), tokens[2:])
    name, rest = _named(rest, source)
    words = [token.text.upper() for token in rest]
    if words == ["CASCADE"]:
        said = "DROP TYPE ... CASCADE is not supported; drop the tables that have columns of it"
        source.refuse(rest[0].start, said)
    if not name or words not in ([], ["RESTRICT"]):
        source.misread(tokens[0].start, f"cannot read this DROP TYPE; write {_DROP}")
    return Drop("TYPE", name, exists)


def _named(rest: Sequence[Token], source: SqlText) -> tuple[str, Sequence[Token]]:
    """The name that stands here, as it is written, and what follows it."""
    end = end_of_name(rest, 0) if rest else 0
    for token in rest[:end:2]:
        if token.token_type in _NOT_NAMES or not token.text:
            source.misread(token.start, f"expected the name of a type, not {token.text!r}")
    return ".".join(spelled_part(token.text) for token in rest[:end:2]), rest[end:]
