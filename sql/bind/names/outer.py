"""The rows of enclosing blocks, whose columns a subquery may name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from sqlglot import exp

from sql.bind.expressions.operand import Operand
from sql.bind.names.scope import Scope
from sql.ir.scalar import Column, Outer, Scalar, rewrite, walk


class Names(Protocol):
    """What is known by name in an enclosing block."""

    @property
    def scope(self) -> Scope:
        """The columns of its row."""

    @property
    def is_grouped(self) -> bool:
        """Whether its aggregates may be named."""

    def lookup(self, node: exp.Column) -> Operand | None:
        """The column or alias of the block that `node` names, or None."""

    def bind(self, node: exp.Expr) -> Operand:
        """The expression over its row."""

    def refuse(self, node: exp.Expr, message: str) -> NoReturn:
        """Raise UnsupportedError with the position of `node`."""


@dataclass(slots=True, eq=False)
class OuterRow:
    """The row of the block around a subquery, which stands on the right of the Apply numbered `binding`.

    `read` holds the nodes that have named its columns.
    """

    names: Names
    binding: int
    read: list[exp.Expr] = field(default_factory=list)

    def column(self, node: exp.Column) -> Operand | None:
        """The column that `node` names, as the subquery sees it; None if there is none."""
        found = self.names.lookup(node)
        return None if found is None else self._seen(node, found)

    def bind(self, node: exp.Expr) -> Operand:
        """An expression of the block around, as the subquery sees it."""
        return self._seen(node, self.names.bind(node))

    def _seen(self, node: exp.Expr, operand: Operand) -> Operand:
        if is_windowed(operand.scalar):
            self.names.refuse(node, f"{WINDOW_INSIDE}, whose value a subquery cannot read; compute it in FROM")
        self.read.append(node)
        return Operand(node, seen_from_inside(operand.scalar, self.binding), operand.interval)


WINDOWED = -(1 << 40)
"""The number of the Outers that stand for window functions until they have columns (see the module `nested`)."""
WINDOW_INSIDE = "this is a window function of the query around"


def is_windowed(scalar: Scalar) -> bool:
    """Whether the expression holds a window function that has no column yet."""
    return any(isinstance(s, Outer) and s.binding == WINDOWED for s in walk(scalar))


def seen_from_inside(scalar: Scalar, binding: int) -> Scalar:
    """An expression over the row of an Apply's left side, as its right side reads it."""

    def move(s: Scalar) -> Scalar:
        return Outer(binding, s.index, s.type, s.nullable) if isinstance(s, Column) else s

    return rewrite(scalar, move)
