"""UNNEST in a SELECT list: what stands for it while a block is bound, and the rows that are made in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from ivm.catalog.types import BIGINT, INTEGER, NULL, Kind, SqlType, list_of
from ivm.sql.bind.context import BindContext
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.comparisons import unified
from ivm.sql.bind.expressions.nested import placeholders
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.functions.signatures import apply
from ivm.sql.bind.names.columns import column_name
from ivm.sql.bind.names.scope import UNNESTED
from ivm.sql.bind.series import bind_series_list
from ivm.sql.ir.relation import Relation, Unnest
from ivm.sql.ir.scalar import Call, Column, Literal, Outer, Scalar, rewrite

_CLAUSES = ("SELECT", "GROUP BY", "ORDER BY")


@dataclass(slots=True)
class Unnests:
    """The distinct lists of a block whose elements its rows are made of, each with the text that it was written as.

    The elements of list i are bound as an Outer, which no rewriting of columns touches, until `with_unnests` puts a
    column in its place. Lists of lists come first: `heights` says how many levels of elements are still within those of
    list i that are taken apart. Those of height 0 stand side by side.
    """

    found: list[Scalar] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    heights: list[int] = field(default_factory=list)
    columns: list[Scalar] = field(default_factory=list)

    def place(self, list_: Scalar, name: str, height: int = 0) -> int:
        """The number of a list; the same for the same list."""
        for place, known in enumerate(zip(self.found, self.heights, strict=True)):
            if known == (list_, height):
                return place
        self.columns.append(_elements(len(self.found), list_))
        self.found.append(list_)
        self.names.append(name)
        self.heights.append(height)
        return len(self.found) - 1

    def settled(self, scalar: Scalar) -> Scalar:
        """The expression with the elements read from their columns, as far as there are any."""

        def settle(s: Scalar) -> Scalar:
            return self.columns[s.index] if isinstance(s, Outer) and s.binding == UNNESTED else s

        return rewrite(scalar, settle)


def _elements(place: int, list_: Scalar) -> Scalar:
    assert list_.type.element is not None, "it is a list"
    return Outer(UNNESTED, place, list_.type.element)


def bind_list(binder: Binder, node: exp.Expr) -> Scalar:
    """A list whose elements are asked; one that is NULL is of INTEGERs."""
    if isinstance(node, exp.Paren):
        return bind_list(binder, node.this)
    if isinstance(node, exp.Array) and not isinstance(next(iter(node.expressions), None), exp.Query):
        return _literal(binder, node)
    if isinstance(node, exp.GenerateSeries):
        return bind_series_list(binder, node)
    operand = binder.as_list(binder.bind(node))
    if operand.type == NULL:
        return Literal(None, list_of(INTEGER))
    if operand.type.kind is not Kind.LIST:
        what = f"UNNEST takes a list, not {operand.type}"
        instead = _INSTEAD.get(operand.type.kind, "write [x]")
        binder.mismatch(node, f"{what}; {instead}")
    return operand.scalar


_INSTEAD = {
    Kind.VARCHAR: "split it first, as with string_split(x, ',')",
    Kind.STRUCT: "of a struct it is an item of the SELECT list, and stands alone",
    Kind.MAP: "write map_entries(x)",
}


def _literal(binder: Binder, node: exp.Array) -> Scalar:
    if not node.expressions:
        return Literal(None, list_of(INTEGER))
    scalars, type_ = unified(binder, node, "a list", [binder.bind(each) for each in node.expressions])
    stored = INTEGER if type_ == NULL else type_
    elements = tuple(Literal(None, INTEGER) if scalar.type == NULL else scalar for scalar in scalars)
    return Call("list_value", elements, list_of(stored), nullable=False)


def _bind(binder: Binder, node: exp.Expr, list_: Scalar, levels: int = 1) -> Operand:
    assert isinstance(binder.unnests, Unnests), "the clause has been checked"
    name, place = column_name(node, binder.source), 0
    for height in reversed(range(depth_of(list_.type, levels))):
        place = binder.unnests.place(list_, name, height)
        list_ = _elements(place, list_)
    return Operand(node, binder.unnests.columns[place])


def depth_of(type_: SqlType, levels: int) -> int:
    """How many levels of lists a type has, up to `levels`."""
    depth = 0
    while depth < levels and type_.kind is Kind.LIST and type_.element is not None:
        depth, type_ = depth + 1, type_.element
    return depth


def _inside(binder: Binder, node: exp.Expr, name: str) -> str:
    """Note that the argument of `name` is being bound; the clause around."""
    clause = binder.clause
    if clause not in _CLAUSES or not isinstance(binder.unnests, Unnests):
        binder.fail(node, f"{name}() cannot stand in {clause}; put it in FROM: FROM t, unnest(t.l) AS u(x)")
    binder.clause = f"{name}()"
    return clause


def bind_unnest(binder: Binder, node: exp.Expr) -> Operand:
    """UNNEST(list) in a SELECT list."""
    clause = _inside(binder, node, "UNNEST")
    levels = levels_of(binder, node)
    list_ = bind_list(binder, node.this)
    binder.clause = clause
    found = _bind(binder, node, list_, levels)
    if found.type.kind is Kind.STRUCT and levels > depth_of(list_.type, levels):
        binder.fail(node, "UNNEST of structs is an item of the SELECT list; write it alone, or unnest lists only")
    return found


def levels_of(binder: Binder, node: exp.Expr) -> int:
    """How many levels of lists are to be taken apart; more than there can be for all."""
    levels = 1
    for option in node.expressions:
        name = option.this.name.lower() if isinstance(option, exp.PropertyEQ | exp.Kwarg) else ""
        value = option.args.get("expression")
        if name == "recursive" and isinstance(value, exp.Boolean):
            levels = 1 << 16 if value.this else levels
        elif name == "max_depth" and isinstance(value, exp.Literal) and value.is_int and int(value.name) > 0:
            levels = int(value.name)
        else:
            what = "UNNEST takes one list, and recursive := true or max_depth := n"
            binder.fail(option, f"{what}; write one UNNEST for each list")
    return levels


def bind_subscripts(binder: Binder, node: exp.Expr) -> Operand:
    """GENERATE_SUBSCRIPTS(list, 1): the places of its elements."""
    clause = _inside(binder, node, "GENERATE_SUBSCRIPTS")
    args = node.expressions
    if len(args) != 2 or not isinstance(args[1], exp.Literal) or args[1].name != "1":
        binder.refuse(node, "generate_subscripts() takes a list and the dimension 1; write generate_subscripts(l, 1)")
    list_ = bind_list(binder, args[0])
    binder.clause = clause
    return _bind(binder, node, Call("generate_subscripts", (list_,), list_of(BIGINT), list_.nullable))


def bind_split(binder: Binder, node: exp.Expr) -> Operand:
    """REGEXP_SPLIT_TO_TABLE(text, pattern)."""
    clause = _inside(binder, node, "REGEXP_SPLIT_TO_TABLE")
    list_ = apply(binder, node, "string_split_regex", node.expressions).scalar
    binder.clause = clause
    return _bind(binder, node, list_)


BY_NAME: dict[str, Handler] = {
    "unnest": lambda binder, node: bind_unnest(binder, _as_explode(node)),
    "unlist": lambda binder, node: bind_unnest(binder, _as_explode(node)),
    "generate_subscripts": bind_subscripts,
    "regexp_split_to_table": bind_split,
}
"""How functions that make rows are bound in a SELECT list."""


def _as_explode(node: exp.Expr) -> exp.Expr:
    """The call of a function known by its name, which is named as it was written."""
    first, *rest = node.expressions or [exp.Null()]
    found = exp.Explode(this=first, expressions=rest)
    found.meta.update(node.meta)
    found.parent = node.parent
    return found


def with_keys(context: BindContext, relation: Relation, unnests: Unnests) -> Relation:
    """The rows that GROUP BY sees, made of the lists that its keys read."""
    if any(placeholders((each,)) - {UNNESTED} for each in unnests.found):
        context.refuse(None, "a subquery in UNNEST in GROUP BY is not supported; unnest in a subquery in FROM")
    return _made(relation, unnests, unnests.found, 0)


def with_unnests(
    relation: Relation, scalars: Sequence[Scalar], unnests: Unnests, first: int
) -> tuple[Relation, list[Scalar]]:
    """The rows made of the lists that are found from number `first` on, and the expressions over them.

    The last of `scalars` are these lists over the rows.
    """
    count = len(unnests.found) - first
    if not count:
        return relation, list(scalars)
    relation = _made(relation, unnests, scalars[-count:], first)
    return relation, [unnests.settled(scalar) for scalar in scalars[:-count]]


def _made(relation: Relation, unnests: Unnests, lists: Sequence[Scalar], first: int) -> Relation:
    """The rows made of `lists`, which have the numbers from `first` on; those that others are made of come first."""
    for height in sorted(set(unnests.heights[first:]), reverse=True):
        places = [place for place in range(first, len(unnests.found)) if unnests.heights[place] == height]
        width, settled = len(relation.schema), (unnests.settled(lists[place - first]) for place in places)
        made = Unnest(relation, tuple(settled), tuple(unnests.names[place] for place in places))
        for i, (place, added) in enumerate(zip(places, made.added, strict=True)):
            unnests.columns[place] = Column(width + i, added.type, added.nullable)
        relation = made
    return relation


HANDLERS: dict[type[exp.Expr], Handler] = {exp.Explode: bind_unnest}
