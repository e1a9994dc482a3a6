"""What cannot be done with lists: they are kept, compared for equality and grouped by, but have no order."""

from __future__ import annotations

from catalog.schema import Schema
from catalog.types import Kind
from sql.ir.rebuild import is_settled, nodes, scalars_of
from sql.ir.relation import Relation, TopK, Window
from sql.ir.scalar import Call, Scalar, walk

UNORDERED = "lists have no order here; order and compare by what they are made of"
_ORDERING = frozenset(["lt", "le", "gt", "ge", "greatest", "least"])


def orders_lists(relation: Relation, order: tuple[tuple[int, bool, bool], ...]) -> bool:
    """Whether lists are ordered anywhere: by ORDER BY, `<`, a LIMIT or a window, whose ties all columns decide."""
    schema = relation.schema
    return any(_is_list(schema, column) for column, _, _ in order) or any(map(_orders, nodes(relation, is_settled)))


def _is_list(schema: Schema, column: int) -> bool:
    return schema[column].type.kind is Kind.LIST


def _orders(node: Relation) -> bool:
    match node:
        case TopK():
            return any(field.type.kind is Kind.LIST for field in node.schema)
        case Window():
            return any(field.type.kind is Kind.LIST for field in node.input.schema)
    return _compares(scalars_of(node))


def _compares(scalars: tuple[Scalar, ...]) -> bool:
    calls = (s for scalar in scalars for s in walk(scalar) if isinstance(s, Call))
    return any(c.function in _ORDERING and any(arg.type.kind is Kind.LIST for arg in c.args) for c in calls)
