"""Three-valued logic and the functions that evaluate an argument only on the rows that need it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catalog.errors import NumericError
from catalog.types import Physical, SqlType
from ivm.analysis.ranges import can_raise
from ivm.render.scalars.bodies.body import Body, EmitScalar
from ivm.render.scalars.columns import dense, truth
from ivm.render.scalars.functions import Apply, Build, Context, Evaluate
from ivm.render.scalars.rows import Rows
from ivm.render.scalars.writer import Script, Value, Writer
from ivm.trace.column import DTYPES, Array, Bools, Column
from sql.ir.scalar import Call, Literal, Scalar

Branch = tuple[Evaluate | None, Evaluate]
"""A condition (None: always) and the value where it is the first to hold."""


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


def _negation(script: Script, call: Call, args: list[Value]) -> Value:
    return Value((script.let(f"{args[0].word} ^ True"),), args[0].valid)  # what is constant stays a truth value


def _raise_if_in_loop(writer: Writer, call: Call, emit: EmitScalar) -> Value:
    condition = emit(writer, call.args[0])
    writer.fail(condition.word, condition.valid)
    return emit(writer, call.args[2])


def _junction_in_loop(writer: Writer, call: Call, emit: EmitScalar) -> Value:
    """and, or: a term that can raise is evaluated only where those before it leave the result open."""
    neutral = call.function == "and"
    result, known = writer.let(str(neutral)), writer.let("True")
    nullable = False
    for term in call.args:
        if can_raise(term):
            with writer.block(f"if {result}:" if neutral else f"if not {result}:"):
                nullable |= _join(writer, emit(writer, term), result, known, neutral)
        else:
            nullable |= _join(writer, emit(writer, term), result, known, neutral)
    if not nullable:
        return Value((result,))
    return Value((result,), writer.let(f"{known} or not {result}" if neutral else f"{known} or {result}"))


def _join(writer: Writer, value: Value, result: str, known: str, neutral: bool) -> bool:
    """Fold one more term in; `known` is False once a term was NULL. Whether the term can be NULL."""
    sign = "and" if neutral else "or"
    if value.valid is None:
        writer.line(f"{result} = {result} {sign} {value.word}")
        return False
    term = f"({value.word} or not {value.valid})" if neutral else f"({value.word} and {value.valid})"
    writer.line(f"{result} = {result} {sign} {term}")
    writer.line(f"{known} = {known} and {value.valid}")
    return True


def _case_in_loop(writer: Writer, call: Call, emit: EmitScalar) -> Value:
    out = _Target(writer, call.type)
    pairs = list(zip(call.args[:-1:2], call.args[1::2], strict=True))
    _branches(writer, pairs, call.args[-1], out, emit)
    return out.value()


def _branches(
    writer: Writer, pairs: list[tuple[Scalar, Scalar]], otherwise: Scalar, out: _Target, emit: EmitScalar
) -> None:
    if not pairs:
        out.put(emit(writer, otherwise))
        return
    condition, value = pairs[0]
    with writer.block(f"if {_holds(emit(writer, condition))}:"):
        out.put(emit(writer, value))
    with writer.block("else:"):
        _branches(writer, pairs[1:], otherwise, out, emit)


def _coalesce_in_loop(writer: Writer, call: Call, emit: EmitScalar) -> Value:
    out = _Target(writer, call.type)
    _firsts(writer, call.args, out, emit)
    return out.value()


def _firsts(writer: Writer, args: tuple[Scalar, ...], out: _Target, emit: EmitScalar) -> None:
    value = emit(writer, args[0])
    if value.valid is None or len(args) == 1:
        out.put(value)
        return
    with writer.block(f"if {value.valid}:"):
        out.put(Value(value.words))
    with writer.block("else:"):
        _firsts(writer, args[1:], out, emit)


def _holds(value: Value) -> str:
    """The condition that a BOOLEAN value is TRUE."""
    return value.word if value.valid is None else f"{value.valid} and {value.word}"


class _Target:
    """Names that every branch assigns; whether the result can be NULL is known when all have."""

    def __init__(self, writer: Writer, type_: SqlType) -> None:
        self.writer = writer
        self.words = tuple(writer.name() for _ in range(2 if type_.physical is Physical.WIDE else 1))
        self.valid = writer.name()
        self.nullable = False

    def put(self, value: Value) -> None:
        for name, word in zip(self.words, value.words, strict=True):
            self.writer.line(f"{name} = {word}")
        self.writer.line(f"{self.valid} = {value.valid or 'True'}")
        self.nullable |= value.valid is not None

    def value(self) -> Value:
        return Value(self.words, self.valid if self.nullable else None)


BODIES = (
    Body("not", _negation),
    Body("and", lazy=junction, lazy_loop=_junction_in_loop),
    Body("or", lazy=junction, lazy_loop=_junction_in_loop),
    Body("case", lazy=case, lazy_loop=_case_in_loop),
    Body("coalesce", lazy=coalesce, lazy_loop=_coalesce_in_loop),
    Body("raise_if", strict=raise_if, lazy_loop=_raise_if_in_loop),
)
