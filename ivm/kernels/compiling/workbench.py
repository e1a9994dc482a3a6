"""The process that compiles kernels ahead, for a baseline that its environment names.

See `ivm.kernels.compiling.building`.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import sys
from importlib import import_module
from typing import Any

from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

from ivm.kernels.compiling.linked import packed
from ivm.kernels.compiling.notation import as_types

_dispatcher: Any = Dispatcher
_nothing: Any = NullCache


def serve() -> None:
    """Take kernels from the standard input until it ends, a line each; answer each with an entry or what was wrong.

    A line is JSON, `["folder.module.function", types]`; an answer is a line with a length, and the pickle of an `Entry`
    or a text of that length.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints is no answer
    gc.disable()  # what compiling leaves is looked through again and again, a tenth of all time
    for line in sys.stdin:
        kernel, types = json.loads(line)
        try:
            answer: Any = packed(_compiled(kernel, types))
        except Exception as error:  # noqa: BLE001  the answer says so
            answer = f"{kernel}({types}): {type(error).__name__}: {error}"
        body = pickle.dumps(answer)
        answers.write(b"%d\n" % len(body) + body)
        answers.flush()


def _compiled(kernel: str, types: str) -> Any:
    """What numba makes of compiling a kernel."""
    module, _, function = kernel.rpartition(".")
    dispatcher = getattr(import_module(f"ivm.kernels.{module}"), function)
    _forget_caches()
    signature = as_types(types)
    dispatcher.compile(signature)
    return dispatcher.overloads[signature]


def _forget_caches() -> None:
    """Have all kernels compiled here: what is kept elsewhere is for the processor of that machine."""
    for name, module in list(sys.modules.items()):
        if name.startswith("ivm.kernels."):
            for value in vars(module).values():
                if isinstance(value, _dispatcher):
                    value._cache = _nothing()
