"""The columns of a plan's output."""

from __future__ import annotations

from sql.ir.relation import Relation
from sql.ir.scalar import Column, Scalar

Row = tuple[Column, ...]
"""The columns of a plan's output, in order: column i of it is `row[i]`, with type and nullability."""


def row_of(parts: tuple[Scalar, ...]) -> Row:
    """The row whose columns have the types of `parts`."""
    return tuple(Column(i, part.type, part.nullable) for i, part in enumerate(parts))


def row_of_relation(relation: Relation) -> Row:
    """The row of a relation's schema."""
    return tuple(Column(i, field.type, field.nullable) for i, field in enumerate(relation.schema))
