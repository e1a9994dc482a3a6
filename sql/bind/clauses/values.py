"""Rows that are written in the query: VALUES in FROM or alone, range(..) and generate_series(..)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from sqlglot import exp

from catalog.schema import Field
from catalog.types import BIGINT, DATE, INTEGER, INTERVAL, NULL, TIMESTAMP, VARCHAR, SqlType
from sql.bind.context import BindContext
from sql.bind.expressions.binder import Binder
from sql.bind.expressions.comparisons import unified
from sql.bind.expressions.handlers import HANDLERS
from sql.bind.expressions.operand import Operand
from sql.bind.names.scope import Scope
from sql.ir.relation import Constant
from sql.ir.scalar import Literal, Value
from sql.sql_text import text_of
from sql.tree import values_of
from sql.types.calendar import Interval, add_interval


def bind_values(context: BindContext, node: exp.Values) -> Constant:
    """The rows of VALUES (...), (...); columns are called col0, col1, ... and have the common type of their values."""
    binder = Binder(context.source, Scope(), HANDLERS, "VALUES", outer=tuple(context.outer_rows))
    rows = [[binder.value(item) for item in values_of(row)] for row in node.expressions]
    if len({len(row) for row in rows}) != 1:
        context.fail(node, "the rows of VALUES have different numbers of values; write as many in each")
    columns = [_column(binder, node, [row[i] for row in rows]) for i in range(len(rows[0]))]
    fields = tuple(
        Field(f"col{i}", column[0].type, any(value.value is None for value in column))
        for i, column in enumerate(columns)
    )
    values: list[tuple[Value, ...]] = [tuple(column[i].value for column in columns) for i in range(len(rows))]
    return Constant(tuple(values), fields)


def _column(binder: Binder, node: exp.Expr, operands: list[Operand]) -> list[Literal]:
    scalars, type_ = unified(binder, node, "a column of VALUES", operands)
    literals = []
    for operand, scalar in zip(operands, scalars, strict=True):
        if not isinstance(scalar, Literal):
            binder.refuse(operand.node, "VALUES holds constants only; compute in a SELECT around it")
        literals.append(Literal(None, INTEGER) if type_ == NULL else scalar)
    return literals


MOST_ROWS = 1_000_000
"""So many rows may a query write with one range() or generate_series(); they are kept as if they were VALUES."""


def bind_series(context: BindContext, node: exp.GenerateSeries) -> Constant:
    """The rows of range(end), range(start, end) or range(start, end, step), and of generate_series, which has the end.

    Numbers are BIGINT, dates and timestamps with an INTERVAL as the step are TIMESTAMP; a NULL gives no rows. The
    column is called by the function. Cost: time and memory of the rows, at most MOST_ROWS.
    """
    name = "range" if node.args.get("is_end_exclusive") else "generate_series"
    binder = Binder(context.source, Scope(), HANDLERS, f"{name}() in FROM")
    # sqlglot adds the start where none is written.
    written = [node.args[arg] for arg in ("start", "end", "step") if node.args.get(arg) is not None]
    operands = [_constant(binder, name, arg) for arg in written]
    if any(operand.type in (DATE, TIMESTAMP) for operand in operands[:2]):
        type_, values = TIMESTAMP, _moments(binder, node, name, operands)
    else:
        type_, values = BIGINT, _numbers(binder, name, operands)
    rows = tuple((value,) for value in islice(values, MOST_ROWS + 1))
    if len(rows) > MOST_ROWS:
        context.refuse(node, f"{name}() of more than {MOST_ROWS:,} rows is not supported; put its rows in a table")
    return Constant(rows, (Field(name, type_, nullable=False),))


def _constant(binder: Binder, name: str, arg: exp.Expr) -> Operand:
    """A number, moment or interval that does not depend on a row."""
    column = arg.find(exp.Column, exp.Query)
    if column is not None:
        what = f"{text_of(column)} in {name}() varies; its arguments are constants"
        binder.refuse(column, f"{what}: join with {name}() of the longest there is, and compare in ON")
    operand = binder.bind(arg)
    if not isinstance(operand.scalar, Literal):
        binder.refuse(arg, f"{text_of(arg)} in {name}() is computed; write the value")
    return operand


def _numbers(binder: Binder, name: str, operands: list[Operand]) -> Iterator[int]:
    for operand in operands:
        if not (operand.type.is_integer or operand.type == NULL):
            what = f"{name}() counts in integers, or in dates and timestamps with an INTERVAL as the step"
            binder.mismatch(operand.node, f"{what}, not in {operand.type}; cast it to BIGINT")
    found = [_value(binder, operand, BIGINT) for operand in operands]
    values = [value for value in found if value is not None]
    if len(values) < len(found):
        return iter(())
    start, end, step = (*values, 1)[:3]
    if step == 0:
        binder.fail(operands[2].node, f"the step of {name}() is zero; write one that leads from the start to the end")
    if name == "generate_series":
        end += 1 if step > 0 else -1
    return iter(range(start, end, step))


def _moments(binder: Binder, node: exp.Expr, name: str, operands: list[Operand]) -> Iterator[int]:
    if len(operands) != 3 or operands[2].type not in (INTERVAL, NULL):
        binder.mismatch(node, f"{name}() of dates and timestamps needs a start, an end and an INTERVAL as the step")
    start, end = (_value(binder, operand, TIMESTAMP) for operand in operands[:2])
    step = operands[2].interval
    if step is None or start is None or end is None:
        return iter(())
    signs = {(part > 0) - (part < 0) for part in (step.months, step.days, step.micros)} - {0}
    if len(signs) != 1:
        what = "is zero" if not signs else "goes both ways"
        binder.fail(operands[2].node, f"the step of {name}() {what}; write one that leads from the start to the end")
    return _steps(start, end, step, signs.pop(), inclusive=name == "generate_series")


def _steps(at: int, end: int, step: Interval, sign: int, *, inclusive: bool) -> Iterator[int]:
    """The moments from `at` on, each a step after the one before."""
    while sign * (end - at) > 0 or (inclusive and at == end):
        yield at
        try:
            at = add_interval(at, step)
        except ValueError:  # beyond all moments there are
            return


def _value(binder: Binder, operand: Operand, target: SqlType) -> int | None:
    if operand.type == VARCHAR:
        binder.mismatch(operand.node, f"a text is no {target} here; write DATE or TIMESTAMP before it, or cast it")
    literal = binder.cast(operand, target)
    assert isinstance(literal, Literal), "casts of literals are literals"
    return None if literal.value is None else int(literal.value)
