"""Kernels as Python calls them: functions of C that try a kernel's entries, and ask numba where none fits."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from functools import cache
from threading import RLock
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import types
from numba.extending import typeof_impl

from ivm.kernels.compiling.checking import CHECKS
from ivm.kernels.compiling.entry import DTYPES, MISSED, TABLE, WORDS, entry_text

_OBJECTS: tuple[Any, ...] = (
    np.ndarray, int, np.int64, float, np.float64, True, False, np.True_, np.False_, None, MemoryError, SystemError,
)  # fmt: skip
_typeof: Any = typeof_impl
_FASTCALL = 0x80
_FIRST = 3
"""The words of a table: the address of the objects, what asks numba, how many entries there are, and then these."""

_ENTER = f"""
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
define ptr @ivm_enter(ptr %self, ptr %arguments, i64 %count) {{
  %at = getelementptr i8, ptr %self, i64 {TABLE}
  %table = load ptr, ptr %at
  %words = getelementptr i8, ptr %table, i64 {WORDS}
  %there = getelementptr i64, ptr %words, i64 2
  %entries = load i64, ptr %there
  br label %next
next:
  %number = phi i64 [0, %0], [%after, %missed]
  %more = icmp slt i64 %number, %entries
  br i1 %more, label %try, label %ask
try:
  %place = add i64 %number, {_FIRST}
  %kept = getelementptr i64, ptr %words, i64 %place
  %entry = load ptr, ptr %kept
  %found = call ptr %entry(ptr %self, ptr %arguments, i64 %count)
  %fits = icmp ne ptr %found, {MISSED}
  br i1 %fits, label %done, label %missed
missed:
  %after = add i64 %number, 1
  br label %next
done:
  ret ptr %found
ask:
  %asked = getelementptr i64, ptr %words, i64 1
  %numba = load ptr, ptr %asked
  %answer = call ptr @PyObject_Vectorcall(ptr %numba, ptr %arguments, i64 %count, ptr null)
  ret ptr %answer
}}
"""


class _Definition(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Entered:
    """What machine code reads of a kernel: `table`, which is exchanged as a whole."""

    __slots__ = ("table",)

    table: bytes


class Kernel(_Entered):
    """A kernel: numba's `dispatcher`, which compiles it, and the entries to what is compiled.

    It is the `__self__` of what Python calls.
    """

    __slots__ = ("_ask", "_definition", "_known", "dispatcher")

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher = dispatcher
        self._ask = self._asked
        name = dispatcher.py_func.__name__.encode()
        self._definition = _Definition(name, _engine().get_function_address("ivm_enter"), _FASTCALL, None)
        self._renew()

    @property
    def function(self) -> Callable[..., Any]:
        """What Python calls."""
        made: Callable[..., Any] = _new_function(ctypes.byref(self._definition), self, None)
        return made

    def _asked(self, *arguments: Any) -> Any:
        """Call it by numba, which finds or compiles what fits, and know the entry the next time."""
        answer = self.dispatcher(*arguments)
        if len(self.dispatcher.overloads) != self._known:
            self._renew()
        return answer

    def _renew(self) -> None:
        compiled = list(self.dispatcher.overloads.values())
        entries = [address for address in map(entry_address, compiled) if address]
        words = (_objects().ctypes.data, id(self._ask), len(entries), *entries)
        self.table = struct.pack(f"={len(words)}q", *words)
        self._known = len(compiled)


def called(dispatcher: Any) -> Callable[..., Any]:
    """What Python calls a kernel by; `dispatcher_of` gives numba's again."""
    if CHECKS or not _are_laid_out():
        made: Callable[..., Any] = dispatcher
        return made
    return Kernel(dispatcher).function


def dispatcher_of(function: Any) -> Any:
    """Numba's dispatcher of what `called` gave."""
    kernel = getattr(function, "__self__", None)
    return kernel.dispatcher if isinstance(kernel, Kernel) else function


def address_of(function: Any) -> int:
    """Where a kernel begins that was compiled for one signature, as numba calls it."""
    (result,) = dispatcher_of(function).overloads.values()
    address: int = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
    return address


@_typeof.register(type(len))
def _type_of(function: Any, context: Any) -> Any:
    """What numba takes a kernel for that another one calls: its dispatcher."""
    kernel = function.__self__
    return types.Dispatcher(kernel.dispatcher) if isinstance(kernel, Kernel) else None


def entry_code(result: Any) -> bytes:
    """Machine code of the entry to a kernel that numba has compiled; empty if there can be none."""
    symbol = result.fndesc.llvm_func_name
    text = entry_text(_entry_symbol(symbol), symbol, result.signature, allocates=_allocates(result))
    if text is None:
        return b""
    module = llvm.parse_assembly(text)
    module.verify()
    code: bytes = result.library.codegen._tm.emit_object(module)
    return code


def keep_entry(result: Any, code: bytes) -> None:
    """Note the code of an entry that was kept beside the kernel's."""
    _kept[result.fndesc.llvm_func_name] = code


def entry_address(result: Any) -> int:
    """Where the entry to a compiled kernel begins; 0 if there can be none."""
    symbol = result.fndesc.llvm_func_name
    address = _addresses.get(symbol)
    if address is not None:
        return address
    with _linking:  # which several threads may come to, that call a kernel for the first time
        address = _addresses.get(symbol)
        if address is None:
            code = _kept[symbol] if symbol in _kept else entry_code(result)
            address = _addresses[symbol] = _linked(result, symbol, code) if code else 0
            _kept.pop(symbol, None)
    return address


def _linked(result: Any, symbol: str, code: bytes) -> int:
    llvm.add_symbol(symbol, result.library.get_pointer_to_function(symbol))
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    address: int = engine.get_function_address(_entry_symbol(symbol))
    return address


def _entry_symbol(symbol: str) -> str:
    return f"ivm_entry_{symbol}"


def _allocates(result: Any) -> bool:
    """Whether the kernel calls numba's runtime, which it does to allocate."""
    return "NRT_" in "".join(each.name for each in result.library._final_module.functions)


_kept: dict[str, bytes] = {}
_addresses: dict[str, int] = {}
_linking = RLock()
_new_function: Any = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype = ctypes.py_object
_new_function.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)


@cache
def _engine() -> Any:
    """Where entries are linked, with the function that tries them."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2, jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(_ENTER), machine)
    engine.finalize_object()
    return engine


@cache
def _objects() -> Any:
    """The addresses of the objects that entries compare with."""
    dtypes = [np.dtype(name) for name in DTYPES]
    return np.array([id(each) for each in (*_OBJECTS, *dtypes)], np.int64)


@cache
def _are_laid_out() -> bool:
    """Whether objects lie in memory as entries read them."""
    sample = np.zeros((3, 5), np.int32)
    words = (ctypes.c_int64 * 9).from_address(id(sample))
    entered = _Entered()
    entered.table = b"12345678"
    at = ctypes.c_int64.from_address(id(entered) + TABLE).value
    first, second = (ctypes.c_int64 * 2).from_address(words[4])
    return (
        struct.calcsize("P") == 8
        and words[1] == id(np.ndarray)
        and words[2] == sample.ctypes.data
        and words[3] & 0xFFFFFFFF == 2
        and (first, second) == (3, 5)
        and words[7] == id(np.dtype(np.int32))
        and words[8] & 0x701 == 0x501
        and at == id(entered.table)
        and ctypes.string_at(at + WORDS, 8) == entered.table
        and ctypes.c_int64.from_address(id(np.int64(77)) + 16).value == 77
        and ctypes.c_double.from_address(id(np.float64(0.5)) + 16).value == 0.5
    )
