"""range() and generate_series() of integers and moments: their arguments, as rows or as a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from sqlglot import exp

from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, DATE, INTERVAL, NULL, TIMESTAMP, TIMESTAMPS, VARCHAR, list_of
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.ir.conditions import comparison
from ivm.sql.ir.functions.series import MOST_ELEMENTS
from ivm.sql.ir.relation import Constant
from ivm.sql.ir.scalar import Call, Literal, Scalar
from ivm.sql.types.calendar import Interval, add_interval

MOST_WRITTEN = 100_000
"""Up to so many rows of constants are kept as if they were VALUES; more are counted out."""


def bind_series_list(binder: Binder, node: exp.GenerateSeries) -> Scalar:
    """The list of range(end), range(start, end) or range(start, end, step), and of generate_series, which has the end.

    Integers are BIGINT, dates and timestamps with an INTERVAL as the step are TIMESTAMP; it is NULL where an argument
    is. A step of 0 gives nothing.
    """
    name = name_of(node)
    operands = _operands(binder, node)
    if any(operand.type in (DATE, *TIMESTAMPS) for operand in operands[:2]):
        return _moments(binder, node, name, operands)
    args = [_integer(binder, name, operand) for operand in operands]
    args += [Literal(1, BIGINT)] * (3 - len(args))
    return Call(name, tuple(args), list_of(BIGINT), any(arg.nullable for arg in args))


def bind_series_rows(binder: Binder, node: exp.GenerateSeries) -> Constant | Scalar:
    """The rows of a series of constants, if they are few; else the list whose elements are the rows.

    A step of 0 is an error here, as in DuckDB. UnsupportedError for more rows than a list may have elements.
    """
    name = name_of(node)
    list_ = bind_series_list(binder, node)
    if not isinstance(list_, Call):
        return list_
    steps = list_.args[2:]
    if all(isinstance(arg, Literal) for arg in steps) and not any(_value(arg) for arg in steps):
        if not any(_value(arg) is None for arg in list_.args if isinstance(arg, Literal)):
            binder.fail(
                node.args["step"], f"the step of {name}() is zero; write one that leads from the start to the end"
            )
    elif len(steps) == 1 and not isinstance(steps[0], Literal):
        zero = comparison("eq", steps[0], Literal(0, BIGINT))
        message = Literal(f"the step of {name}() is zero; leave the row out with WHERE", VARCHAR)
        checked = Call("raise_if", (zero, message, steps[0]), BIGINT, steps[0].nullable)
        return Call(list_.function, (*list_.args[:2], checked), list_.type, list_.nullable)
    if not all(isinstance(arg, Literal) for arg in list_.args):
        return list_
    return _written(binder, node, list_)


def _written(binder: Binder, node: exp.Expr, list_: Call) -> Constant | Scalar:
    name, values = list_.function.partition(" ")[0], [_value(arg) for arg in list_.args]
    element = list_.type.element
    assert element is not None, "it is a list"
    if any(value is None for value in values):
        return Constant((), (Field(name, element, nullable=False),))
    whole = [value for value in values if value is not None]
    found: Iterator[int] = _steps(whole, inclusive=name == "generate_series")
    if len(whole) == 3:
        start, end, step = whole
        counted = range(start, end + (step > 0) - (step < 0) if name == "generate_series" else end, step)
        if len(counted) > MOST_ELEMENTS:
            what = f"{name}() of {len(counted):,} rows is not supported, {MOST_ELEMENTS:,} are the most"
            binder.refuse(node, f"{what}; put its rows in a table")
        found = iter(counted)
    rows = tuple((value,) for value in islice(found, MOST_WRITTEN + 1))
    if len(rows) > MOST_WRITTEN:
        return list_
    return Constant(rows, (Field(name, element, nullable=False),))


def name_of(node: exp.GenerateSeries) -> str:
    """Which of the two functions it is."""
    return "range" if node.args.get("is_end_exclusive") else "generate_series"


def _operands(binder: Binder, node: exp.GenerateSeries) -> list[Operand]:
    # sqlglot adds the start where none is written.
    return [binder.bind(node.args[arg]) for arg in ("start", "end", "step") if node.args.get(arg) is not None]


def _integer(binder: Binder, name: str, operand: Operand) -> Scalar:
    if not (operand.type.is_integer or operand.type == NULL):
        what = f"{name}() counts in integers, or in dates and timestamps with an INTERVAL as the step"
        binder.mismatch(operand.node, f"{what}, not in {operand.type}; cast it to BIGINT")
    return binder.cast(operand, BIGINT)


def _moments(binder: Binder, node: exp.Expr, name: str, operands: Sequence[Operand]) -> Scalar:
    if len(operands) != 3 or operands[2].type not in (INTERVAL, NULL):
        binder.mismatch(node, f"{name}() of dates and timestamps needs a start, an end and an INTERVAL as the step")
    ends = [_moment(binder, operand) for operand in operands[:2]]
    if operands[2].type == NULL:
        return Literal(None, list_of(TIMESTAMP))
    step = operands[2].interval
    if step is None:
        what = f"a step of {name}() that varies is not supported"
        binder.refuse(operands[2].node, f"{what}; write an INTERVAL with a number, and filter with WHERE")
    parts = step.months, step.days, step.micros
    if len({(part > 0) - (part < 0) for part in parts} - {0}) > 1:
        what = f"the step of {name}() goes both ways"
        binder.fail(operands[2].node, f"{what}; write one that leads from the start to the end")
    args = (*ends, *(Literal(part, BIGINT) for part in parts))
    return Call(f"{name} of moments", args, list_of(TIMESTAMP), any(arg.nullable for arg in args))


def _moment(binder: Binder, operand: Operand) -> Scalar:
    if operand.type == VARCHAR:
        binder.mismatch(operand.node, "a text is no TIMESTAMP here; write DATE or TIMESTAMP before it, or cast it")
    return binder.cast(operand, TIMESTAMP)


def _steps(values: Sequence[int], *, inclusive: bool) -> Iterator[int]:
    """The moments from the first value on to the second, each a step after the one before."""
    at, end, *parts = values
    step, up = Interval(*parts), any(part > 0 for part in parts)
    while (at < end if up else at > end) or (inclusive and at == end):
        yield at
        try:
            at = add_interval(at, step)
        except ValueError:  # beyond all moments there are
            return


def _value(scalar: Scalar) -> int | None:
    assert isinstance(scalar, Literal), "it is a constant"
    return None if scalar.value is None else int(scalar.value)
