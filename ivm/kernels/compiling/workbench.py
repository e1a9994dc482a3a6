"""What a process does that compiles kernels ahead, for a baseline that its environment names.

See `ivm.kernels.compiling.building`.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from typing import Any

from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

from ivm.kernels.compiling.archive import Entry
from ivm.kernels.compiling.calling import dispatcher_of
from ivm.kernels.compiling.linked import packed
from ivm.kernels.compiling.notation import as_types

_dispatcher: Any = Dispatcher
_nothing: Any = NullCache

gc.disable()  # what compiling leaves is looked through again and again, a tenth of all time


def compiled_entry(kernel: str, types: str) -> Entry | str:
    """A kernel (`folder.module.function`) compiled for types, written as in `signatures.txt`; or what was wrong."""
    module, _, function = kernel.rpartition(".")
    try:
        dispatcher = dispatcher_of(getattr(import_module(f"ivm.kernels.{module}"), function))
        _forget_caches()
        signature = as_types(types)
        dispatcher.compile(signature)
        return packed(dispatcher.overloads[signature])
    except Exception as error:  # noqa: BLE001  the answer says so
        return f"{kernel}({types}): {type(error).__name__}: {error}"


def _forget_caches() -> None:
    """Have all kernels compiled here: what is kept elsewhere is for the processor of that machine."""
    for name, module in list(sys.modules.items()):
        if name.startswith("ivm.kernels."):
            for value in map(dispatcher_of, vars(module).values()):
                if isinstance(value, _dispatcher):
                    value._cache = _nothing()
