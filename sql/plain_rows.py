"""SELECT, UPDATE and DELETE that say of the rows of one table or view, row by row, what becomes of them.

No join, no group, no subquery, and of functions a few. Texts that differ in their literals alone are parsed
once: programs write the same statement time and again, with other numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import exp

from ivm.catalog.errors import Error
from ivm.sql.arguments import refuse_unread
from ivm.sql.by_key import ByKey, by_key
from ivm.sql.recent import Recent
from ivm.sql.sql_text import SqlText
from ivm.sql.syntax import statements
from ivm.sql.tree import ENDINGS, nodes_of

_Key = tuple[str | None, ...]
"""What stands between the literals of a text, and of what kind each is: what `_PIECES` splits a text into, "" in the
place of each literal."""


class PlainRows(NamedTuple):
    """A statement of this kind: its `text`, and its `tree`, which nobody else has until it is given back.

    `source` is a text that differs from it in literals alone, in which the tree's places are; `literals` are its own.
    """

    text: str
    tree: exp.Expr
    source: SqlText
    literals: Sequence[str]
    form: _Form

    @property
    def by_key(self) -> ByKey | None:
        """What it says, if that is of the row of a primary key."""
        return self.form.by_key

    def give_back(self) -> None:
        """The tree is not needed any more: another text may use it."""
        _FORMS.put(self.form.key, self.form)


@dataclass(frozen=True, slots=True)
class _Form:
    """What texts share that differ in literals alone: their `key`, the tree of one of them, which is the `source`, and
    the nodes of the literals, in their order. Without a tree it is no such statement.
    """

    key: _Key
    source: SqlText
    tree: exp.Expr | None = None
    literals: Sequence[exp.Expr] = ()
    by_key: ByKey | None = None


_STARTS = re.compile(r"\s*(?:SELECT|UPDATE|DELETE)\b", re.IGNORECASE)
_CHANGES = re.compile(r"\s*(?:UPDATE|DELETE)\b", re.IGNORECASE)
_PIECES = re.compile(  # what stands before a piece is looked at behind its first character, for which a search is fast
    r"""
      (?P<other> '(?<=[\w&]') | -- | /\* | \$ )       # texts of other kinds, comments, parameters
    | (?P<text> '(?:[^']|'')*' )
    | (?P<number> \d(?<![\w.]\d)\d*(?:\.\d+)?(?:[eE][-+]?\d+)? ) (?![\w.])
    | (?P<name> " (?:[^"]|"")* " )
    """,
    re.VERBOSE | re.ASCII,
)
_OTHER, _TEXT, _STEP = 1, 2, 5
"""Where the groups begin among what `split` gives, and how many things it gives for each piece."""
_MOST_CHARACTERS = 2000
_FORMS: Recent[_Key, _Form] = Recent(256)

_BINARY = ("this", "expression")
_READ: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Select: ("expressions", "from_", "where", *ENDINGS),
    exp.Order: ("expressions",),
    exp.Ordered: ("this", "desc", "nulls_first"),
    **dict.fromkeys((exp.Limit, exp.Offset), ("expression",)),
    exp.Update: ("this", "expressions", "where", "returning"),
    exp.Delete: ("this", "where", "returning"),
    exp.Returning: ("expressions",),
    exp.From: ("this",),
    exp.Table: ("this", "alias"),
    exp.TableAlias: ("this",),
    exp.Where: ("this",),
    exp.Identifier: ("this", "quoted"),
    exp.Column: ("this", "table"),
    exp.Alias: ("this", "alias"),
    exp.Star: (),
    exp.Literal: ("this", "is_string"),
    exp.Boolean: ("this",),
    exp.Null: (),
    **dict.fromkeys((exp.Paren, exp.Neg, exp.Not), ("this",)),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ), _BINARY),
    **dict.fromkeys((exp.And, exp.Or, exp.Is, exp.Add, exp.Sub, exp.Mul, exp.IntDiv, exp.Mod), _BINARY),
    exp.Div: (*_BINARY, "typed", "safe"),
    exp.In: ("this", "expressions"),
    exp.Between: ("this", "low", "high"),
    exp.Cast: ("this", "to"),
    exp.DataType: ("this", "expressions"),
    exp.DataTypeParam: ("this",),
    **dict.fromkeys((exp.Coalesce, exp.Anonymous), ("this", "expressions")),
    **dict.fromkeys((exp.Greatest, exp.Least), ("this", "expressions", "ignore_nulls")),
    **dict.fromkeys((exp.Upper, exp.Lower, exp.Length, exp.Abs), ("this",)),
    exp.DPipe: (*_BINARY, "safe"),
    exp.Nullif: _BINARY,
    **dict.fromkeys((exp.CurrentTimestamp, exp.CurrentDate), ()),
    exp.Case: ("this", "ifs", "default"),
    exp.If: ("this", "true"),
}
"""The nodes of which such a statement is made, each with what it may hold: no literal decides what they are."""


def plain_rows(text: str) -> PlainRows | None:
    """The statement of a text in DuckDB's dialect, if it is one of these and nothing follows; else None."""
    if _STARTS.match(text) is None:
        return None
    cut = _cut(text)
    if cut is None:
        return None
    key, values = cut
    form = _FORMS.take(key) or _form(key, text, values)
    if form.tree is None:
        _FORMS.put(key, form)
        return None
    for node, value in zip(form.literals, values, strict=True):
        node.args["this"] = value
    return PlainRows(text, form.tree, form.source, values, form)


def row_by_key(text: str) -> tuple[ByKey, Sequence[str]] | None:
    """What a text says of the row of a primary key, and its literals, if one came not long ago that says the same with
    other literals, and was read as it is written; None for any other. Cost: 3 microseconds.
    """
    cut = None if _CHANGES.match(text) is None else _cut(text)
    form = None if cut is None else _FORMS.get(cut[0])
    return None if cut is None or form is None or form.by_key is None else (form.by_key, cut[1])


def _cut(text: str) -> tuple[_Key, list[str]] | None:
    """What stands between the literals of a text, and what they are; None if it is long, or holds what is not read."""
    if len(text) > _MOST_CHARACTERS:
        return None
    pieces = _PIECES.split(text)
    if any(pieces[_OTHER::_STEP]):
        return None
    values: list[str] = []
    for place in range(_TEXT, len(pieces), _STEP):
        quoted, number = pieces[place], pieces[place + 1]
        if quoted is not None:
            values.append(quoted[1:-1].replace("''", "'"))
            pieces[place] = ""
        elif number is not None:
            values.append(number)
            pieces[place + 1] = ""
    return tuple(pieces), values


def _form(key: _Key, text: str, values: Sequence[str]) -> _Form:
    source = SqlText(text)
    try:
        found = statements(source, "duckdb")
        if len(found) != 1:
            return _Form(key, source)
        nodes = nodes_of(found[0].tree)
        refuse_unread(nodes, source)
    except Error:
        return _Form(key, source)
    places = {node.meta.get("start"): node for node in nodes if isinstance(node, exp.Literal)}
    offsets = [piece.start() for piece in _PIECES.finditer(text) if piece.lastgroup != "name"]
    literals = [places[offset] for offset in offsets if offset in places]
    # sqlglot leaves out the sign of +1, which is an INTEGER in DuckDB, where 1 is whatever it meets.
    signs = sum(each.count("+") for each in key if each) - sum(isinstance(node, exp.Add) for node in nodes)
    plain = [node.name for node in literals] == values and not signs and all(map(_is_plain, nodes))
    if not plain or not _is_over_rows(nodes[0]):
        return _Form(key, source)
    return _Form(key, source, nodes[0], literals, by_key(nodes[0], literals))


def _is_over_rows(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Update | exp.Delete) or bool(isinstance(tree, exp.Select) and tree.args.get("from_"))


def _is_plain(node: exp.Expr) -> bool:
    read = _READ.get(type(node))
    return read is not None and all(arg in read for arg, value in node.args.items() if value)
