"""Aggregates, and GROUPING(): arguments cast as each asks for, its type as DuckDB has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from sqlglot import exp

from ivm.catalog.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    HUGEINT,
    INTEGER,
    INTERVAL,
    NULL,
    TIME,
    VARCHAR,
    Kind,
    SqlType,
    decimal,
    holds,
    list_of,
)
from ivm.sql.bind.aggregates.averages import average
from ivm.sql.bind.aggregates.calls import AGGREGATES, IS_COLLATED, WRAPPERS, AggregateCall, read_call
from ivm.sql.bind.aggregates.operands import numeric, order_of
from ivm.sql.bind.aggregates.quantiles import bind_median, bind_quantile
from ivm.sql.bind.aggregates.written import expression_of
from ivm.sql.bind.expressions.binder import Aggregates, Binder, Handler
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.names.columns import column_name
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.aggregates import AggregateOrder, Reduction, aggregate_of, reverse_of
from ivm.sql.ir.conditions import coalesced, is_null, negation
from ivm.sql.ir.measures import has_measure
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar, some_value
from ivm.sql.sql_text import text_of

_OF_NUMBERS = frozenset(["fsum", "favg", "regr_count", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy"])
_OF_AMOUNTS = frozenset(["approx_quantile"])
_COUNTING_EQUAL = frozenset(["histogram", "histogram_exact"])
"""What is written over others, and takes less than these: numbers, what has a distance, no INTERVALs."""
_COUNTING = frozenset(["mode", "quantile_cont", "quantile_disc"])
"""Those that need to know which values are equal."""


def typed_aggregate(binder: Binder, call: AggregateCall) -> Aggregate:
    """The aggregate, its FILTER a part of its arguments. TypeMismatchError where types do not fit."""
    condition = binder.condition(call.where) if call.where else None
    if call.is_star:
        if condition is None:
            return Aggregate("count_star", None, BIGINT, nullable=False)
        return Aggregate("count", _where(condition, Literal(1, INTEGER)), BIGINT, nullable=False)
    if isinstance(call.args[0], exp.Tuple) and call.function == "count" and call.distinct:
        return _count_rows(binder, call, condition)
    bound = RULES[call.function](binder, call)
    if call.distinct:
        _check_order(binder, call, bound)
    if call.distinct and aggregate_of(call.function).repeats:
        bound = replace(bound, distinct=True)
    type_ = NULL if bound.arg is None else bound.arg.type
    if type_.is_collated:
        call.args[0].meta[IS_COLLATED] = True
    counts_equal = bound.function in _COUNTING and holds(type_, INTERVAL)
    if counts_equal or (bound.distinct and bound.function != "count" and has_measure(type_)):
        what = f"{call.function}({'DISTINCT ..' if call.distinct else '..'}) of INTERVALs, or texts with a collation,"
        why = "of which different ones may be equal; write epoch_us(..) or lower(..) of them"
        binder.refuse(call.node, f"{what} is not supported, {why}")
    return _counted(_where_so(condition, bound))


def _where_so(condition: Scalar | None, bound: Aggregate) -> Aggregate:
    """The aggregate of the rows that satisfy the condition: the others become NULLs, which it skips."""
    if condition is None:
        return bound
    if not aggregate_of(bound.function).skips_nulls:  # so that the rows themselves must be told
        return replace(bound, others=(*bound.others, _where(condition, Literal(True, BOOLEAN))))
    assert bound.arg is not None, "the rule gave an argument"
    bound = replace(bound, arg=_where(condition, bound.arg))
    if aggregate_of(bound.function).reduction is not Reduction.ACCUMULABLE:
        return bound
    return replace(bound, others=tuple(_where(condition, each) for each in bound.others))


def _where(condition: Scalar, value: Scalar) -> Scalar:
    return Call("case", (condition, value, Literal(None, value.type)), value.type)


def _counted(bound: Aggregate) -> Aggregate:
    """count(x) of what is never NULL counts rows."""
    if bound.function == "count" and not bound.distinct and bound.arg is not None and not bound.arg.nullable:
        return Aggregate("count_star", None, BIGINT, nullable=False)
    return bound


def _check_order(binder: Binder, call: AggregateCall, bound: Aggregate) -> None:
    allowed = [bound.arg]
    if isinstance(bound.arg, Call) and bound.arg.function == "cast":
        allowed.extend(bound.arg.args)  # a value and its text are distinct together
    for term, written in zip(bound.order or order_of(binder, call), call.order, strict=False):
        if term.scalar not in allowed:
            what = "in an aggregate with DISTINCT, ORDER BY takes the argument only"
            binder.refuse(written, f"{what}; order by it, or aggregate a subquery with SELECT DISTINCT")


def _number(binder: Binder, call: AggregateCall) -> Aggregate:
    """sum, avg and the deviations."""
    function, operand = call.function, binder.bind(call.args[0])
    if function == "count_if":  # DuckDB's is a sum: NULL where no condition is known
        return Aggregate("sum", binder.cast(Operand(call.args[0], _condition(binder, call)), INTEGER), HUGEINT)
    operand = numeric(binder, call, operand)
    if function == "sum":
        return Aggregate("sum", operand.scalar, _sum_type(operand.type))
    arg = operand.scalar if function == "avg" else binder.cast(operand, DOUBLE)
    return Aggregate(function, arg, DOUBLE)


def _sum_type(type_: SqlType) -> SqlType:
    if type_.is_integer:
        return HUGEINT
    return decimal(38, type_.scale) if type_.kind is Kind.DECIMAL else DOUBLE


def _count(binder: Binder, call: AggregateCall) -> Aggregate:
    return Aggregate("count", binder.bind(call.args[0]).stored, BIGINT, nullable=False)


def _count_rows(binder: Binder, call: AggregateCall, condition: Scalar | None) -> Aggregate:
    """count(DISTINCT (a, b)): of rows, in which NULL is a value like others."""
    others: list[Scalar] = []
    for node in call.args[0].expressions:
        scalar = binder.bind(node).stored
        if scalar.nullable:
            others.append(is_null(scalar))
            scalar = coalesced(scalar, Literal(some_value(scalar.type), scalar.type))
        others.append(scalar)
    there: Scalar = Literal(True, BOOLEAN)
    there = there if condition is None else _where(condition, there)
    return Aggregate("count", there, BIGINT, False, distinct=True, others=tuple(others))


def _extreme(function: str) -> Callable[[Binder, AggregateCall], Aggregate]:
    def bind(binder: Binder, call: AggregateCall) -> Aggregate:
        scalar = binder.bind(call.args[0]).stored
        if call.order and call.function == "any_value":
            return Aggregate("any_value", scalar, scalar.type, order=order_of(binder, call))
        if call.order and call.function in ("first", "last"):
            return _first_of(scalar, order_of(binder, call), call.function == "last")
        return Aggregate(function, scalar, scalar.type)

    return bind


def _first_of(scalar: Scalar, order: tuple[AggregateOrder, ...], last: bool) -> Aggregate:
    """The value, or the NULL, of the first row; of the last if so, of which ties go by the greatest value."""
    if last:
        order = (*reverse_of(order), AggregateOrder(scalar, True))
    return Aggregate("first", scalar, scalar.type, order=order)


def _truth(function: str) -> Callable[[Binder, AggregateCall], Aggregate]:
    def bind(binder: Binder, call: AggregateCall) -> Aggregate:
        return Aggregate(function, _condition(binder, call), BOOLEAN)

    return bind


def _condition(binder: Binder, call: AggregateCall) -> Scalar:
    operand = binder.bind(call.args[0])
    if operand.type not in (BOOLEAN, NULL) and not operand.is_text_literal:
        what = f"{call.function}() needs conditions, not {operand.type}"
        binder.mismatch(call.node, f"{what}; compare it with something")
    return binder.cast(operand, BOOLEAN)


def _argument(binder: Binder, call: AggregateCall) -> Aggregate:
    """arg_min(x, y) and arg_max(x, y)."""
    arg, by = (binder.bind(node).stored for node in call.args)
    return Aggregate(call.function, arg, arg.type, others=(by,))


def _nulls_last(binder: Binder, call: AggregateCall) -> Aggregate:
    """arg_min_nulls_last(x, y) and arg_max_nulls_last(x, y)."""
    arg, by = (binder.bind(node).stored for node in call.args)
    return _first_of(arg, (AggregateOrder(by, "max" in call.function),), False)


def _bits(binder: Binder, call: AggregateCall) -> Aggregate:
    """bit_and(x), bit_or(x) and bit_xor(x)."""
    operand = binder.bind(call.args[0])
    if operand.type != NULL and not operand.type.is_integer:
        binder.mismatch(call.node, f"{call.function}() takes integers, not {operand.type}; cast to BIGINT")
    return Aggregate(call.function, operand.stored, operand.stored.type)


def _moment(binder: Binder, call: AggregateCall) -> Aggregate:
    """Those of DOUBLEs; of two of them, both of which are NULL where one is."""
    args = [binder.cast(numeric(binder, call, binder.bind(node)), DOUBLE) for node in call.args]
    if len(args) == 1:
        return Aggregate(call.function, args[0], DOUBLE)
    one, other = (
        _where(negation(is_null(there)), each) if there.nullable else each
        for each, there in zip(args, reversed(args), strict=True)
    )
    return Aggregate(call.function, one, DOUBLE, others=(other,))


def _entropy(binder: Binder, call: AggregateCall) -> Aggregate:
    return Aggregate("entropy", binder.bind(call.args[0]).stored, DOUBLE)


def _mad(binder: Binder, call: AggregateCall) -> Aggregate:
    """mad(x): the median of how far values are from their median."""
    operand = numeric(binder, call, binder.bind(call.args[0]))
    if operand.type == FLOAT or operand.type.kind is Kind.DECIMAL:
        return Aggregate("mad", operand.scalar, operand.type)
    return Aggregate("mad", binder.cast(operand, DOUBLE), DOUBLE)


def _mode(binder: Binder, call: AggregateCall) -> Aggregate:
    arg = binder.bind(call.args[0]).stored
    return Aggregate("min" if call.distinct else "mode", arg, arg.type)


def _string_agg(binder: Binder, call: AggregateCall) -> Aggregate:
    separator = _constant(binder, call, call.args[1], VARCHAR) if len(call.args) > 1 else Literal(",", VARCHAR)
    value = binder.bind(call.args[0])
    arg, order = binder.cast(value, VARCHAR), order_of(binder, call)
    if value.type not in (VARCHAR, NULL):  # ties are decided by the value, not by its text
        order = (*order, AggregateOrder(value.stored))
    return Aggregate("string_agg", arg, VARCHAR, order=order, parameters=(separator,))


def _list(binder: Binder, call: AggregateCall) -> Aggregate:
    arg = binder.bind(call.args[0]).stored
    return Aggregate("list", arg, list_of(arg.type), order=order_of(binder, call))


def _constant(binder: Binder, call: AggregateCall, node: exp.Expr, type_: SqlType) -> Literal:
    scalar = binder.cast(binder.bind(node), type_)
    if not isinstance(scalar, Literal) or scalar.value is None:
        binder.refuse(call.node, f"the parameter {text_of(node)} of {call.function}() must be a constant")
    return scalar


RULES: dict[str, Callable[[Binder, AggregateCall], Aggregate]] = {
    **dict.fromkeys(("sum", "count_if", "avg", "stddev_samp", "stddev_pop", "var_samp", "var_pop"), _number),
    "count": _count,
    "min": _extreme("min"),
    "max": _extreme("max"),
    "any_value": _extreme("min"),
    "first": _extreme("min"),
    "last": _extreme("max"),
    "bool_and": _truth("min"),
    "bool_or": _truth("max"),
    "arg_min": _argument,
    "arg_max": _argument,
    "arg_min_null": _argument,
    "arg_max_null": _argument,
    "arg_min_nulls_last": _nulls_last,
    "arg_max_nulls_last": _nulls_last,
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor"), _bits),
    **dict.fromkeys(("product", "skewness", "kurtosis", "kurtosis_pop", "covar_pop", "covar_samp"), _moment),
    "entropy": _entropy,
    "mad": _mad,
    "mode": _mode,
    "string_agg": _string_agg,
    "list": _list,
    "median": bind_median,
    "quantile_cont": bind_quantile,
    "quantile_disc": bind_quantile,
}
"""How the arguments of each are bound."""


def bind_aggregate(binder: Binder, node: exp.Expr) -> Operand:
    """SUM(x) and its like, with DISTINCT, ORDER BY and FILTER; COUNT(*) too."""
    call = read_call(binder, node)
    aggregates = binder.aggregates
    if aggregates is None:
        what = f"the aggregate {call.function}() cannot stand in {binder.clause}"
        binder.fail(call.node, f"{what}; filter on an aggregate in HAVING, or compute it in a subquery in FROM")
    if call.form is not None:
        _check_written(binder, call)
        return Operand(node, binder.bind(expression_of(binder, call)).scalar)
    name = column_name(node, binder.source)
    if len(call.args) > 1 and isinstance(call.args[1], exp.Array):
        return _quantiles(binder, call, name, aggregates)
    with inside(binder, call):
        made = average(binder, call)
        if made is None:
            bound = typed_aggregate(binder, call)
        else:
            condition = binder.condition(call.where) if call.where else None
            parts = {what: _counted(_where_so(condition, each)) for what, each in made.parts.items()}
    if made is not None:
        columns = [aggregates.column(each, f"{name} {what}", node) for what, each in parts.items()]
        return Operand(node, made.whole(*columns))
    found = _of_group(aggregates, bound, name, node)
    of_nothing = aggregate_of(bound.function).of_nothing
    return Operand(node, found if of_nothing is None else coalesced(found, Literal(of_nothing, bound.type)))


def _check_written(binder: Binder, call: AggregateCall) -> None:
    """Refuse arguments that the aggregate does not take, though the expression that it stands for would."""
    if call.function not in (*_OF_NUMBERS, *_OF_AMOUNTS, *_COUNTING_EQUAL) or len(call.args) > 2:
        return
    with inside(binder, call):
        operands = [binder.bind(node) for node in call.args]
        if call.function in _OF_NUMBERS:
            for operand in operands:
                numeric(binder, call, operand)
    type_ = operands[0].type
    if call.function in _OF_AMOUNTS and not (type_ in (NULL, TIME) or type_.is_moment or type_.is_numeric):
        what = f"{call.function}() needs numbers, dates, times or timestamps, not {type_}"
        binder.mismatch(call.node, f"{what}; quantile_disc takes any type")
    if call.function in _COUNTING_EQUAL and holds(type_, INTERVAL):
        what = f"{call.function}() of INTERVALs is not maintained, of which different ones may be equal"
        binder.refuse(call.node, f"{what}; write epoch_us(..) of them")


def _of_group(aggregates: Aggregates, bound: Aggregate, name: str, node: exp.Expr) -> Column:
    if aggregates.grouped:
        bound = replace(bound, nullable=bound.nullable and _may_be_null(bound))
    return aggregates.column(bound, name, node)


def _quantiles(binder: Binder, call: AggregateCall, name: str, aggregates: Aggregates) -> Operand:
    """A list of quantiles at several fractions; NULL of no values."""
    value, fractions = call.args[0], call.args[1].expressions
    if not fractions or len({isinstance(each, exp.Neg) for each in fractions}) > 1:
        binder.refuse(call.args[1], f"{call.function}() takes a list of fractions of one sign; write [0.25, 0.75]")
    with inside(binder, call):
        found = [typed_aggregate(binder, replace(call, args=(value, each))) for each in fractions]
    columns = [_of_group(aggregates, each, f"{name} {place}", call.node) for place, each in enumerate(found, 1)]
    type_ = list_of(columns[0].type)
    listed = Call("list_value", tuple(columns), type_, nullable=False)
    return Operand(call.node, Call("case", (is_null(columns[0]), Literal(None, type_), listed), type_))


@contextmanager
def inside(binder: Binder, call: AggregateCall) -> Iterator[None]:
    """What is bound meanwhile is within an aggregate, where no other stands."""
    before = binder.aggregates, binder.windows, binder.clause
    binder.aggregates, binder.windows, binder.clause = None, None, f"the argument of {call.function}()"
    try:
        yield
    finally:
        binder.aggregates, binder.windows, binder.clause = before


def _may_be_null(bound: Aggregate) -> bool:
    """Whether a group that has rows may have no value."""
    read = bound.others if bound.function == "list" or bound.arg is None else (bound.arg, *bound.others)
    return aggregate_of(bound.function).null_of_values or any(scalar.nullable for scalar in read)


_MOST_KEYS = 63


def bind_grouping(binder: Binder, node: exp.Expr) -> Operand:
    """GROUPING(a, b): a bit for each key, the last the lowest, 1 where the row's group is not by it."""
    if binder.aggregates is None:
        binder.fail(node, f"GROUPING() cannot stand in {binder.clause}; it tells of the groups of a GROUP BY")
    if len(node.expressions) > _MOST_KEYS:
        binder.fail(node, f"GROUPING() of more than {_MOST_KEYS} keys does not fit in a BIGINT; name fewer")
    aggregates, binder.aggregates = binder.aggregates, None
    keys = tuple(binder.bind(key).scalar for key in node.expressions)
    binder.aggregates = aggregates
    return Operand(node, Call("grouping", keys, BIGINT, False))


def _refusal(what: str) -> Handler:
    def bind(binder: Binder, node: exp.Expr) -> Operand:
        binder.refuse(node, what)

    return bind


HANDLERS: dict[type[exp.Expr], Handler] = {
    **dict.fromkeys((*AGGREGATES, *WRAPPERS), bind_aggregate),
    exp.Grouping: bind_grouping,
    exp.GroupingId: bind_grouping,
    exp.Placeholder: _refusal("parameters are not supported yet; write the value"),
    exp.Parameter: _refusal("parameters are not supported yet; write the value"),
    exp.Star: _refusal("* stands only as an item of SELECT and in count(*); name a column"),
}
