"""Source text for comparisons, three-valued logic and the functions that take only the branch they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.types import Physical, SqlType
from ivm.analysis.ranges import can_raise
from ivm.render.scalars.emit_numbers import Emit
from ivm.render.scalars.writer import NotCompiledError, Value, Writer
from sql.ir.scalar import Call, Literal, Scalar

SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_DOUBLE = {
    "eq": "double_eq({0}, {1})", "ne": "not double_eq({0}, {1})", "lt": "double_lt({0}, {1})",
    "le": "not double_lt({1}, {0})", "gt": "double_lt({1}, {0})", "ge": "not double_lt({0}, {1})",
}  # fmt: skip

EmitScalar = Callable[[Writer, Scalar], Value]


def compared(function: str, type_: SqlType, a: Value, b: Value) -> str:
    """The comparison of two values that are not NULL, as an expression."""
    if type_.physical is Physical.FLOAT64:
        return _DOUBLE[function].format(a.word, b.word)
    if type_.physical is Physical.WIDE:
        return f"wide_compare({', '.join((*a.words, *b.words))}) {SIGNS[function]} 0"
    if type_.physical is Physical.CODE and function not in ("eq", "ne"):
        raise NotCompiledError(function)
    return f"{a.word} {SIGNS[function]} {b.word}"


def comparison(writer: Writer, call: Call, args: list[Value]) -> Value:
    """eq, ne, lt, le, gt, ge."""
    return Value((writer.let(compared(call.function, call.args[0].type, *args)),), writer.both(*args))


def is_null(writer: Writer, call: Call, args: list[Value]) -> Value:
    """is_null."""
    return Value(("False" if args[0].valid is None else writer.let(f"not {args[0].valid}"),))


def is_distinct(writer: Writer, call: Call, args: list[Value]) -> Value:
    """is_distinct."""
    a, b = args
    differ = writer.let(compared("ne", call.args[0].type, a, b))
    if a.valid is None and b.valid is None:
        return Value((differ,))
    x, y = a.valid or "True", b.valid or "True"
    return Value((writer.let(f"({x} != {y}) or ({x} and {y} and {differ})"),))


def nullif(writer: Writer, call: Call, args: list[Value]) -> Value:
    """Nullif."""
    equal = writer.let(compared("eq", call.args[0].type, *args))
    valid = writer.both(*args)
    same = equal if valid is None else writer.let(f"{valid} and {equal}")
    return Value(args[0].words, writer.let(f"{args[0].valid or 'True'} and not {same}"))


def extreme(writer: Writer, call: Call, args: list[Value]) -> Value:
    """greatest, least."""
    function, best = ("gt" if call.function == "greatest" else "lt"), args[0]
    for other in args[1:]:
        wins = writer.let(compared(function, call.type, other, best))
        if best.valid is not None:
            wins = writer.let(f"{wins} or not {best.valid}")
        if other.valid is not None:
            wins = writer.let(f"{wins} and {other.valid}")
        words = tuple(writer.let(f"{o} if {wins} else {b}") for o, b in zip(other.words, best.words, strict=True))
        valid = None
        if best.valid is not None and other.valid is not None:
            valid = writer.let(f"{best.valid} or {other.valid}")
        best = Value(words, valid)
    return best


def negation(writer: Writer, call: Call, args: list[Value]) -> Value:
    """Not."""
    return Value((writer.let(f"not {args[0].word}"),), args[0].valid)


def raise_if(writer: Writer, call: Call, emit: EmitScalar) -> Value:
    """raise_if: the interpreter raises."""
    condition = emit(writer, call.args[0])
    writer.fail(condition.word, condition.valid)
    return emit(writer, call.args[2])


def in_list(writer: Writer, call: Call, emit: EmitScalar) -> Value:
    """in: few literals one by one, many integers by a search."""
    value, type_ = emit(writer, call.args[0]), call.args[0].type
    items = [item for item in call.args[1:] if isinstance(item, Literal) and item.value is not None]
    if len(items) > 8 and type_.physical in (Physical.INT32, Physical.INT64, Physical.CODE):
        code: Callable[[Any], int] = writer.context.dictionary.code if type_.physical is Physical.CODE else int
        members = np.unique(np.array([code(item.value) for item in items], np.int64))
        hit = writer.let(f"contains({writer.ordered_set(members)}, {value.word})")
    else:
        terms = [f"({compared('eq', type_, value, emit(writer, item))})" for item in items]
        hit = writer.let(" or ".join(terms) or "False")
    if len(items) == len(call.args) - 1:
        return Value((hit,), value.valid)
    return Value((hit,), hit if value.valid is None else writer.let(f"{value.valid} and {hit}"))


def junction(writer: Writer, call: Call, emit: EmitScalar) -> Value:
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


def case(writer: Writer, call: Call, emit: EmitScalar) -> Value:
    """Case."""
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
    with writer.block(f"if {truth(emit(writer, condition))}:"):
        out.put(emit(writer, value))
    with writer.block("else:"):
        _branches(writer, pairs[1:], otherwise, out, emit)


def coalesce(writer: Writer, call: Call, emit: EmitScalar) -> Value:
    """Coalesce."""
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


def truth(value: Value) -> str:
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


STRICT: dict[str, Emit] = {
    **dict.fromkeys(SIGNS, comparison),
    "is_null": is_null, "is_distinct": is_distinct, "nullif": nullif, "greatest": extreme, "least": extreme,
    "not": negation,
}  # fmt: skip
LAZY: dict[str, Callable[[Writer, Call, EmitScalar], Value]] = {
    "in": in_list, "and": junction, "or": junction, "case": case, "coalesce": coalesce,
    "raise_if": raise_if,
}  # fmt: skip
