"""Items of columns that lie in Arrow's memory, for generated loops, by what is known of where they lie.

Of a column that is a tuple of four int64, as `Source.addresses` has it: the address of the first row's item, the bytes
from an item to the next, the address of the bitmap of what is not NULL (0 if all is), and the first row's bit there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from ivm.kernels.compiling.part import operation, part
from ivm.kernels.types import Bools

_Tuple: Any = types.UniTuple
PLACE = _Tuple(types.int64, 4)
_WORD = ir.IntType(64)


@operation(PLACE, PLACE, types.int64)
def located(builder: Any, addresses: Any, column: Any) -> Any:
    """Where a column lies, of `addresses` int64 (columns, 4), whose rows are contiguous."""
    begin, stride = builder.extract_value(addresses, 0), builder.extract_value(addresses, 1)
    first = builder.inttoptr(builder.add(begin, builder.mul(column, stride)), _WORD.as_pointer())
    return tuple(builder.load(builder.gep(first, [_WORD(i)])) for i in range(4))


@operation(PLACE, types.int64, types.int64)
def in_piece(builder: Any, base: Any, stride: Any) -> Any:
    """Where a piece of a column lies, which has no NULLs: at `base` + row * `stride`, by row number."""
    return base, stride, _WORD(0), _WORD(0)


@part()
def lies_otherwise(place: Any, masked: Bools, size: Any) -> Any:
    """Whether values, or their low words, have not so many bytes there, or some are NULL though none should be, or none
    though some may.
    """
    return (min(place[1], 8) != size) | ((place[2] != 0) != masked)


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
