"""What lies where in a record batch that Arrow has exported, as its C data interface has it.

The batch is a struct of ten words, `exported` int64 (10,), that Arrow wrote: a column for each of its children. It is
released, by a call of the function that stands in it, in the same kernel that reads it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import operation, part
from ivm.kernels.memory.in_place import load
from ivm.kernels.types import Ints

WORDS = 10
"""The length of the struct of an array."""
LENGTH, NULLS, OFFSET, COUNT, BUFFERS, CHILDREN, DICTIONARY, RELEASE = 0, 1, 2, 4, 5, 6, 7, 8
ADDRESS, STRIDE, VALIDITY, BIT = range(4)
_WORD = np.int64(0)
_BYTE = np.uint8(0)


@operation(types.void, types.int64, None)
def _call(builder: Any, function: Any, argument: Any) -> None:
    """Call a function of C that takes a pointer and gives nothing; of an array it gets the address."""
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte])
    builder.call(builder.inttoptr(function, kind.as_pointer()), [builder.bitcast(argument, byte)])


@part()
def word(address: Any, index: int) -> Any:
    """Word `index` of what lies at an address."""
    return load(address + 8 * index, _WORD)


@part()
def release(exported: Ints) -> None:
    """Let go of what was exported, if that was not done."""
    if exported[RELEASE] != 0:
        _call(exported[RELEASE], exported)
        exported[RELEASE] = 0


@part()
def nulls_of(array: Any, rows: int) -> Any:
    """How many of the values of an array, whose struct lies at an address, are NULL."""
    validity, nulls = word(word(array, BUFFERS), 0), word(array, NULLS)
    if validity == 0:
        return np.int64(0)
    if nulls >= 0:
        return nulls
    nulls, first = np.int64(0), word(array, OFFSET)
    for row in range(rows):
        bit = first + row
        nulls += np.int64((load(validity + (bit >> 3), _BYTE) >> np.uint8(bit & 7)) & np.uint8(1) == 0)
    return nulls


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def let_go(exported: Ints) -> None:
    """Let go of what was exported, if that was not done."""
    release(exported)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def locate(exported: Ints, strides: Ints, addresses: Ints) -> None:
    """addresses[c] = where the values of column c lie, (address, stride, validity, bit), for which see `Batch`.

    `strides` int64 (columns,) are the bytes from a value to the next, 0 where values have not their physical form.
    """
    rows = exported[LENGTH]
    for column in range(len(strides)):
        array = word(exported[CHILDREN], column)
        stride = strides[column]
        addresses[column, STRIDE] = 0
        if stride != 0:
            buffers = word(array, BUFFERS)
            address = word(buffers, 1) + stride * word(array, OFFSET)
            if address & (min(stride, 8) - 1) == 0:
                addresses[column, ADDRESS] = address
                addresses[column, STRIDE] = stride
                addresses[column, VALIDITY] = word(buffers, 0) if nulls_of(array, rows) > 0 else 0
                addresses[column, BIT] = word(array, OFFSET)
    release(exported)
