"""Items of columns where they lie, for generated loops. See `ivm.kernels.memory.places`.

Of a column in one piece, or of an array, a loop has a tuple of four int64: the address of the first row's item, the
bytes from an item to the next, VALIDITY and BIT.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from ivm.kernels.compiling.part import operation, part
from ivm.kernels.memory.places import ADDRESS, BIT, PIECES, SIZE, STRIDE, VALIDITY, WORDS, told

_Tuple: Any = types.UniTuple
PLACE = _Tuple(types.int64, 4)
_WORD = ir.IntType(64)


@operation(PLACE, PLACE, types.int64)
def located(builder: Any, places: Any, column: Any) -> Any:
    """Where a column lies, of the places of its source."""
    begin, stride = builder.extract_value(places, 0), builder.extract_value(places, 1)
    first = builder.inttoptr(builder.add(begin, builder.mul(column, stride)), _WORD.as_pointer())
    return tuple(builder.load(builder.gep(first, [_WORD(i)])) for i in (ADDRESS, STRIDE, VALIDITY, BIT))


@operation(PLACE, types.int64, types.int64)
def in_piece(builder: Any, base: Any, stride: Any) -> Any:
    """Where a piece of a column lies, which has no NULLs: at `base` + row * `stride`, by row number."""
    return base, stride, _WORD(0), _WORD(0)


@operation(PLACE, PLACE)
def mask_at(builder: Any, place: Any) -> Any:
    """The mask of a column whose BIT is below zero."""
    stride = builder.neg(builder.extract_value(place, 3))
    return builder.extract_value(place, 2), stride, _WORD(0), _WORD(0)


@part(inline=True)
def pieces_at(places: Any, column: Any) -> Any:
    """Where the addresses of pages and starts stand, of a column in pieces."""
    return told(places[0] + 8 * WORDS * column, PIECES)


@part(inline=True)
def lies_otherwise(places: Any, column: Any, masked: Any, size: Any, in_pieces: Any) -> Any:
    """Whether a column lies otherwise than a loop was written for: unreadable, with NULLs where there were none or told
    of otherwise (`masked`: 0 none, 1 by bits, 2 by bytes), in items of another size, or not in pieces, or in some.
    """
    place = places[0] + 8 * WORDS * column
    how = np.int64(0)
    if told(place, VALIDITY) != 0:
        how = np.int64(1) if told(place, BIT) >= 0 else np.int64(2)
    sized = (told(place, STRIDE) != 0) & (told(place, SIZE) == size)
    return not sized or how != masked or (told(place, PIECES) != 0) != in_pieces


def _item(item: Any, result: Any, beyond: int = 0) -> Callable[..., Any]:
    """An operation: the item of a row, of LLVM's type `item`; `beyond`: so many bytes behind where it begins."""

    def build(builder: Any, place: Any, row: Any) -> Any:
        first, stride = builder.extract_value(place, 0), builder.extract_value(place, 1)
        address = builder.add(first, builder.mul(row, stride))
        address = builder.add(address, _WORD(beyond)) if beyond else address
        value = builder.load(builder.inttoptr(address, item.as_pointer()), align=1)
        if result is types.boolean:
            return builder.icmp_unsigned("!=", value, item(0))
        return value if value.type == _WORD or result is types.float64 else builder.sext(value, _WORD)

    return operation(result, PLACE, types.int64)(build)


bool_at = _item(ir.IntType(8), types.boolean)
"""The truth value of a row, which takes a byte."""
int8_at = _item(ir.IntType(8), types.int64)
"""The int8 of a row, as int64."""
int32_at = _item(ir.IntType(32), types.int64)
"""The int32 of a row, as int64."""
int64_at = _item(_WORD, types.int64)
"""The int64 of a row, or the low word of two."""
high_at = _item(_WORD, types.int64, 8)
"""The high word of two."""
double_at = _item(ir.DoubleType(), types.float64)
"""The float64 of a row."""


@operation(types.boolean, PLACE, types.int64)
def is_there(builder: Any, place: Any, row: Any) -> Any:
    """Whether the value of a row is not NULL, of a column that has a bitmap."""
    byte = ir.IntType(8)
    bit = builder.add(builder.extract_value(place, 3), row)
    address = builder.add(builder.extract_value(place, 2), builder.ashr(bit, _WORD(3)))
    bits = builder.load(builder.inttoptr(address, byte.as_pointer()))
    return builder.trunc(builder.lshr(bits, builder.trunc(builder.and_(bit, _WORD(7)), byte)), ir.IntType(1))
