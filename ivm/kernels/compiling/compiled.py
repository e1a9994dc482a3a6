"""numba's `njit`, with a cache of machine code that runs nothing but what it wrote itself, whole.

A kernel is looked for in what was compiled, for a baseline of the processor, when the package was built or set up: it
has all that the engine calls unless the processor, the versions or the kernel are others. What is not there is
compiled for this processor and kept. numba's own cache unpickles, and so runs, whatever lies where an entry should be,
and raises where that is damaged. Here an entry is one file in the user's folder, named by all that its code depends on,
and read as `ivm.kernels.compiling.folder` says.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
from collections.abc import Callable
from functools import cache as once
from functools import partial
from importlib import metadata
from typing import Any, TypeVar, cast

import numba
from numba.core import sigutils

from ivm.kernels.compiling.archive import ABOUT, BITCODE, CODE, ENTRY, Archive, Entry, key, open_archive, path_for
from ivm.kernels.compiling.calling import called
from ivm.kernels.compiling.checking import CHECKS
from ivm.kernels.compiling.folder import private_folder
from ivm.kernels.compiling.linked import CannotKeepError, linked, packed
from ivm.kernels.compiling.notation import as_text
from ivm.kernels.compiling.part import KernelCompiler
from ivm.kernels.compiling.sources import FOLDER, digest
from ivm.kernels.compiling.targets import Target, host_target

Function = TypeVar("Function", bound=Callable[..., Any])

SUFFIX = ".loop"
"""What the names of entries end with."""

_FORMAT = "an entry of the fourth kind of archive, pickled"
_PREFIX = "ivm.kernels."
_OTHERWISE = (
    "NUMBA_CPU_NAME",
    "NUMBA_CPU_FEATURES",
    "NUMBA_ENABLE_AVX",
    "NUMBA_OPT",
    "NUMBA_LOOP_VECTORIZE",
    "NUMBA_SLP_VECTORIZE",
    "NUMBA_BOUNDSCHECK",
    "NUMBA_DEBUGINFO",
    "NUMBA_DISABLE_JIT",
)
"""With one of these set, other machine code is wanted than what was shipped."""
_arguments: Any = sigutils.normalize_signature


def njit(signature: Any = None, *, cache: bool, **options: Any) -> Callable[[Function], Function]:
    """As numba's decorator of this name; with `cache` the machine code is kept, and found by later processes.

    What Python calls is not numba's dispatcher but what `calling` makes of it.

    A generated module whose functions are cached must have a name that tells its text from all others.
    """
    compiler: Any = numba.njit
    # Nobody calls a kernel by its address, and a function for that takes a fifth of the time of compiling.
    options = {"no_cfunc_wrapper": True, "boundscheck": CHECKS, **options}

    def decorate(function: Function) -> Function:
        dispatcher = compiler(pipeline_class=KernelCompiler, **options)(function)
        if dispatcher is function:  # numba is told to compile nothing
            return function
        if cache:
            dispatcher._cache = _Cache(function)
        if signature is not None:
            dispatcher.compile(signature)
            dispatcher.disable_compile()
        return cast(Function, called(dispatcher))

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
        folder = private_folder()
        return None if folder is None else str(folder.path)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The function compiled for a signature; None if there is no entry, or none that is whole and ours."""
        if signature not in self._loaded:
            shipped = find_shipped(self._kernel, _arguments(signature)[0], target) if self._is_kernel else None
            found = shipped or self._kept(signature, target)
            if found is None:
                return None
            self._loaded[signature] = found
        return self._loaded[signature]

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled for a signature. What cannot be kept is compiled by each process."""
        folder = private_folder()
        if folder is not None:
            with contextlib.suppress(CannotKeepError):
                folder.write(self._name(signature, result.codegen), pickle.dumps(packed(result)))

    def flush(self) -> None:
        """Forget the entries, which numba asks for before it compiles again: they are written over then."""

    def _kept(self, signature: Any, target: Any) -> Any:
        folder = private_folder()
        body = None if folder is None else folder.read(self._name(signature, target.codegen()))
        if body is None:
            return None
        entry: Entry = pickle.loads(body)
        return linked(target, entry.about, entry.code, entry.entry, partial(getattr, entry, "bitcode"))

    def _name(self, signature: Any, codegen: Any) -> str:
        """A readable beginning, and a digest of all that the machine code depends on."""
        sources = digest(self._kernel.rpartition(".")[0]) if self._is_kernel else ""
        text = repr((_FORMAT, _versions(), CHECKS, sources, self._place, signature, codegen.magic_tuple()))
        return f"{self._kernel}-{hashlib.sha256(text.encode()).hexdigest()[:32]}{SUFFIX}"


def find_shipped(kernel: str, types: Any, target: Any) -> Any:
    """The `CompileResult` of a kernel (`folder.module.function`) for these types; None if none came with the code."""
    shelf = _shelf()
    text = as_text(types) if shelf is not None else None
    if shelf is None or text is None:
        return None
    archive, baseline = shelf
    name = key(kernel, text, baseline)
    about, code, entry = (archive.part(name, number) for number in (ABOUT, CODE, ENTRY))
    if about is None or code is None or entry is None:
        return None
    return linked(target, about, code, entry, partial(_bitcode, archive, name))


def _bitcode(archive: Archive, key: str) -> bytes:
    bitcode = archive.part(key, BITCODE)
    if bitcode is None:
        raise OSError("the file of the kernels' machine code is damaged; `make setup` or installing anew mends it")
    return bitcode


@once
def _shelf() -> tuple[Archive, Target] | None:
    """The archive for this processor, and its baseline; None if there is none, or it is not wanted."""
    if CHECKS or any(name in os.environ for name in _OTHERWISE):
        return None
    baseline = host_target()
    archive = None if baseline is None else open_archive(path_for(baseline), FOLDER)
    return None if archive is None or baseline is None else (archive, baseline)


@once
def _versions() -> tuple[str, ...]:
    return (sys.version, *(f"{name} {_version(name)}" for name in ("ivm-engine", "numba", "llvmlite", "numpy")))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "0"  # of ivm, run from a checkout that is not installed
