"""How often this process has needed a compiler, seen from outside, so that the engine itself counts nothing."""

from __future__ import annotations

from functools import wraps
from typing import Any

from ivm.kernels.compiling import compiled

_found_nothing = [0]


def compilations() -> int:
    """How often no machine code was found of what was about to run, so that somebody had to compile it.

    Kernels are compiled by the process that meets them, loops of expressions by another; both are looked for first
    where compiled code is kept.
    """
    return _found_nothing[0]


def _watched(look_up: Any) -> Any:
    @wraps(look_up)
    def load_overload(self: Any, signature: Any, target: Any) -> Any:
        found = look_up(self, signature, target)
        if found is None:
            _found_nothing[0] += 1
        return found

    return load_overload


# An AttributeError here says that the engine has changed.
compiled._Cache.load_overload = _watched(compiled._Cache.load_overload)  # type: ignore[method-assign]
