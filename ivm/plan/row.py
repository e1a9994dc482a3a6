"""The columns of a plan's output."""

from __future__ import annotations

from sql.ir.scalar import Column, Scalar

Row = tuple[Column, ...]
"""The columns of a plan's output, in order: column i of it is `row[i]`, with type and nullability."""


def row_of(parts: tuple[Scalar, ...]) -> Row:
    """The row whose columns have the types of `parts`."""
    return tuple(Column(i, part.type, part.nullable) for i, part in enumerate(parts))
