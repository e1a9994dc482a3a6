"""Three-valued logic and the functions that evaluate an argument only on the rows that need it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catalog.errors import NumericError
from catalog.types import Physical, SqlType
from ivm.analysis.ranges import can_raise
from ivm.render.scalars.columns import dense, truth
from ivm.render.scalars.functions import Apply, Build, Context, Evaluate
from ivm.render.scalars.rows import Rows
from ivm.trace.column import DTYPES, Array, Bools, Column
from sql.ir.scalar import Call, Literal

Branch = tuple[Evaluate | None, Evaluate]
"""A condition (None: always) and the value where it is the first to hold."""


def negation(call: Call, context: Context) -> Apply:
    """not(a)."""
    return lambda a: Column(~a.values, a.valid)


def junction(call: Call, context: Context, build: Build) -> Evaluate:
    """and(a, ...), or(a, ...): an argument that can raise is evaluated only where those before it leave it open."""
    deciding = call.function == "or"
    terms = [(build(a), can_raise(a)) for a in call.args]

    def evaluate(rows: Rows) -> Column:
        decided: Any = np.zeros(1, np.bool_)
        unknown: Bools | None = None
        for term, raises in terms:
            if raises and decided.any():
                column = _where_open(term, rows, decided, deciding)
            else:
                column = term(rows)
            values: Any = column.values
            hit = truth(column) if deciding else truth(Column(~values, column.valid))
            decided = decided | hit
            if column.valid is not None:
                unknown = ~column.valid if unknown is None else unknown | ~column.valid
        return Column(decided if deciding else ~decided, None if unknown is None else decided | ~unknown)

    return evaluate


def _where_open(term: Evaluate, rows: Rows, decided: Bools, deciding: bool) -> Column:
    """The term on the rows that are not decided; elsewhere a value that decides nothing."""
    values = np.full(rows.length, not deciding)
    if len(decided) != rows.length:
        return Column(values)
    open_rows = np.flatnonzero(~decided)
    if len(open_rows) == 0:
        return Column(values)
    found = term(rows.take(open_rows))
    values[open_rows] = found.values
    if found.valid is None:
        return Column(values)
    valid = np.ones(rows.length, np.bool_)
    valid[open_rows] = found.valid
    return Column(values, valid)


def case(call: Call, context: Context, build: Build) -> Evaluate:
    """case(c1, v1, ..., else)."""
    branches: list[Branch] = [(build(c), build(v)) for c, v in zip(call.args[:-1:2], call.args[1::2], strict=True)]
    branches.append((None, build(call.args[-1])))
    if any(can_raise(a) for a in call.args):
        return lambda rows: _guarded(rows, branches, call.type)
    return lambda rows: _selected(rows, branches, call.type)


def coalesce(call: Call, context: Context, build: Build) -> Evaluate:
    """coalesce(a, ...): the first that is not NULL."""
    terms = [build(a) for a in call.args]
    guarded = any(can_raise(a) for a in call.args[1:])

    def evaluate(rows: Rows) -> Column:
        result = terms[0](rows)
        for term in terms[1:]:
            if result.valid is None:
                break
            result = _filled(result, term, rows, guarded, call.type)
        return result

    return evaluate


def _filled(result: Column, term: Evaluate, rows: Rows, guarded: bool, type_: SqlType) -> Column:
    """`result` with its NULLs replaced by what `term` says."""
    valid = result.valid
    assert valid is not None
    if not guarded:
        return _merge(valid, result, term(rows), type_)
    result = dense(result, rows.length)
    valid = np.resize(valid, rows.length)
    gaps = np.flatnonzero(~valid)
    if len(gaps) == 0:
        return Column(result.values)
    out = _Output(rows.length, type_)
    out.values[:] = result.values
    out.valid[:] = valid
    out.put(gaps, term(rows.take(gaps)))
    return out.column()


def _merge(hit: Bools, then: Column, otherwise: Column, type_: SqlType) -> Column:
    """`then` where hit, else `otherwise`."""
    chosen = hit[:, None] if type_.physical is Physical.WIDE else hit
    values = np.where(chosen, then.values, otherwise.values)
    if then.valid is None and otherwise.valid is None:
        return Column(values)
    a = np.True_ if then.valid is None else then.valid
    b = np.True_ if otherwise.valid is None else otherwise.valid
    return Column(values, np.where(hit, a, b))


def _selected(rows: Rows, branches: Sequence[Branch], type_: SqlType) -> Column:
    """Every branch on all rows: right where nothing can raise, and cheaper than narrowing."""
    result = branches[-1][1](rows)
    for condition, value in reversed(branches[:-1]):
        assert condition is not None
        result = _merge(truth(condition(rows)), value(rows), result, type_)
    return result


def _guarded(rows: Rows, branches: Sequence[Branch], type_: SqlType) -> Column:
    """Each branch on its own rows only."""
    out = _Output(rows.length, type_)
    pending = np.arange(rows.length)
    rest = rows
    for condition, value in branches:
        if condition is None:
            out.put(pending, value(rest))
            break
        hit = truth(dense(condition(rest), rest.length))
        taken = np.flatnonzero(hit)
        if len(taken) == 0:
            continue
        out.put(pending[taken], value(rest.take(taken)))
        left = np.flatnonzero(~hit)
        if len(left) == 0:
            break
        pending, rest = pending[left], rest.take(left)
    return out.column()


def raise_if(call: Call, context: Context) -> Apply:
    """raise_if(condition, message, value): the value, or NumericError with the message."""
    message = call.args[1]
    assert isinstance(message, Literal), "the message is a literal"

    def apply(condition: Column, _: Column, value: Column) -> Column:
        if truth(condition).any():
            raise NumericError(str(message.value))
        return value

    return apply


class _Output:
    """A column that is filled piece by piece; NULL where nothing was put."""

    def __init__(self, length: int, type_: SqlType) -> None:
        shape = (length, 2) if type_.physical is Physical.WIDE else length
        self.values: Array = np.zeros(shape, DTYPES[type_.physical])
        self.valid = np.zeros(length, np.bool_)

    def put(self, rows: Array, column: Column) -> None:
        self.values[rows] = column.values
        self.valid[rows] = True if column.valid is None else column.valid

    def column(self) -> Column:
        return Column(self.values, None if self.valid.all() else self.valid)


STRICT = {"not": negation, "raise_if": raise_if}
LAZY = {"and": junction, "or": junction, "case": case, "coalesce": coalesce}
