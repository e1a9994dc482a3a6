"""Compiled loops by their source text.

A text is run as a module that is named by its hash, and by that of all it is compiled with:
`ivm.kernels.compiling.compiled` finds by the name what an earlier process compiled. The text itself is never read from
a file.
"""

from __future__ import annotations

import hashlib
import linecache
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import ivm.kernels
from ivm.catalog import calendar
from ivm.kernels.compiling.calling import dispatcher_of

Kernel = Callable[..., int]

_KERNELS = Path(ivm.kernels.__path__[0])
_PARTS = (
    "numbers/elementwise",
    "numbers/parts",
    "numbers/wide",
    *(f"memory/{x}" for x in ("at", "frame", "in_place", "located")),
)
_HELPERS = (Path(calendar.__file__), *(_KERNELS / f"{name}.py" for name in _PARTS))


@cache
def _helpers() -> bytes:
    """The text of what a loop calls, which is compiled into it."""
    return b"\n".join(helper.read_bytes() for helper in _HELPERS)


def load(source: str) -> Kernel:
    """The compiled loop of a text, which defines `loop` and its SIGNATURE.

    If no process has compiled it yet, this one does, which takes half a second or more. Raises whatever running or
    compiling the text raises.
    """
    loop, signature = _run(source)
    return _compiled(loop, signature)


def find(source: str) -> Kernel | None:
    """The compiled loop of a text if some process has compiled and kept it, in some milliseconds; else None.

    Raises whatever running the text raises.
    """
    loop, signature = _run(source)
    dispatcher = dispatcher_of(loop)
    kept = getattr(dispatcher, "_cache", None)
    if kept is None or kept.load_overload(signature, dispatcher.targetctx) is None:
        return None
    return _compiled(loop, signature)


def _compiled(loop: Any, signature: Any) -> Kernel:
    dispatcher = dispatcher_of(loop)
    if hasattr(dispatcher, "compile"):  # else numba is told to compile nothing
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    kernel: Kernel = loop
    return kernel


def _run(source: str) -> tuple[Any, Any]:
    name = f"ivm_loop_{hashlib.sha256(_helpers() + source.encode()).hexdigest()[:32]}"
    file = f"<{name}>"
    module = ModuleType(name)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # for tracebacks
    sys.modules[name] = module
    try:
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module.loop, module.SIGNATURE
