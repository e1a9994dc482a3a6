"""ORDER BY and what it names, LIMIT, DISTINCT and DISTINCT ON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ivm.catalog.names import key
from ivm.catalog.types import BIGINT, DOUBLE, INTERVAL, SqlType
from ivm.sql.bind.clauses.computed_limit import Bounds, Cut, cut_by
from ivm.sql.bind.context import BindContext, Ctes
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.constants import constant, value_as
from ivm.sql.bind.expressions.handlers import HANDLERS
from ivm.sql.bind.names.scope import Scope
from ivm.sql.ir.measures import has_measure, measure_of
from ivm.sql.ir.rebuild import row
from ivm.sql.ir.relation import Order, Reduce, Relation
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar
from ivm.sql.sql_text import text_of
from ivm.sql.tree import values_of


@dataclass(frozen=True, slots=True)
class Limit:
    """LIMIT (None: all rows) and OFFSET; `clause` is the node of the first of the two.

    Where they are not known yet, `cut` is what cuts rows in an order.
    """

    limit: int | None
    offset: int
    clause: exp.Expr
    cut: Cut | None = None


def bind_order(
    context: BindContext,
    node: exp.Expr | None,
    names: Sequence[str],
    outputs: list[Scalar],
    bind: Callable[[exp.Expr], Scalar],
) -> tuple[tuple[Order, ...], list[exp.Expr]]:
    """The terms of ORDER BY over the block's output columns, and the expressions among them that are none of these.

    A number is a position, a name that an output has is that output; what else is `bind`-ed, and put at the end of
    `outputs` as a hidden column if it is none of them. NULLs come last unless the text says otherwise.
    """
    terms: list[Order] = []
    hidden: list[exp.Expr] = []
    width = len(outputs)
    for item in node.expressions if node else ():
        if is_all(item):
            terms.extend(_term(item, column) for column in range(width))
            continue
        column = position(context, item.this, names, width, "ORDER BY")
        count = len(outputs)
        if column is None:
            _refuse_constant(context, item.this.unnest())
            column = _place_in(outputs, bind(item.this))
        if outputs[column].type != INTERVAL and has_measure(outputs[column].type):
            column = _place_in(outputs, measure_of(outputs[column]))
        hidden += [item.this] * (len(outputs) - count)
        terms.append(_term(item, column))
    return tuple(terms), hidden


def _refuse_constant(context: BindContext, node: exp.Expr) -> None:
    """Refuse what DuckDB takes for a misunderstanding: a constant that orders nothing."""
    if isinstance(node, exp.Literal | exp.Null | exp.Boolean):
        context.fail(
            node, f"ORDER BY {node.sql()} has no effect; write a column's name without quotes, or its position"
        )
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
        context.fail(node, f"ORDER BY {node.sql()} is no position in the SELECT list; these count from 1")


_MOST_DIGITS = 19
_ALL_ROWS = 1 << 61
"""More than any collection holds; the sum of a LIMIT and an OFFSET stays within 64 bits."""


def is_all(item: exp.Expr) -> bool:
    """Whether the term is ORDER BY ALL, or ORDER BY *, which is the same."""
    each = item.this
    if isinstance(each, exp.Star):
        return not any(each.args.values())
    return isinstance(each, exp.Var) and each.name.upper() == "ALL"


def orders_by_all(node: exp.Expr) -> bool:
    """Whether a block's ORDER BY is ALL, beside which DuckDB takes no other term."""
    order = node.args.get("order")
    return order is not None and any(map(is_all, order.expressions))


def _term(item: exp.Expr, column: int) -> Order:
    return Order(column, bool(item.args.get("desc")), bool(item.args.get("nulls_first")))


def position(context: BindContext, node: exp.Expr, names: Sequence[str], width: int, clause: str) -> int | None:
    """The output column that a number, also as #1, or a name in `clause` stands for; None if it is neither."""
    node = node.unnest()
    if isinstance(node, exp.PositionalColumn) and isinstance(node.this, exp.Literal):
        node = node.this
    if isinstance(node, exp.Literal) and not node.is_string:
        if not node.is_int or not 1 <= int(node.name) <= width:
            context.fail(node, f"{clause} {node.name} is no position in the SELECT list; it has 1 to {width}")
        return int(node.name) - 1
    if isinstance(node, exp.Column) and not node.table:
        return next((i for i, name in enumerate(names) if key(name) == key(node.name)), None)
    return None


def bind_limit(context: BindContext, node: exp.Expr, ctes: Ctes) -> Limit | None:
    """The LIMIT and OFFSET of a block; None if it has neither."""
    limit, offset = node.args.get("limit"), node.args.get("offset")
    clause = limit or offset
    if clause is None:
        return None
    count = skip = written = percent = None
    if limit is not None:
        options = limit.args.get("limit_options")
        if options and options.args.get("with_ties"):
            context.refuse(limit, "LIMIT WITH TIES is not maintained; write QUALIFY rank() OVER (ORDER BY ..) <= n")
        written = limit.args.get("count") or limit.args.get("expression")
        percent = _percent(context, written) if options and options.args.get("percent") else None
    start = offset.expression if offset is not None else None
    if percent is not None or _varies(context, written) or _varies(context, start):
        return Limit(None, 0, clause, cut_by(context, ctes, Bounds(written, start, percent)))
    if limit is not None:
        count = 1 if written is None else _count(context, written, "LIMIT")  # FETCH FIRST ROW ONLY
    if offset is not None:
        skip = _count(context, offset.expression, "OFFSET")
    return None if count is None and skip is None else Limit(count, skip or 0, clause)


def _varies(context: BindContext, node: exp.Expr | None) -> bool:
    """Whether a number of rows is no constant that is known by now."""
    return node is not None and not _is_all(node) and _constant(context, node, "LIMIT", BIGINT) is None


def _is_all(node: exp.Expr) -> bool:
    node = node.unnest()
    return isinstance(node, exp.Null) or (isinstance(node, exp.Var) and node.name.upper() == "ALL")


def _percent(context: BindContext, node: exp.Expr) -> float:
    """What stands before %."""
    value = _constant(context, node, "LIMIT in percent", DOUBLE)
    if value is None or not isinstance(value.value, float):
        context.refuse(node, "LIMIT in percent needs a constant; write the number")
    if not 0 <= value.value <= 100:
        context.fail(node, "LIMIT in percent must be between 0% and 100%")
    return value.value


def _constant(context: BindContext, node: exp.Expr, what: str, type_: SqlType) -> Literal | None:
    """The value of a node in a type; None if it is not known by now."""
    if node.find(exp.Query) is not None:
        return None
    binder = Binder(context.source, Scope(), HANDLERS, what)
    operand = constant(binder, node.unnest())
    return None if operand is None or operand.type == INTERVAL else value_as(binder, operand, type_)


def _count(context: BindContext, node: exp.Expr, what: str) -> int | None:
    if _is_all(node):
        return None
    written = node.unnest()
    if isinstance(written, exp.Literal) and written.is_int and int(written.name[: _MOST_DIGITS + 1]) >= 1 << 63:
        context.fail(node, f"{what} is beyond 64 bits; leave it out for all rows")
    value = _constant(context, node, what, BIGINT)
    if value is None or not isinstance(value.value, int):
        return None
    if value.value < 0:
        context.fail(node, f"{what} cannot be negative; write the number of rows")
    return min(value.value, _ALL_ROWS)


def bind_distinct(
    context: BindContext,
    node: exp.Select,
    names: Sequence[str],
    outputs: list[Scalar],
    bind: Callable[[exp.Expr], Scalar],
) -> tuple[int, ...] | None:
    """The columns of DISTINCT ON, of each of whose values the first row in the block's order stays; () for DISTINCT.

    None if there is neither. What ON names and is no output is put at the end of `outputs`.
    """
    clause = node.args.get("distinct")
    if clause is None or clause.args.get("on") is None:
        return None if clause is None else ()
    width = len(names)
    columns = []
    for item in values_of(clause.args["on"]):
        found = position(context, item, names, width, "DISTINCT ON")
        columns.append(_place_in(outputs, bind(item)) if found is None else found)
    if not node.args.get("limit") and not node.args.get("offset") and not orders_by_all(node):
        context.cut.append((node, width))
    return tuple(dict.fromkeys(columns))


def _place_in(outputs: list[Scalar], scalar: Scalar) -> int:
    """Where the expression stands among the outputs, at their end if it is new."""
    if scalar not in outputs:
        outputs.append(scalar)
    return outputs.index(scalar)


def over_distinct(
    context: BindContext, outputs: Sequence[Scalar], hidden: Sequence[tuple[Scalar, exp.Expr]]
) -> list[Scalar]:
    """ORDER BY expressions, each with its node, over the distinct rows of `outputs`.

    UnsupportedError for one that rows with the same outputs may have several values of.
    """
    columns = {scalar: Column(i, scalar.type, scalar.nullable) for i, scalar in reversed(list(enumerate(outputs)))}

    def over(scalar: Scalar, node: exp.Expr) -> Scalar:
        if scalar in columns:
            return columns[scalar]
        if isinstance(scalar, Call):
            return replace(scalar, args=tuple(over(arg, node) for arg in scalar.args))
        if not isinstance(scalar, Literal):
            what = "ORDER BY an expression of what SELECT DISTINCT does not list is not supported"
            context.refuse(node, f"{what}: equal rows may have several values of it; add it to the SELECT list")
        return scalar

    return [over(scalar, node) for scalar, node in hidden]


def distinct(relation: Relation) -> Relation:
    """Each row once."""
    return Reduce(relation, row(relation), (), tuple(field.name for field in relation.schema))


def undone(relation: Relation) -> Relation:
    """What a `distinct` was made of, where nothing but that is lost."""
    if isinstance(relation, Reduce) and relation == distinct(relation.input):
        return relation.input
    return relation


@dataclass(frozen=True, slots=True)
class _Written:
    """An expression with names in lower case, with and without the tables that it names."""

    exact: exp.Expr
    bare: exp.Expr

    def matches(self, other: _Written) -> bool:
        """Whether both write the same; a name without a table is that of any."""
        if self.exact == other.exact:
            return True
        return self.bare == other.bare and (self.exact == self.bare or other.exact == other.bare)


def order_of_sides(context: BindContext, node: exp.SetOperation, order: exp.Order) -> exp.Order:
    """The ORDER BY, with a position for each term that is written as an item of a side, or named as one by another side
    than the first. Other expressions are left as they are: they are over the columns of the result.
    """
    sides = list(_sides(node))
    if any(step.args.get("by_name") for step in node.find_all(exp.SetOperation)):
        return order
    terms = []
    for item in order.expressions:
        position = _position(context, item.this.unnest(), sides)
        named = {"this": exp.Literal.number(position)} if position is not None else {}
        terms.append(exp.Ordered(**{**item.args, **named}))
    return exp.Order(expressions=terms)


def _sides(node: exp.Expr) -> Iterator[Sequence[exp.Expr]]:
    """The SELECT lists of a set operation, from left to right."""
    pending = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, exp.SetOperation):
            pending += [each.expression, each.this]
        elif isinstance(each, exp.Subquery):
            pending.append(each.this)
        else:
            yield each.expressions if isinstance(each, exp.Select) else ()


def _position(context: BindContext, node: exp.Expr, sides: Sequence[Sequence[exp.Expr]]) -> int | None:
    if isinstance(node, exp.Literal):
        return None
    if isinstance(node, exp.Column) and not node.table:
        if any(item.is_star or key(item.alias_or_name) == key(node.name) for item in sides[0]):
            return None
        found = next((_place(side, node.name) for side in sides[1:] if _place(side, node.name) is not None), None)
        return None if found is None else found + 1
    term = _written_term(node)
    for side in sides:
        for i, item in enumerate(side):
            if not item.is_star and term.matches(_written_term(item.unalias())):
                if any(other.is_star for other in side[:i]):
                    context.refuse(node, f"ORDER BY {text_of(node)} is an item after *; write its position instead")
                return i + 1
    if node.find(exp.Window):
        what = "a window function in ORDER BY after a set operation is not supported"
        context.refuse(node, f"{what}; compute it in a SELECT around the set operation")
    return None


def _place(side: Sequence[exp.Expr], name: str) -> int | None:
    """Where an item of the name stands, if no star stands before it."""
    for i, item in enumerate(side):
        if item.is_star:
            return None
        if key(item.alias_or_name) == key(name):
            return i
    return None


def _written_term(node: exp.Expr) -> _Written:
    exact = node.unnest().transform(_lowered)
    bare = exact.transform(lambda part: exp.Column(this=part.this) if isinstance(part, exp.Column) else part)
    return _Written(exact, bare)


def _lowered(node: exp.Expr) -> exp.Expr:
    return exp.Identifier(this=key(node.name)) if isinstance(node, exp.Identifier) else node
