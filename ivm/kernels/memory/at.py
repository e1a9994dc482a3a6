"""Arrays that a control block tells of, in place of such as Python hands over.

A block is a small int64 array. From some place on it has an array's address and its length, and for one of two
dimensions also the items of a row. As an argument it costs what one of those arrays does, however many it tells of. Who
hands it over keeps them alive, and writes to it where they move. What is cut out of one array is found by its address.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from ivm.kernels.compiling.part import operation

_intrinsic: Any = intrinsic  # its stub takes the typing context for an argument of the call
_populate: Any = populate_array


def _array_in(item: Any, dimensions: int, block: Any) -> Any:
    """An operation: the C-contiguous array of `item` that `block` tells of from a place on."""
    made: Any = types.Array(item, dimensions, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(block)(context, builder, arguments[0]).data
        address, *lengths = (
            builder.load(builder.gep(data, [builder.add(arguments[1], cgutils.intp_t(each))]))
            for each in range(1 + dimensions)
        )
        array = context.make_array(made)(context, builder)
        size = cgutils.intp_t(item.bitwidth // 8)
        strides = [size] if dimensions == 1 else [builder.mul(size, lengths[1]), size]
        data = builder.inttoptr(address, array.data.type)
        _populate(array, data=data, shape=lengths, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue()

    return made(block, types.intp), generate


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


@operation(types.int64, None)
def address_of(builder: Any, array: Any) -> Any:
    """Where the first item of a contiguous array lies."""
    return builder.ptrtoint(array, cgutils.intp_t)


@_intrinsic
def int32s_at(typing_context: Any, address: Any, length: Any) -> Any:
    """The int32 array (length,) at an address."""
    made: Any = types.Array(types.int32, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(made)(context, builder)
        size = cgutils.intp_t(4)
        data = builder.inttoptr(arguments[0], array.data.type)
        _populate(array, data=data, shape=arguments[1:], strides=[size], itemsize=size, meminfo=None)
        return array._getvalue()

    return made(types.int64, types.intp), generate
