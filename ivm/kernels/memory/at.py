"""Arrays that a control block tells of, in place of such as Python hands over.

A block is a small int64 array. From some place on it has an array's address and its length, and for one of two
dimensions also the items of a row. As an argument it costs what one of those arrays does, however many it tells of. Who
hands it over keeps them alive, and writes to it where they move. What is cut out of one array is found by its address.

An array that is there for one call only is told of by its `id`, which takes Python no time to find out: numpy lays
items' address, number of dimensions, shape, strides and item type down behind the head of the object.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from ivm.kernels.compiling.part import operation, part

MANY = np.int64(1) << 40
"""The length of an array of which only those know it who wrote the address down."""
_HEAD = object.__basicsize__
_LENGTHS, _STRIDES, _ITEM_TYPE, _NUMBER = _HEAD + 16, _HEAD + 24, _HEAD + 40, _HEAD + 12
_BOOL, _INT32 = np.dtype(np.bool_).num, np.dtype(np.int32).num
_WORD = np.int64(0)
_INT = np.int32(0)
_NAN = np.float64(np.nan)
_intrinsic: Any = intrinsic  # its stub takes the typing context for an argument of the call
_populate: Any = populate_array
_alloca: Any = cgutils.alloca_once


def _array_in(item: Any, dimensions: int, block: Any) -> Any:
    """An operation: the C-contiguous array of `item` that `block` tells of from a place on."""
    made: Any = types.Array(item, dimensions, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(block)(context, builder, arguments[0]).data
        words = (
            builder.load(builder.gep(data, [builder.add(arguments[1], cgutils.intp_t(each))]))
            for each in range(1 + dimensions)
        )
        return _made(context, builder, made, *words)

    return made(block, types.intp), generate


def _made(context: Any, builder: Any, kind: Any, address: Any, *lengths: Any) -> Any:
    """The C-contiguous array of a `kind` at an address, of so many lengths."""
    array = context.make_array(kind)(context, builder)
    size = cgutils.intp_t(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [size] if kind.ndim == 1 else [builder.mul(size, lengths[1]), size]
    data = builder.inttoptr(address, array.data.type)
    _populate(array, data=data, shape=lengths, strides=strides, itemsize=size, meminfo=None)
    return array._getvalue()


@_intrinsic
def ints_in(typing_context: Any, block: Any, at: Any) -> Any:
    """The int64 array (length,) of which `block` has the address and the length from `at` on."""
    return _array_in(types.int64, 1, block)


@_intrinsic
def int32s_in(typing_context: Any, block: Any, at: Any) -> Any:
    """As `ints_in`, of int32."""
    return _array_in(types.int32, 1, block)


@_intrinsic
def words_in(typing_context: Any, block: Any, at: Any) -> Any:
    """The int64 array (rows, width) of which `block` has the address, the rows and the width from `at` on."""
    return _array_in(types.int64, 2, block)


@operation(None, types.int64, None)
def load(builder: Any, address: Any, like: Any) -> Any:
    """The item of the type of `like` at an address, wherever it begins; the caller knows that it is there."""
    return builder.load(builder.inttoptr(address, like.type.as_pointer()), align=1)


@part(inline=True)
def double_bits(address: Any) -> Any:
    """The bits of the double at an address, the same for all that SQL takes for equal: one zero and one NaN."""
    value = load(address, np.float64(0.0)) + 0.0  # turns -0.0 into 0.0
    return np.float64(_NAN if np.isnan(value) else value).view(np.int64)


@operation(types.int64, None)
def address_of(builder: Any, array: Any) -> Any:
    """Where the first item of a contiguous array lies."""
    return builder.ptrtoint(array, cgutils.intp_t)


def _array_at(item: Any, dimensions: int, address: Any) -> Any:
    """An operation: the C-contiguous array of `item` at an address, of so many lengths."""
    made: Any = types.Array(item, dimensions, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _made(context, builder, made, *arguments)

    return made(types.int64, *(types.intp,) * dimensions), generate


@_intrinsic
def ints_at(typing_context: Any, address: Any, length: Any) -> Any:
    """The int64 array (length,) at an address."""
    return _array_at(types.int64, 1, address)


@_intrinsic
def int32s_at(typing_context: Any, address: Any, length: Any) -> Any:
    """The int32 array (length,) at an address."""
    return _array_at(types.int32, 1, address)


@_intrinsic
def hashes_at(typing_context: Any, address: Any, length: Any) -> Any:
    """The uint64 array (length,) at an address."""
    return _array_at(types.uint64, 1, address)


@_intrinsic
def bytes_at(typing_context: Any, address: Any, length: Any) -> Any:
    """The uint8 array (length,) at an address."""
    return _array_at(types.uint8, 1, address)


@_intrinsic
def words_at(typing_context: Any, address: Any, rows: Any, width: Any) -> Any:
    """The int64 array (rows, width) at an address."""
    return _array_at(types.int64, 2, address)


@_intrinsic
def bools_at(typing_context: Any, address: Any, rows: Any, width: Any) -> Any:
    """The bool array (rows, width) at an address."""
    return _array_at(types.boolean, 2, address)


@part(inline=True)
def data_of(array: Any) -> Any:
    """The address of the items of an array of numpy, of which `array` is the `id`."""
    return load(array + _HEAD, _WORD)


@part(inline=True)
def data_if(array: Any) -> Any:
    """The same; 0 if the `id` is 0, of no array."""
    return data_of(array) if array != 0 else _WORD


@part(inline=True)
def length_of(array: Any, dimension: Any) -> Any:
    """How many items an array of numpy has, of which `array` is the `id`, along a dimension."""
    return load(load(array + _LENGTHS, _WORD) + 8 * dimension, _WORD)


@part(inline=True)
def stride_of(array: Any, dimension: Any) -> Any:
    """How many bytes lie between two items of an array of numpy, of which `array` is the `id`, along a dimension."""
    return load(load(array + _STRIDES, _WORD) + 8 * dimension, _WORD)


@part(inline=True)
def dimensions_of(array: Any) -> Any:
    """How many dimensions an array of numpy has, of which `array` is the `id`."""
    return load(array + _HEAD + 8, _INT)


@part(inline=True)
def size_of(array: Any) -> Any:
    """How many bytes an item of an array of bool, int32, int64 or float64 has, of which `array` is the `id`."""
    number = load(load(array + _ITEM_TYPE, _WORD) + _NUMBER, _INT)
    return np.int64(1) if number == _BOOL else np.int64(4) if number == _INT32 else np.int64(8)


def scratch(words: int) -> Any:
    """An operation: the address of so many words on the stack, for the call of the kernel that it is in."""
    kind: Any = ir.ArrayType(ir.IntType(64), words)

    def build(builder: Any) -> Any:
        return builder.ptrtoint(_alloca(builder, kind), ir.IntType(64))

    return operation(types.int64)(build)
