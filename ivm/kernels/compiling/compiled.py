"""numba's `njit`, with a cache of machine code that runs nothing but what it wrote itself, whole.

A kernel is looked for in what was compiled when the package was built or set up (`ivm.kernels.compiling.shipped`),
which has all that the engine calls unless the processor, the versions or the kernel are others. What is not there is
compiled for this processor and kept. numba's own cache unpickles, and so runs, whatever lies where an entry should be,
and raises where that is damaged. Here an entry is one file, named by all that its code depends on, and read as
`ivm.kernels.compiling.folder` says. Those of kernels lie beside their folders, as Python's bytecode does, or in the
user's folder where that cannot be written to; those of generated modules in the user's folder.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import cache as once
from functools import partial
from importlib import metadata
from typing import Any, TypeVar

import numba
from numba.core import sigutils

from ivm.kernels.compiling import shipped
from ivm.kernels.compiling.archive import Entry
from ivm.kernels.compiling.folder import Folder, folder_beside, private_folder
from ivm.kernels.compiling.linked import CannotKeepError, linked, packed
from ivm.kernels.compiling.part import KernelCompiler
from ivm.kernels.compiling.sources import FOLDER, digest

Function = TypeVar("Function", bound=Callable[..., Any])

SUFFIX = ".loop"
"""What the names of entries end with."""

_FORMAT = "an entry of the third kind of archive, pickled"
_PREFIX = "ivm.kernels."
_arguments: Any = sigutils.normalize_signature


def njit(signature: Any = None, *, cache: bool, **options: Any) -> Callable[[Function], Function]:
    """As numba's decorator of this name; with `cache` the machine code is kept, and found by later processes.

    A generated module whose functions are cached must have a name that tells its text from all others.
    """
    compiler: Any = numba.njit
    # Nobody calls a kernel by its address, and a function for that takes a fifth of the time of compiling.
    options = {"no_cfunc_wrapper": True, **options}

    def decorate(function: Function) -> Function:
        dispatcher = compiler(pipeline_class=KernelCompiler, **options)(function)
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
        self._is_kernel = function.__module__.startswith(_PREFIX)
        self._loaded: dict[Any, Any] = {}
        self._kernel = f"{function.__module__.removeprefix(_PREFIX)}.{function.__qualname__}"

    @property
    def cache_path(self) -> str | None:
        """The folder that entries are written to; None if there is none."""
        return next((str(folder.path) for folder in self._folders()), None)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The function compiled for a signature; None if there is no entry, or none that is whole and ours."""
        if signature not in self._loaded:
            found = self._shipped(signature, target) or self._kept(signature, target)
            if found is None:
                return None
            self._loaded[signature] = found
        return self._loaded[signature]

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled for a signature. What cannot be kept is compiled by each process."""
        try:
            body = pickle.dumps(packed(result))
        except CannotKeepError:
            return
        name = self._name(signature, result.codegen)
        if any(folder.write(name, body) for folder in self._folders()) and self._is_kernel:
            self._forget_stale()

    def flush(self) -> None:
        """Forget the entries, which numba asks for before it compiles again: they are written over then."""

    def _shipped(self, signature: Any, target: Any) -> Any:
        if not self._is_kernel:
            return None
        return shipped.find(self._kernel, _arguments(signature)[0], target)

    def _kept(self, signature: Any, target: Any) -> Any:
        name = self._name(signature, target.codegen())
        for folder in self._folders():
            body = folder.read(name)
            if body is not None:
                entry: Entry = pickle.loads(body)
                return linked(target, entry.about, entry.code, partial(getattr, entry, "bitcode"))
        return None

    def _folders(self) -> Iterator[Folder]:
        if self._is_kernel and (beside := folder_beside(FOLDER)):
            yield beside
        if private := private_folder():
            yield private

    def _name(self, signature: Any, codegen: Any) -> str:
        """A readable beginning, and a digest of all that the machine code depends on."""
        text = repr((_FORMAT, _versions(), self._sources(), self._place, signature, codegen.magic_tuple()))
        return f"{self._kernel}-{self._sources()[:8]}-{hashlib.sha256(text.encode()).hexdigest()[:32]}{SUFFIX}"

    def _sources(self) -> str:
        return digest(self._kernel.rpartition(".")[0]) if self._is_kernel else ""

    def _forget_stale(self) -> None:
        """Remove what lies beside the modules and was compiled from what this one and those it calls were before."""
        beside = folder_beside(FOLDER)
        module = self._kernel.rpartition(".")[0]
        for path in beside.path.glob(f"{module}.*{SUFFIX}") if beside else ():
            if path.name.split("-")[1] != self._sources()[:8]:
                path.unlink(missing_ok=True)


@once
def _versions() -> tuple[str, ...]:
    return (sys.version, *(f"{name} {_version(name)}" for name in ("ivm-engine", "numba", "llvmlite", "numpy")))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "0"  # of ivm, run from a checkout that is not installed
