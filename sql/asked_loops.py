"""WITH MUTUALLY RECURSIVE in what DuckDB is to answer, which has none: DuckDB reads what the engine computes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from ivm.catalog.names import quoted
from ivm.sql.reader import MUTUALLY
from ivm.sql.sql_text import SqlText, offset_of
from ivm.sql.statements import AskedLoop
from ivm.sql.tree import nodes_of

DEEPER = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}
"""By how much what follows a token stands deeper in parentheses."""


def asked_loops(tree: exp.Expr, tokens: Sequence[Token], source: SqlText) -> tuple[AskedLoop, ...]:
    """The queries with a WITH MUTUALLY RECURSIVE of their own, those within others left out, in the order written."""
    if not any(_is_mutual(node) for node in nodes_of(tree)):
        return ()
    found = list[AskedLoop]()
    for start, end in _spans(tokens):
        name, text = f"WITH MUTUALLY RECURSIVE {len(found) + 1}", source.text[start:end]
        found.append(AskedLoop(name, text, source.position(start), start, end))
    return tuple(found)


def text_without(text: str, loops: Sequence[AskedLoop], begins_at: int) -> str:
    """A text that begins at an offset, with the loops replaced by what reads them. All else stays at its place."""
    for loop in loops:
        text = read_instead(text, loop.start - begins_at, loop.end - begins_at, loop.name)
    return text


def read_instead(text: str, start: int, end: int, name: str) -> str:
    """A text with what stands from `start` to `end` replaced by what reads the relation of a name."""
    blank = "".join(c if c == "\n" else " " for c in text[start:end])
    read = f"FROM {quoted(name)}"
    return text[:start] + read + blank[len(read) :] + text[end:]


def tree_without(tree: exp.Expr, loops: Sequence[AskedLoop]) -> exp.Expr:
    """A copy of a tree, with the loops replaced by what reads them."""
    tree = tree.copy()
    for node in [each for each in nodes_of(tree) if _is_mutual(each)]:
        at, block = offset_of(node.expressions[0].args["alias"]), node.parent
        loop = next((each for each in loops if at is not None and each.start <= at < each.end), None)
        assert block is not None, "it is the WITH of something"
        if loop is None or any(_is_mutual(each.args.get("with_")) for each in _around(block)):
            continue
        read = exp.select("*").from_(exp.to_table(quoted(loop.name), dialect="duckdb"))
        if block is tree:
            return read
        block.replace(read)
    return tree


def _around(block: exp.Expr) -> Iterator[exp.Expr]:
    while block.parent is not None:
        block = block.parent
        yield block


def _is_mutual(node: object) -> bool:
    return isinstance(node, exp.With) and MUTUALLY in node.meta


def _spans(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """From where to where in the text such queries stand: to the parenthesis that ends them, or to the end."""
    at = 0
    while at < len(tokens):
        if [token.text.upper() for token in tokens[at : at + 3]] != ["WITH", "MUTUALLY", "RECURSIVE"]:
            at += 1
            continue
        start, depth = at, 0
        while at < len(tokens) and not (depth == 0 and _ends(tokens, at)):
            depth += DEEPER.get(tokens[at].token_type, 0)
            at += 1
        yield tokens[start].start, tokens[at - 1].end + 1


def _ends(tokens: Sequence[Token], at: int) -> bool:
    """Whether a query ends before a token: what follows belongs to the statement around it."""
    words = [token.text.upper() for token in tokens[at : at + 2]]
    return tokens[at].token_type is TokenType.R_PAREN or words[0] in (";", "RETURNING") or words == ["ON", "CONFLICT"]
