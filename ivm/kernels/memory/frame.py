"""Frames: all that a loop is given, in one int64 array.

A frame begins with a head of `HEAD` words, see their names. Behind it stand arrays, two words each: the address of the
first item and the bytes from an item to the next; zeros for one that there is not.

What a loop makes goes to a room, int64 (rows of the room, `ROWS`), C-contiguous: a row of positions; one for each array
that is narrowed by these; then one or two for each column or mask, which uses of its row what it needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from ivm.kernels.compiling.part import operation, part
from ivm.kernels.memory.at import ints_at, load
from ivm.kernels.memory.located import PLACE
from ivm.kernels.types import Ints

FIRST, END, ROWS = 0, 1, 2
"""The first row that the loop goes through and the end of those; how many they are, for which the room has place."""
ROOM = 3
"""The address of the room."""
CONSTANTS = 4
"""The address of the constants, int64."""
MOVED = 5
"""How many arrays are narrowed to the rows that pass, int64 each, which come last."""
HEAD = 6

_WORD = np.int64(0)
_I64 = ir.IntType(64)


@part()
def narrowed(frame: Ints, arrays: int, count: int) -> int:
    """The `count` of rows that pass; the arrays behind the loop's own are narrowed to these, unless all pass."""
    rows = frame[ROWS]
    if count <= 0 or count == rows:
        return count
    room = frame[ROOM]
    positions = ints_at(room, rows)
    for number in range(frame[MOVED]):
        at = np.uint64(HEAD + 2 * (arrays + number))
        address, stride = frame[at], frame[at + np.uint64(1)]
        into = ints_at(room + 8 * rows * (1 + number), rows)
        for row in range(count):
            i = np.uint64(row)
            into[i] = load(address + positions[i] * stride, _WORD)
    return count


@operation(PLACE, None, types.int64)
def array_in(builder: Any, frame: Any, at: Any) -> Any:
    """Where the array lies of which a frame tells from word `at` on; see `ivm.kernels.memory.located`."""
    stride = builder.gep(frame, [builder.add(at, _I64(1))])
    return builder.load(builder.gep(frame, [at])), builder.load(stride), _I64(0), _I64(0)


def _constant(item: Any, result: Any) -> Any:
    def build(builder: Any, frame: Any, number: Any) -> Any:
        constants = builder.load(builder.gep(frame, [_I64(CONSTANTS)]))
        place = builder.add(constants, builder.mul(number, _I64(8)))
        return builder.load(builder.inttoptr(place, item.as_pointer()))

    return operation(result, None, types.int64)(build)


constant = _constant(_I64, types.int64)
"""The constant of a number, an int64."""
double_constant = _constant(ir.DoubleType(), types.float64)
"""The constant of a number, a float64."""


@operation(types.int64, None, types.int64)
def made(builder: Any, frame: Any, row: Any) -> Any:
    """The address of a row of the room, counted from behind those that are narrowed."""
    room, rows, moved = (builder.load(builder.gep(frame, [_I64(at)])) for at in (ROOM, ROWS, MOVED))
    before = builder.add(builder.add(moved, row), _I64(1))
    return builder.add(room, builder.mul(builder.mul(rows, _I64(8)), before))


def _put(item: Any, given: Any) -> Any:
    """An operation: store a value as the item of a row, of LLVM's type `item`, of what begins at an address."""

    def build(builder: Any, address: Any, row: Any, value: Any) -> None:
        width = getattr(value.type, "width", 64)
        if width > getattr(item, "width", 64):
            value = builder.trunc(value, item)
        elif width < getattr(item, "width", 64):
            value = builder.zext(value, item)
        builder.store(value, builder.gep(builder.inttoptr(address, item.as_pointer()), [row]))

    return operation(types.void, types.int64, types.int64, given)(build)


put_int32 = _put(ir.IntType(32), types.int64)
put_int64 = _put(_I64, types.int64)
put_double = _put(ir.DoubleType(), types.float64)
put_bool = _put(ir.IntType(8), types.boolean)


@operation(types.int64, types.int64, types.int64)
def word_at(builder: Any, address: Any, row: Any) -> Any:
    """The int64 of a row of what begins at an address."""
    return builder.load(builder.gep(builder.inttoptr(address, _I64.as_pointer()), [row]))
