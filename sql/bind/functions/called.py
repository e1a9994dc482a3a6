"""Calls of the application's functions."""

from __future__ import annotations

from sqlglot import exp

from ivm.catalog.function import PythonFunction
from ivm.catalog.types import BOOLEAN, NULL, VARCHAR, Kind, SqlType
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.ir.functions.called import called
from ivm.sql.ir.scalar import Literal, Scalar
from ivm.sql.types.unify import common_type, fits


def bind_called(binder: Binder, node: exp.Expr, function: PythonFunction) -> Operand:
    """A call of a function of Python's, whose arguments are cast as DuckDB casts by itself."""
    if function.side_effects:
        binder.refuse(
            node,
            f"{function.name}() was created with side_effects, and a view would call it once for what comes and never "
            "for what stays; call it when a row is inserted, and store the value in a column",
        )
    args, takes = node.expressions, function.takes
    if takes is not None and len(args) != len(takes):
        given = f"{len(args)} argument{'s' if len(args) != 1 else ''}"
        binder.mismatch(node, f"{function.written} takes {len(takes)}, and {given} are given")
    operands = [binder.bind(_positional(binder, arg, function)) for arg in args]
    scalars = (
        tuple(_as_it_is(operand) for operand in operands)
        if takes is None
        else tuple(_argument(binder, each, type_, function) for each, type_ in zip(operands, takes, strict=True))
    )
    return Operand(node, called(function.name, scalars, function.gives))


def _positional(binder: Binder, arg: exp.Expr, function: PythonFunction) -> exp.Expr:
    if isinstance(arg, exp.PropertyEQ | exp.Kwarg):
        binder.mismatch(arg, f"{function.written} takes its arguments by position; leave the name out")
    return arg


def _as_it_is(operand: Operand) -> Scalar:
    return Literal(None, VARCHAR) if operand.type == NULL else operand.scalar


def _argument(binder: Binder, operand: Operand, wanted: SqlType, function: PythonFunction) -> Scalar:
    if operand.type not in (wanted, NULL) and not operand.is_text_literal and not _becomes(operand, wanted):
        binder.mismatch(operand.node, f"{function.written} takes no {operand.type} here; write CAST(... AS {wanted})")
    return binder.cast(operand, wanted)


def _becomes(operand: Operand, wanted: SqlType) -> bool:
    """Whether DuckDB casts what is given by itself: to a type that holds it, or a number to a DECIMAL."""
    given, integer = operand.type, operand.integer
    if BOOLEAN in (given, wanted):
        return False
    if integer is not None and wanted.is_integer:
        return fits(integer, wanted)
    if wanted.kind is Kind.DECIMAL:
        return given.is_numeric and not given.is_float
    return common_type(given, wanted) == wanted
