"""Compiled functions as bytes, and back: without numba's compiler, which takes longer to set up than most things here.

The object code is handed to LLVM's linker. Bitcode, which takes longer to read, is only looked at when a caller of the
function is compiled. So a function is there within some milliseconds, most within one.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from importlib import import_module
from mmap import mmap
from typing import Any

import llvmlite.binding as llvm
from numba.core.codegen import CodeLibrary, JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.environment import Environment
from numba.core.serialize import dumps

from ivm.kernels.compiling.archive import Entry
from ivm.kernels.compiling.calling import entry_code, keep_entry

_Environment: Any = Environment
_library: Any = CodeLibrary
_result: Any = CompileResult
_pickled: Any = dumps
_runtime: Any = import_module("numba.core.runtime._nrt_python")
_LEAST_ROOM = 4 << 20
_TIMES = 4
"""What LLVM may take to link object code: so many copies (the bytes, what is read of them, sections of whole pages)."""
_UNRESOLVED = ".numba.unresolved$"


class CannotKeepError(Exception):
    """A compiled function that other processes cannot load; the message says why."""


def packed(result: Any) -> Entry:
    """What is kept of a compiled function. CannotKeepError if that would not do."""
    if result.library.has_dynamic_globals or result.lifted or result.reload_init:
        raise CannotKeepError("its machine code holds addresses of this process")
    name, _, (code, bitcode) = result.library.serialize_using_object_code()
    symbols = _foreign_symbols(result.library)
    if any(symbol.startswith(_UNRESOLVED) for symbol in symbols):
        raise CannotKeepError("it calls itself through another function")
    _, description, environment, signature, objectmode, *_, environments = result._reduce()
    own, others = _bare(environment), [_bare(each) for each in environments]
    about = (symbols, name, description, own, signature, objectmode, others)
    return Entry(_pickled(about), code, bitcode, entry_code(result))


class _Library(JITCodeLibrary):  # type: ignore[misc, unused-ignore]
    """Machine code that LLVM has linked. Its bitcode is read when a caller is compiled."""

    def __init__(self, codegen: Any, name: str, bitcode: Callable[[], bytes]) -> None:
        _library.__init__(self, codegen, name)
        self._bitcode = bitcode
        self._linking_libraries: list[Any] = []
        self._shared_module: Any = None
        self._finalized = True
        self._disable_inspection = True

    def get_pointer_to_function(self, name: str) -> int:
        """The address of a function of the object code."""
        address: int = self._codegen._engine.get_function_address(name)
        return address

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = llvm.parse_bitcode(self._bitcode())
        return self._shared_module


def linked(target: Any, about: bytes, code: bytes, entry: bytes, bitcode: Callable[[], bytes]) -> Any:
    """The `CompileResult` of a function, from what was kept; None if it calls what this process lacks.

    MemoryError if there is no room for it.
    """
    _check_room(_LEAST_ROOM + _TIMES * len(code))
    symbols, name, description, own, signature, objectmode, others = pickle.loads(about)
    if not _are_known(symbols, target):
        return None
    codegen = target.codegen()
    engine = codegen._engine
    engine._ee.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    environment, environments = _environment(*own), [_environment(*each) for each in others]
    library = _Library(codegen, name, bitcode)
    made = _result(
        target_context=target,
        typing_context=target.typing_context,
        library=library,
        environment=environment,
        entry_point=target.get_executable(library, description, environment),
        fndesc=description,
        type_annotation="",
        signature=signature,
        objectmode=objectmode,
        lifted=(),
        typing_error=None,
        call_helper=None,
        metadata=None,
        reload_init=[],
        referenced_envs=environments,
    )
    for each in environments:
        codegen.set_env(each.env_name, each)
    keep_entry(made, entry)
    return made


def _check_room(size: int) -> None:
    """MemoryError if the process may not have so many bytes more: where LLVM gets none it ends the process.

    Another thread may take them meanwhile; and what limits a whole container refuses nothing, but ends processes.
    Cost: some microseconds.
    """
    try:
        mmap(-1, size).close()  # no page of which is looked at
    except OSError as error:
        raise MemoryError(
            f"cannot load machine code: this process may not have {size >> 20} MiB more ({error.strerror}); raise its "
            "limit (ulimit -v), or keep less in it"
        ) from error


def _bare(environment: Any) -> tuple[str, list[Any], str]:
    """What numba keeps of an environment, where the Python objects are that a function refers to."""
    module, constants, name = environment.__reduce__()[1]
    return module, constants, name


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """The environment of this name. Compiled loops look up nothing in its module, so that is not imported."""
    found = _Environment._memo.get(name)
    if found is None:
        found = _Environment({"__name__": module})
        found.consts[:] = constants
        found.env_name = name
        _Environment._memo[name] = found
    return found


def _foreign_symbols(library: Any) -> tuple[str, ...]:
    """The names that the object code takes from the process."""
    module = library._final_module
    named = [*module.functions, *module.global_variables]
    return tuple(sorted({each.name for each in named if each.is_declaration and not each.name.startswith("llvm.")}))


def _are_known(symbols: tuple[str, ...], target: Any) -> bool:
    """Whether LLVM's linker finds these: what it does not find ends the process."""
    _add_runtime()
    if all(map(_is_known, symbols)):
        return True
    target.refresh()  # adds all that numba's own functions may call
    return all(llvm.address_of_symbol(symbol) is not None for symbol in symbols)


@cache
def _is_known(symbol: str) -> bool:
    return llvm.address_of_symbol(symbol) is not None


@cache
def _add_runtime() -> None:
    """Tell LLVM's linker where the functions of numba's runtime are, as numba does before it compiles."""
    for name, address in _runtime.c_helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
