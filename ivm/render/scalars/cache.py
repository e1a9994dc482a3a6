"""Compiled loops by their source text.

A text is run as a module that is named by its hash, and by that of all it is compiled with: `ivm.kernels.compiled`
finds by the name what an earlier process compiled. The text itself is never read from a file.
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

Kernel = Callable[..., int]

_HELPERS = ("calendar.py", "checked.py", "wide.py")


@cache
def _helpers() -> bytes:
    """The text of what a loop calls, which is compiled into it."""
    folder = Path(ivm.kernels.__path__[0])
    return b"\n".join((folder / helper).read_bytes() for helper in _HELPERS)


def digest(source: str) -> str:
    """The name of a loop: a hash of its text and of the helpers'."""
    return hashlib.sha256(_helpers() + source.encode()).hexdigest()[:32]


def load(source: str) -> Kernel:
    """The compiled loop; about 0.5 s if no process has compiled it yet, else some milliseconds.

    Raises whatever running or compiling the text raises.
    """
    name = f"ivm_loop_{digest(source)}"
    file = f"<{name}>"
    module = ModuleType(name)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # for tracebacks
    sys.modules[name] = module
    try:
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    kernel: Any = module.loop
    return kernel
