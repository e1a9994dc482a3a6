"""Bits and divisors of integers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from catalog.errors import NumericError
from catalog.types import Physical
from ivm.render.scalars.bodies.body import Body
from ivm.render.scalars.columns import objects, stored
from ivm.render.scalars.failures import attempted, first_bad, over_integers
from ivm.render.scalars.functions import Apply, Context
from ivm.render.scalars.writer import NotCompiledError, Script, Value
from ivm.trace.column import Column
from sql.ir.limits import limits
from sql.ir.scalar import Call

_EXPRESSIONS = {"bit_and": "{} & {}", "bit_or": "{} | {}", "xor": "{} ^ {}", "bit_not": "~{}"}


def _word_by_word(writer: Script, call: Call, args: list[Value]) -> Value:
    """bit_and, bit_or, xor, bit_not: 128 bits are two words."""
    words = (_EXPRESSIONS[call.function].format(*words) for words in zip(*(a.words for a in args), strict=True))
    return Value(tuple(writer.let(word) for word in words), writer.both(*args))


def bit_count(call: Call, context: Context) -> Apply:
    """bit_count(a): the bits that are set in as many as the type has."""
    mask = (1 << call.args[0].type.kind.bits) - 1
    if call.args[0].type.physical is Physical.WIDE:
        count = np.frompyfunc(lambda value: (value & mask).bit_count(), 1, 1)
        return lambda a: Column(count(objects(a.values)).astype(np.int32), a.valid)

    def apply(a: Column) -> Column:
        words: Any = a.values.astype(np.int64).view(np.uint64)
        return Column(np.bitwise_count(words & np.uint64(mask)).astype(np.int32), a.valid)

    return apply


def _shift_right(writer: Script, call: Call, args: list[Value]) -> Value:
    if call.type.physical is Physical.WIDE:
        raise NotCompiledError(call.function)
    a, b = (arg.word for arg in args)
    inside = writer.let(f"({b} >= 0) & ({b} < {call.type.kind.bits})")
    return Value((writer.let(f"({a} >> {b} * {inside}) * {inside}"),), writer.both(*args))


def _wide_shift_right(call: Call, context: Context) -> Apply | None:
    def shifted(x: Any, y: Any) -> Any:
        inside = (y >= 0) & (y < 128)
        return np.where(inside, x >> np.where(inside, y, 0), 0)

    return over_integers(call, shifted) if call.type.physical is Physical.WIDE else None


def shift_left(call: Call, context: Context) -> Apply:
    """shift_left(a, b)."""
    width, nothing = call.type.kind.bits, limits(call.type)[1] + 1

    def shifted(x: Any, y: Any) -> Any:
        bad = (x < 0) | (y < 0) | ((y >= width) & (x != 0))
        return np.where(bad, nothing, np.where(bad, 0, x) << np.where(bad | (y >= width), 0, y))

    return over_integers(call, shifted)


def divisors(call: Call, context: Context) -> Apply:
    """gcd(a, b), lcm(a, b)."""
    return over_integers(call, np.frompyfunc(getattr(math, call.function), 2, 1))


def factorial(call: Call, context: Context) -> Apply:
    """factorial(a): of 0 to 33, since that of 34 leaves 128 bits."""
    table = np.array([math.factorial(n) for n in range(34)], object)

    def apply(a: Column) -> Column:
        given: Any = a.values
        bad: Any = (given < 0) | (given > 33)
        row = first_bad(bad, a.valid)
        if row is not None:
            raise NumericError(f"cannot compute {attempted(call, (a,), row)}: factorial needs a number from 0 to 33")
        return Column(stored(table[np.where(bad, 0, given)], call.type.physical), a.valid)

    return apply


BODIES = (
    *(Body(name, _word_by_word) for name in _EXPRESSIONS),
    Body("bit_count", strict=bit_count),
    Body("shift_left", strict=shift_left),
    Body("shift_right", _shift_right, strict=_wide_shift_right),
    Body("gcd", strict=divisors),
    Body("lcm", strict=divisors),
    Body("factorial", strict=factorial),
)
