"""numba's `njit`, with a cache of machine code that runs nothing but what it wrote itself, whole.

numba's own cache unpickles, and so runs, whatever lies where an entry should be, and raises where that is damaged. Here
an entry is one file, named by all that its code depends on, and read as `ivm.kernels.folder` says. Those of this
package lie beside its modules, as Python's bytecode does, or in the user's folder where that cannot be written to;
those of generated modules in the user's folder.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import cache as once
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from ivm.kernels import SOURCES
from ivm.kernels.folder import Folder, folder_beside, private_folder

Function = TypeVar("Function", bound=Callable[..., Any])

SUFFIX = ".loop"
"""What the names of entries end with."""

_rebuilt: Any = CompileResult._rebuild
_pickled: Any = dumps
_PACKAGE = Path(__file__).parent


def njit(signature: Any = None, *, cache: bool, **options: Any) -> Callable[[Function], Function]:
    """As numba's decorator of this name; with `cache` the machine code is kept, and found by later processes.

    A generated module whose functions are cached must have a name that tells its text from all others.
    """
    compiler: Any = numba.njit

    def decorate(function: Function) -> Function:
        dispatcher = compiler(**options)(function)
        if dispatcher is function:  # numba is told to compile nothing
            return function
        if cache:
            dispatcher._cache = _Cache(function)
        if signature is not None:
            dispatcher.compile(signature)
            dispatcher.disable_compile()
        return dispatcher

    return decorate


class _Cache:
    """What a dispatcher of numba asks of a cache, for one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._place = (function.__module__, function.__qualname__, function.__code__.co_firstlineno)
        self._is_kernel = function.__module__.startswith(f"{__package__}.")

    @property
    def cache_path(self) -> str | None:
        """The folder that entries are written to; None if there is none."""
        return next((str(folder.path) for folder in self._folders()), None)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The function compiled for a signature; None if there is no entry, or none that is whole and ours."""
        target.refresh()
        name = self._name(signature, target.codegen())
        for folder in self._folders():
            entry = folder.read(name)
            if entry is not None:
                return _rebuilt(target, *pickle.loads(entry))
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled for a signature. What cannot be kept is compiled by each process."""
        if result.library.has_dynamic_globals or result.lifted:
            return
        name, entry = self._name(signature, result.codegen), _pickled(result._reduce())
        any(folder.write(name, entry) for folder in self._folders())

    def flush(self) -> None:
        """Forget the entries, which numba asks for before it compiles again: they are written over then."""

    def _folders(self) -> Iterator[Folder]:
        if self._is_kernel and (beside := folder_beside(_PACKAGE)):
            yield beside
        if private := private_folder():
            yield private

    def _name(self, signature: Any, codegen: Any) -> str:
        """A readable beginning, and a digest of all that the machine code depends on."""
        sources = SOURCES if self._is_kernel else ""
        text = repr((_versions(), sources, self._place, signature, codegen.magic_tuple()))
        module, function, _ = self._place
        readable = f"{module.rpartition('.')[2]}.{function}"
        return f"{readable}-{hashlib.sha256(text.encode()).hexdigest()[:32]}{SUFFIX}"


@once
def _versions() -> tuple[str, ...]:
    return (sys.version, *(f"{name} {_version(name)}" for name in ("ivm-engine", "numba", "llvmlite", "numpy")))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "0"  # of ivm, run from a checkout that is not installed
