"""A bound expression, and what its tree still tells of it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ivm.catalog.intervals import parts
from ivm.catalog.types import INTEGER, INTERVAL, NULL, VARCHAR, SqlType
from ivm.sql.ir.scalar import Literal, Scalar
from ivm.sql.types.calendar import Interval
from ivm.sql.types.unify import OperandType


@dataclass(frozen=True, slots=True)
class Operand:
    """`scalar`, which `node` wrote."""

    node: exp.Expr
    scalar: Scalar

    @property
    def type(self) -> SqlType:
        """The type of the expression."""
        return self.scalar.type

    @property
    def stored(self) -> Scalar:
        """The expression as a column: one of nothing but NULL is an INTEGER, as DuckDB stores it."""
        return Literal(None, INTEGER) if self.type == NULL else self.scalar

    @property
    def term(self) -> OperandType:
        """What the typing rules need to know."""
        return OperandType(self.type, self.integer, self.is_text_literal)

    @property
    def integer(self) -> int | None:
        """The value of an integer literal as written, in parentheses or with a sign too; else None."""
        inner = self._written
        if isinstance(inner, exp.Literal) and isinstance(self.scalar, Literal) and self.scalar.type.is_integer:
            return int(self.scalar.value) if self.scalar.value is not None else None
        return None

    @property
    def interval(self) -> Interval | None:
        """The constant INTERVAL that this is; None for one that varies, NULL, and all else."""
        if not isinstance(self.scalar, Literal) or self.type != INTERVAL or self.scalar.value is None:
            return None
        return Interval(*parts(int(self.scalar.value)))

    @property
    def is_text_literal(self) -> bool:
        """Whether this is a text literal as written, whose type is still open."""
        return isinstance(self._written, exp.Literal) and self._written.is_string and self.type == VARCHAR

    @property
    def _written(self) -> exp.Expr:
        node = self.node.unnest()
        return node.this.unnest() if isinstance(node, exp.Neg) else node
