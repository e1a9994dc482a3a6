"""Bits and divisors of integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.errors import NumericError
from catalog.types import TRAITS, Physical
from ivm.render.scalars.columns import all_valid, objects, stored
from ivm.render.scalars.failures import first_bad, overflow
from ivm.render.scalars.functions import Apply, Context
from ivm.render.scalars.numeric import describe
from ivm.trace.column import Column
from sql.ir.limits import limits
from sql.ir.scalar import Call

_PLAIN: dict[str, Callable[..., Any]] = {
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "bit_not": np.invert,
}


def _objects(column: Column) -> Any:
    return objects(column.values)


def plain(call: Call, context: Context) -> Apply:
    """bit_and, bit_or, xor, bit_not: word by word, so that 128 bits are two words."""
    operation = _PLAIN[call.function]
    return lambda *columns: Column(operation(*[c.values for c in columns]), all_valid(columns))


def bit_count(call: Call, context: Context) -> Apply:
    """bit_count(a): the bits that are set in as many as the type has."""
    mask = (1 << TRAITS[call.args[0].type.kind].bits) - 1
    if call.args[0].type.physical is Physical.WIDE:
        count = np.frompyfunc(lambda value: (value & mask).bit_count(), 1, 1)
        return lambda a: Column(count(objects(a.values)).astype(np.int32), a.valid)

    def apply(a: Column) -> Column:
        words: Any = a.values.astype(np.int64).view(np.uint64)
        return Column(np.bitwise_count(words & np.uint64(mask)).astype(np.int32), a.valid)

    return apply


def shift_right(call: Call, context: Context) -> Apply:
    """shift_right(a, b)."""
    width = TRAITS[call.type.kind].bits

    def apply(a: Column, b: Column) -> Column:
        x, y = _objects(a), _objects(b)
        inside = (y >= 0) & (y < width)
        values = np.where(inside, x >> np.where(inside, y, 0), 0)
        return Column(stored(values, call.type.physical), all_valid((a, b)))

    return apply


def shift_left(call: Call, context: Context) -> Apply:
    """shift_left(a, b)."""
    width, highest = TRAITS[call.type.kind].bits, limits(call.type)[1]

    def apply(a: Column, b: Column) -> Column:
        x, y = _objects(a), _objects(b)
        valid = all_valid((a, b))
        bad = (x < 0) | (y < 0) | ((y >= width) & (x != 0))
        values = np.where(bad, 0, x) << np.where(bad | (y >= width), 0, y)
        row = first_bad((bad | (values > highest)).astype(np.bool_), valid)
        if row is not None:
            raise overflow(describe(call, (a, b))(row), call.type)
        return Column(stored(np.where(values > highest, 0, values), call.type.physical), valid)

    return apply


def divisors(call: Call, context: Context) -> Apply:
    """gcd(a, b), lcm(a, b)."""
    low, high = limits(call.type)
    operation = np.frompyfunc(getattr(math, call.function), 2, 1)

    def apply(a: Column, b: Column) -> Column:
        valid, values = all_valid((a, b)), operation(_objects(a), _objects(b))
        outside = ((values < low) | (values > high)).astype(np.bool_)
        row = first_bad(outside, valid)
        if row is not None:
            raise overflow(describe(call, (a, b))(row), call.type)
        return Column(stored(np.where(outside, 0, values), call.type.physical), valid)

    return apply


def factorial(call: Call, context: Context) -> Apply:
    """factorial(a): of 0 to 33, since that of 34 leaves 128 bits."""
    table = np.array([math.factorial(n) for n in range(34)], object)

    def apply(a: Column) -> Column:
        given: Any = a.values
        bad: Any = (given < 0) | (given > 33)
        row = first_bad(bad, a.valid)
        if row is not None:
            raise NumericError(f"cannot compute {describe(call, (a,))(row)}: factorial needs a number from 0 to 33")
        return Column(stored(table[np.where(bad, 0, given)], call.type.physical), a.valid)

    return apply


STRICT = {
    **dict.fromkeys(_PLAIN, plain),
    "bit_count": bit_count,
    "shift_left": shift_left,
    "shift_right": shift_right,
    "gcd": divisors,
    "lcm": divisors,
    "factorial": factorial,
}
