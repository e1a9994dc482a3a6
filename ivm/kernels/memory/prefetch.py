"""Asking the processor for memory ahead of its use, so that random accesses overlap instead of following each other."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _prefetch(typing_context: Any, array: Any, item: Any) -> Any:
    """Fetch the cache line of item number `item` of the contiguous `array` (counted flat); the item need not exist."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        number = context.cast(builder, arguments[1], signature.args[1], types.intp)
        address = builder.bitcast(builder.gep(data, [number]), cgutils.voidptr_t)
        int32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, int32, int32, int32])
        function = _insert(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [address, int32(0), int32(3), int32(1)])
        return context.get_dummy_value()

    return types.void(array, item), generate


_insert: Any = cgutils.get_or_insert_function
prefetch: Any = intrinsic(_prefetch)
