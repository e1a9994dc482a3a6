"""Quantiles: at a constant fraction of a group's rows, from the least or from the greatest."""

from __future__ import annotations

from sqlglot import exp

from ivm.catalog.types import DATE, DOUBLE, INTERVAL, NULL, TIME, TIMESTAMP, TIMESTAMPS, Kind, SqlType, decimal
from ivm.sql.bind.aggregates.calls import AggregateCall
from ivm.sql.bind.aggregates.operands import order_of
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.aggregates import AggregateOrder
from ivm.sql.ir.scalar import Literal, Scalar
from ivm.sql.sql_text import text_of

_HALF = Literal(5, decimal(2, 1))


def bind_median(binder: Binder, call: AggregateCall) -> Aggregate:
    """median(x), which lies between values where there is something between."""
    operand = _quantified(binder, call, binder.bind(call.args[0]))
    if operand.type in (NULL, INTERVAL) or _has_between(operand.type):
        return _between(binder, call, operand, _HALF, False)
    return Aggregate("quantile_disc", operand.scalar, operand.type, parameters=(_HALF,))


def _has_between(type_: SqlType) -> bool:
    return type_.is_moment or type_.is_numeric or type_ == TIME


def bind_quantile(binder: Binder, call: AggregateCall) -> Aggregate:
    """quantile_cont(x, fraction) and quantile_disc; a negative fraction counts from the greatest."""
    operand = _quantified(binder, call, binder.bind(call.args[0]))
    fraction, descending = _fraction(binder, call)
    if call.within or call.order:
        descending = _from_greatest(binder, call, operand, descending)
    if call.function == "quantile_cont":
        if operand.type in TIMESTAMPS:
            operand = Operand(operand.node, binder.cast(operand, TIMESTAMP))
        return _between(binder, call, operand, fraction, descending)
    return _quantile_of("quantile_disc", operand.scalar, operand.type, fraction, descending)


def _from_greatest(binder: Binder, call: AggregateCall, operand: Operand, negative: bool) -> bool:
    """Whether the ORDER BY of a quantile, which DuckDB takes for that of its argument whatever it names, says DESC."""
    if negative:
        binder.fail(call.args[1], f"{call.function}() with ORDER BY takes a fraction from 0 to 1, not one below 0")
    terms = [call.within] if call.within else call.order
    if call.order and [term.scalar for term in order_of(binder, call)] != [operand.scalar]:
        what = f"ORDER BY in {call.function}() takes the argument alone"
        binder.refuse(call.order[0], f"{what}; order by it, or write arg_min() for the value where another is least")
    descending = bool(terms[0].args.get("desc"))
    if descending and isinstance(call.written, exp.Quantile):  # DuckDB ignores it in silence
        binder.refuse(terms[0], "quantile() with DESC is not supported; write quantile_disc(), which is the same")
    return descending


def _quantified(binder: Binder, call: AggregateCall, operand: Operand) -> Operand:
    scalar = operand.stored
    return Operand(operand.node, scalar)


def _between(binder: Binder, call: AggregateCall, operand: Operand, fraction: Literal, descending: bool) -> Aggregate:
    type_ = operand.type
    if not _has_between(type_):
        what = f"{call.function}() needs numbers, dates, times or timestamps, not {type_}"
        binder.mismatch(call.node, f"{what}; quantile_disc takes any type")
    result = DOUBLE if type_.is_integer else TIMESTAMP if type_ == DATE else type_
    return _quantile_of("quantile_cont", operand.scalar, result, fraction, descending)


def _quantile_of(function: str, arg: Scalar, type_: SqlType, fraction: Literal, descending: bool) -> Aggregate:
    order = (AggregateOrder(arg, True),) if descending else ()
    return Aggregate(function, arg, type_, order=order, parameters=(fraction,))


def _fraction(binder: Binder, call: AggregateCall) -> tuple[Literal, bool]:
    """The fraction, a DECIMAL or a DOUBLE from 0 to 1, and whether it counts from the greatest."""
    node = call.args[1]
    operand = binder.bind(node)
    scalar = operand.scalar
    if not isinstance(scalar, Literal) or not operand.type.is_numeric or scalar.value is None:
        what = f"{call.function}() takes one constant fraction, from 0 to 1"
        binder.refuse(node, f"{what}; write a number, not {text_of(node)}")
    literal = scalar if operand.type.kind is Kind.DECIMAL else binder.cast(operand, DOUBLE)
    assert isinstance(literal, Literal), "a literal is cast to a literal"
    value = literal.value
    assert isinstance(value, int | float), "a number"
    if not 0 <= abs(value) <= 10**literal.type.scale:
        binder.fail(node, f"{call.function}() takes a fraction from -1 to 1, not {text_of(node)}")
    return Literal(abs(value), literal.type), value < 0
