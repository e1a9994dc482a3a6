"""Comparisons, IN, and the functions that choose by comparing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ivm.catalog.types import Physical, SqlType
from ivm.render.scalars.bodies.body import Body
from ivm.render.scalars.writer import Script, Value
from ivm.sql.ir.scalar import Call, Literal

_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_DOUBLE = {
    "eq": "double_eq({0}, {1})", "ne": "double_eq({0}, {1}) ^ True", "lt": "double_lt({0}, {1})",
    "le": "double_lt({1}, {0}) ^ True", "gt": "double_lt({1}, {0})", "ge": "double_lt({0}, {1}) ^ True",
}  # fmt: skip


def compared(script: Script, function: str, type_: SqlType, a: Value, b: Value) -> str:
    """The comparison of two values that are not NULL, as an expression."""
    if type_.physical is Physical.FLOAT64:
        return _DOUBLE[function].format(a.word, b.word)
    if type_.physical is Physical.WIDE:
        return f"wide_compare({', '.join((*a.words, *b.words))}) {_SIGNS[function]} 0"
    if type_.physical is Physical.CODE and function not in ("eq", "ne"):
        return f"{script.text_order(a.word, b.word)} {_SIGNS[function]} 0"
    return f"{a.word} {_SIGNS[function]} {b.word}"


def comparison(script: Script, call: Call, args: list[Value]) -> Value:
    """eq, ne, lt, le, gt, ge."""
    return Value((script.let(compared(script, call.function, call.args[0].type, *args)),), script.both(*args))


def is_null(script: Script, call: Call, args: list[Value]) -> Value:
    """is_null(a), never NULL itself."""
    return Value(("False" if args[0].valid is None else script.let(f"{args[0].valid} ^ True"),))


def is_distinct(script: Script, call: Call, args: list[Value]) -> Value:
    """is_distinct(a, b): NULL equals NULL and nothing else."""
    a, b = args
    differ = script.let(compared(script, "ne", call.args[0].type, a, b))
    if a.valid is None and b.valid is None:
        return Value((differ,))
    x, y = a.valid or "True", b.valid or "True"
    return Value((script.let(f"({x} != {y}) | ({x} & {y} & {differ})"),))


def nullif(script: Script, call: Call, args: list[Value]) -> Value:
    """nullif(a, b): NULL where equal, else a."""
    same = script.let(compared(script, "eq", call.args[0].type, *args))
    valid = script.both(*args)
    if valid is not None:
        same = script.let(f"{valid} & {same}")
    return Value(args[0].words, script.let(f"{args[0].valid or 'True'} & ({same} ^ True)"))


def extreme(script: Script, call: Call, args: list[Value]) -> Value:
    """greatest(a, ...), least(a, ...): NULLs are skipped."""
    function, best = ("gt" if call.function == "greatest" else "lt"), args[0]
    for other in args[1:]:
        wins = script.let(compared(script, function, call.type, other, best))
        if best.valid is not None:
            # Where the best is NULL, the other wins, unless it is NULL as well, and then it does not matter.
            wins = script.let(f"{wins} | ({best.valid} ^ True)")
        if other.valid is not None:
            wins = script.let(f"{wins} & {other.valid}")
        words = tuple(script.let(f"where({wins}, {o}, {b})") for o, b in zip(other.words, best.words, strict=True))
        valid = None
        if best.valid is not None and other.valid is not None:
            valid = script.let(f"{best.valid} | {other.valid}")
        best = Value(words, valid)
    return best


def in_list(script: Script, call: Call, args: list[Value]) -> Value:
    """in(a, literal, ...): TRUE if equal to one, else NULL if the list holds NULL, else FALSE.

    Few literals are compared one by one; many integers are looked up in order.
    """
    (value,), type_ = args, call.args[0].type
    items = [item for item in call.args[1:] if isinstance(item, Literal) and item.value is not None]
    if len(items) > 8 and type_.physical in (Physical.INT32, Physical.INT64, Physical.CODE):
        known: list[Any] = [item.value for item in items]
        if type_.physical is Physical.CODE:
            known = script.context.literals.codes([str(each) for each in known])
        hit = script.let(f"contains({script.ordered_set(np.unique(np.array(known, np.int64)))}, {value.word})")
    else:
        terms = [f"({compared(script, 'eq', type_, value, script.literal(item))})" for item in items]
        hit = script.let(" | ".join(terms) or "False")
    if len(items) == len(call.args) - 1:
        return Value((hit,), value.valid)
    return Value((hit,), hit if value.valid is None else script.let(f"{value.valid} & {hit}"))


BODIES = (
    *(Body(name, comparison, narrow=True, by_code=True) for name in ("eq", "ne")),
    *(Body(name, comparison, narrow=True) for name in ("lt", "le", "gt", "ge")),
    Body("is_null", is_null, narrow=True, by_code=True),
    Body("is_distinct", is_distinct, narrow=True, by_code=True),
    Body("nullif", nullif, narrow=True),
    Body("greatest", extreme, narrow=True),
    Body("least", extreme, narrow=True),
    Body("in", in_list, values=(0,), narrow=True, by_code=True),
)
