"""From text to sqlglot's trees, statement by statement, with our own errors."""

from __future__ import annotations

import logging
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError as SqlglotParseError
from sqlglot.errors import SqlglotError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from ivm.catalog.errors import BindError, ParseError, UnsupportedError
from ivm.catalog.names import suggestion
from ivm.sql.macro_words import is_about_macro
from ivm.sql.reader import parser_of
from ivm.sql.refused import refuse_foreign, too_deep
from ivm.sql.sequence_words import is_about_sequence
from ivm.sql.sql_text import SqlText
from ivm.sql.token_forms import as_known
from ivm.sql.transaction_words import is_about_transaction
from ivm.sql.tree import nodes_of


@dataclass(frozen=True, slots=True)
class Syntax:
    """One statement: its tree, its tokens, and whether EXPLAIN, or EXPLAIN ANALYZE, stood before it.

    Offsets are those of the whole text.
    """

    tree: exp.Expr
    tokens: tuple[Token, ...]
    explain: bool
    analyze: bool = False


BY_TOKENS = frozenset((
    "ALTER", "ANALYZE", "CALL", "COMMENT", "DEALLOCATE", "EXECUTE", "INSTALL", "LOAD", "PRAGMA", "PREPARE", "RESET",
    "SET", "SHOW", "USE", "VACUUM",
))  # fmt: skip
"""The first words of statements that are read by their tokens."""


_ABOUT = (is_about_macro, is_about_sequence, is_about_transaction)


def statements(source: SqlText, dialect: str) -> tuple[Syntax, ...]:
    """The statements of the text, empty ones left out; ParseError with line, column and the line itself."""
    reader = dialect_named(dialect)
    text, read, explains = _without_explain(source, reader)
    found = []
    previous_end = 0
    for chunk in chunks(read):
        explain = any(previous_end <= offset < chunk[0].start for offset in explains)
        previous_end = chunk[-1].end
        refuse_foreign(chunk[0].text, chunk[0].start, source)
        # What sqlglot cannot read, or not as DuckDB does, is read by its tokens.
        word = chunk[0].text.upper()
        analyze = explain and word == _ANALYZE and len(chunk) > 1
        chunk = chunk[1:] if analyze else chunk  # noqa: PLW2901
        by_tokens = word in BY_TOKENS or any(is_about(chunk) for is_about in _ABOUT)
        if analyze:
            by_tokens = chunk[0].text.upper() in ("VIEW", "MATERIALIZED")
        tree = exp.Command(this=chunk[0].text) if by_tokens else _parse(reader, as_known(chunk, reader), text, source)
        found.append(Syntax(tree, tuple(chunk), explain, analyze))
    return tuple(found)


def query(source: SqlText, dialect: str) -> Syntax:
    """The single statement in the text; ParseError if there is none or another follows."""
    found = statements(source, dialect)
    if len(found) != 1:
        raise ParseError(f"expected one SELECT, but the text holds {len(found)} statements; give them one by one")
    return found[0]


def part(tree: exp.Expr, begin: int) -> Syntax:
    """The part of a statement that begins at offset `begin`, as if its text had been read alone; without tokens.

    The tree is moved, not copied. Cost: a small part of that of reading it.
    """
    moved: set[int] = set()
    for node in nodes_of(tree):
        # What the parser made up stands at 0.
        if node.meta_get("start", -1) >= begin and id(node.meta) not in moved:
            moved.add(id(node.meta))
            node.meta["start"] -= begin
            node.meta["end"] -= begin
    return Syntax(tree.pop(), (), False)


def statement_tokens(reader: Dialect, source: SqlText) -> tuple[Token, ...]:
    """The tokens of statements in a dialect, EXPLAIN left out; ParseError as for `tokens`."""
    return tuple(_without_explain(source, reader)[1])


def dialect_named(name: Any) -> Dialect:
    """The dialect called `name`; BindError if sqlglot has none of that name."""
    if not isinstance(name, str):
        raise BindError(f"a SQL dialect is given by its name, such as 'duckdb' or 'postgres', not as {name!r}")
    return _dialect(name)


@lru_cache(16)
def _dialect(name: str) -> Dialect:
    """Nobody changes it: sqlglot makes what reads and writes anew for each text."""
    try:
        return Dialect.get_or_raise(name)
    except ValueError as error:
        hint = suggestion(name, [known for known in Dialect.classes if known])
        instead = hint or "; write for instance 'duckdb', 'postgres' or 'spark'"
        raise BindError(f"unknown SQL dialect {name!r}{instead}") from error


_EXPLAIN = "EXPLAIN"
_ANALYZE = "ANALYZE"
_EXPLAINED = re.compile(rf"\s*({_EXPLAIN})(?=\s)", re.IGNORECASE)
_EXPORT_STATE = "EXPORT_STATE"


def _without_explain(source: SqlText, reader: Dialect) -> tuple[str, list[Token], list[int]]:
    # sqlglot reads what follows EXPLAIN as one opaque string, so the word is blanked before it reads the text.
    text = source.text
    explains: list[int] = []
    first = _EXPLAINED.match(text)
    if first:  # nothing to find out
        explains.append(first.start(1))
        text = " " * first.end(1) + text[first.end(1) :]
    while True:
        read = _tokens(reader, text, source)
        for chunk in chunks(read):
            if chunk[0].text.upper() == _EXPLAIN:
                start = chunk[0].start
                break
        else:
            return text, read, explains
        explains.append(start)
        text = text[:start] + " " * len(_EXPLAIN) + text[start + len(_EXPLAIN) :]


def _tokens(reader: Dialect, text: str, source: SqlText) -> list[Token]:
    try:
        if _IN_A_ROW.search(text) is not None:
            return _apart(reader, text)
        return _opened(reader, reader.tokenize(text), text)
    except TokenError as error:
        start = _unclosed(text)
        raise ParseError(source.locate("a quote or comment is opened and not closed", start)) from error


_IN_A_ROW = re.compile(r"\$\d+[^\s\w$]+\$")
_PARTS = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(?P<tag>[^\W\d]\w*|)\$.*?\$(?P=tag)\$|--[^\n]*|/\*.*?\*/|(?P<number>\$\d+)(?=[^\s\w])""",
    re.DOTALL,
)


def _apart(reader: Dialect, text: str) -> list[Token]:
    """The tokens of a text with parameters such as $1,$2, in which sqlglot would take $1,$ for the beginning of a text:
    it is given a space behind each, of which the places of tokens tell nothing.
    """
    ends = [found.end() for found in _PARTS.finditer(text) if found["number"]]
    pieces = [text[start:end] for start, end in pairwise([0, *ends, len(text)])]
    read = _opened(reader, reader.tokenize(" ".join(pieces)), " ".join(pieces))
    spaces = [end + before for before, end in enumerate(ends)]
    for token in read:
        begun, ended = bisect_left(spaces, token.start), bisect_left(spaces, token.end)
        token.start, token.end = token.start - begun, token.end - ended
    return read


def _opened(reader: Dialect, read: list[Token], text: str) -> list[Token]:
    """The tokens, with those that follow some words, which sqlglot takes for one text."""
    found: list[Token] = []
    for token in read:
        begin = token.end + 1 - len(token.text)
        is_begun = bool(found) and found[-1].token_type in _SWALLOW and found[-1].text.upper() in BY_TOKENS
        if is_begun and token.token_type == TokenType.STRING and text[begin : token.end + 1] == token.text:
            before = "".join(each if each == "\n" else " " for each in text[:begin])
            found += reader.tokenize(before + token.text)
        else:
            found.append(token)
    return found


_SWALLOW = frozenset([TokenType.COMMAND, TokenType.EXECUTE])


def _unclosed(text: str) -> int:
    """Offset of the quote or comment that is still open at the end of the text; the text's end if none is."""
    pairs = {"'": "'", '"': '"', "/*": "*/", "--": "\n", "$$": "$$"}
    at = 0
    while at < len(text):
        opened = next((mark for mark in pairs if text.startswith(mark, at)), None)
        if opened is None:
            at += 1
            continue
        end = text.find(pairs[opened], at + len(opened))
        if end < 0 and opened != "--":
            return at
        at = len(text) if end < 0 else end + len(pairs[opened])
    return len(text)


def chunks(read: Iterable[Token]) -> Iterator[list[Token]]:
    """The tokens of each statement; empty ones are left out."""
    chunk: list[Token] = []
    for token in read:
        if token.token_type != TokenType.SEMICOLON:
            chunk.append(token)
        elif chunk:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _parse(reader: Dialect, chunk: list[Token], text: str, source: SqlText) -> exp.Expr:
    try:
        with _quiet():
            trees = parser_of(reader).parse(chunk, text)
    except SqlglotParseError as error:
        raise ParseError(_message(error, source)) from error
    except RecursionError:
        raise UnsupportedError(source.locate(too_deep(), chunk[0].start)) from None
    except (SqlglotError, ValueError) as error:
        raise ParseError(source.locate(f"cannot read this statement: {error}", chunk[0].start)) from error
    if not trees or not isinstance(trees[0], exp.Expr):
        raise ParseError(source.locate("this is no statement", chunk[0].start))
    tree = trees[0]
    nodes = nodes_of(tree)
    _check_names(nodes, source)
    _refuse_chains(nodes, source)
    _refuse_states(nodes, chunk, source)
    _restore_all(nodes)
    _restore_maps(nodes)
    return tree


def _restore_all(nodes: Sequence[exp.Expr]) -> None:
    """X = ALL (..), which sqlglot takes for a function called ALL."""
    for call in nodes:
        if (
            isinstance(call, exp.Anonymous)
            and call.name.upper() == "ALL"
            and len(call.expressions) == 1
            and isinstance(call.parent, _COMPARISONS)
        ):
            call.replace(exp.All(this=call.expressions[0]))


def _restore_maps(nodes: Sequence[exp.Expr]) -> None:
    """MAP {..}[key], which sqlglot takes for a map of {..}[key]."""
    for node in nodes:
        if isinstance(node, exp.ToMap) and isinstance(node.this, exp.Bracket):
            whole = inner = node.this
            while isinstance(inner.this, exp.Bracket):
                inner = inner.this
            node.replace(whole)
            inner.set("this", exp.ToMap(this=inner.this))


def _check_names(nodes: Sequence[exp.Expr], source: SqlText) -> None:
    """Refuse names that DuckDB and Arrow cannot hold."""
    for identifier in nodes:
        if isinstance(identifier, exp.Identifier) and (not identifier.name or "\0" in identifier.name):
            what = "is empty" if not identifier.name else "holds the character NUL"
            source.misread(identifier, f"the name {identifier.name!r} {what}; choose another")


_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def _refuse_chains(nodes: Sequence[exp.Expr], source: SqlText) -> None:
    """Refuse a < b < c, which DuckDB does not read; SET a = b = c assigns."""
    for node in nodes:
        if (
            isinstance(node, _COMPARISONS)
            and isinstance(node.parent, _COMPARISONS)
            and not isinstance(node.parent.parent, exp.Update | exp.OnConflict)
        ):
            source.refuse(node, "comparisons in a chain are not supported; put AND between two, or parentheses around")


def _refuse_states(nodes: Sequence[exp.Expr], chunk: list[Token], source: SqlText) -> None:
    """Refuse EXPORT_STATE after a call, which sqlglot takes for the name of the column."""
    places = {
        word.start
        for before, word in pairwise(chunk)
        if before.token_type == TokenType.R_PAREN
        and word.token_type == TokenType.VAR
        and word.text.upper() == _EXPORT_STATE
    }
    for item in nodes if places else ():
        if isinstance(item, exp.Alias) and item.args["alias"].meta.get("start") in places:
            what = f"{_EXPORT_STATE} is not supported; leave it out, or write AS before it to have it as a name"
            source.refuse(item.args["alias"], what)


def _message(error: SqlglotParseError, source: SqlText) -> str:
    if not error.errors:
        return str(error)
    first = error.errors[0]
    # sqlglot ends some descriptions with the token that it met, spelled as a Python object.
    what, start, near = str(first["description"]).split(" but got <")[0], first["start_context"], first["highlight"]
    if what.startswith("Required keyword"):
        what = "something is missing here"
    elif what.startswith("Invalid expression"):
        what = "unexpected here"
    offset = _offset(source.text, int(first["line"]), int(first["col"]), len(str(near)), str(start))
    return source.locate(f"syntax error at {str(near)!r}: {what[0].lower()}{what[1:]}", offset)


def _offset(text: str, line: int, column: int, width: int, before: str) -> int:
    """Offset of the token of `width` characters whose last one stands at `line` and `column`, both from 1."""
    lines = text.split("\n")
    if line > len(lines):
        return len(before)
    return max(0, sum(len(part) + 1 for part in lines[: line - 1]) + column - width)


@contextmanager
def _quiet() -> Iterator[None]:
    # sqlglot warns on its logger about statements that it does not know; those become errors of ours.
    logger = logging.getLogger("sqlglot")

    def known(record: logging.LogRecord) -> bool:
        return "Falling back to parsing" not in record.getMessage()

    logger.addFilter(known)
    try:
        yield
    finally:
        logger.removeFilter(known)
