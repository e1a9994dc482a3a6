"""What DuckDB says of ENUMs: of a label its number, and the labels that there are."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ivm.catalog.types import UINTEGER, USMALLINT, UTINYINT, VARCHAR, Kind, SqlType, list_of
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.functions.computed import computed
from ivm.sql.ir.scalar import Call, Literal

NAMES = ("enum_code", "enum_first", "enum_last", "enum_range", "enum_range_boundary")
_CODES = ((1 << 8, UTINYINT), (1 << 16, USMALLINT), (1 << 32, UINTEGER))


def by_name(binder: Binder, node: exp.Expr, name: str, args: Sequence[exp.Expr]) -> Operand | None:
    """The call of one of these; None if it is none."""
    if name not in NAMES:
        return None
    operands = [binder.bind(arg) for arg in args]
    enum = next((each.type for each in operands if each.type.kind is Kind.ENUM), None)
    if enum is None or len(args) != 1 + (name == "enum_range_boundary"):
        given = ", ".join(str(each.type) for each in operands)
        binder.mismatch(node, f"{name}() takes {'two ENUMs' if name.endswith('y') else 'an ENUM'}, not ({given})")
    if name == "enum_code":
        return computed(node, name, [operands[0].scalar], _code_type(enum))
    if name == "enum_range_boundary":
        return computed(node, name, [binder.cast(each, enum) for each in operands], list_of(VARCHAR))
    labels = [Literal(label, VARCHAR) for label in enum.labels]
    if name == "enum_range":
        return Operand(node, Call("list_value", tuple(labels), list_of(VARCHAR), nullable=False))
    return Operand(node, labels[0 if name == "enum_first" else -1])


def _code_type(enum: SqlType) -> SqlType:
    return next(type_ for most, type_ in _CODES if len(enum.labels) <= most)
