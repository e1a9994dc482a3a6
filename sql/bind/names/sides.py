"""What ORDER BY after a set operation names: an item of any of its sides stands for that item's position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from catalog.names import key
from sql.bind.context import BindContext
from sql.sql_text import text_of


@dataclass(frozen=True, slots=True)
class _Term:
    """An expression with names in lower case, with and without the tables that it names."""

    exact: exp.Expr
    bare: exp.Expr

    def matches(self, other: _Term) -> bool:
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
    term = _term(node)
    for side in sides:
        for i, item in enumerate(side):
            if not item.is_star and term.matches(_term(item.unalias())):
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


def _term(node: exp.Expr) -> _Term:
    exact = node.unnest().transform(_lowered)
    return _Term(exact, exact.transform(_without_table))


def _lowered(node: exp.Expr) -> exp.Expr:
    return exp.Identifier(this=key(node.name)) if isinstance(node, exp.Identifier) else node


def _without_table(node: exp.Expr) -> exp.Expr:
    return exp.Column(this=node.this) if isinstance(node, exp.Column) else node
