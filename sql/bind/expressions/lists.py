"""What cannot be done with lists: they are kept, compared for equality and grouped by, but have no order."""

from __future__ import annotations

from collections.abc import Iterator

from catalog.schema import Schema
from catalog.types import Kind
from sql.ir.rebuild import is_settled
from sql.ir.relation import Filter, Map, Reduce, Relation, TopK, Window, inputs_of
from sql.ir.scalar import Call, Scalar, walk

UNORDERED = "lists have no order here; order and compare by what they are made of"
_ORDERING = frozenset(["lt", "le", "gt", "ge", "greatest", "least"])


def orders_lists(relation: Relation, order: tuple[tuple[int, bool, bool], ...]) -> bool:
    """Whether lists are ordered anywhere: by ORDER BY, `<`, a LIMIT or a window, whose ties all columns decide."""
    schema = relation.schema
    return any(_is_list(schema, column) for column, _, _ in order) or any(map(_orders, _nodes(relation)))


def _nodes(relation: Relation) -> Iterator[Relation]:
    seen: set[int] = set()
    todo = [relation]
    while todo:
        node = todo.pop()
        if id(node) not in seen and not is_settled(node):
            seen.add(id(node))
            yield node
            todo.extend(inputs_of(node))


def _is_list(schema: Schema, column: int) -> bool:
    return schema[column].type.kind is Kind.LIST


def _orders(node: Relation) -> bool:
    match node:
        case TopK():
            return any(field.type.kind is Kind.LIST for field in node.schema)
        case Window():
            return any(field.type.kind is Kind.LIST for field in node.input.schema)
        case Map():
            return _compares(node.scalars)
        case Filter():
            return _compares(node.predicates)
        case Reduce():
            return _compares((*node.keys, *(scalar for a in node.aggregates for scalar in a.scalars)))
    return False


def _compares(scalars: tuple[Scalar, ...]) -> bool:
    calls = (s for scalar in scalars for s in walk(scalar) if isinstance(s, Call))
    return any(c.function in _ORDERING and any(arg.type.kind is Kind.LIST for arg in c.args) for c in calls)
