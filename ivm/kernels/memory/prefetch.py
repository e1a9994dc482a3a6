"""Asking the processor for memory ahead of its use, so that random accesses overlap instead of following each other."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from ivm.kernels.compiling.operation import operation

_insert: Any = cgutils.get_or_insert_function
_INT32: Any = ir.IntType(32)


@operation(types.void, None, types.intp)
def prefetch(builder: Any, array: Any, item: Any) -> None:
    """Fetch the cache line of item number `item` of the contiguous `array` (counted flat); the item need not exist."""
    address = builder.bitcast(builder.gep(array, [item]), cgutils.voidptr_t)
    kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, _INT32, _INT32, _INT32])
    function = _insert(builder.module, kind, "llvm.prefetch.p0")
    builder.call(function, [address, _INT32(0), _INT32(3), _INT32(1)])
