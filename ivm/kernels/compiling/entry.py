"""How Python enters a kernel: by machine code that looks at the arguments, and calls the kernel if they are its own.

numba's dispatcher asks each argument for its type in several steps, and makes an object of each array that counts
references to it. An entry compares a few words of it instead: the class, the item type, the dimensions and flags of an
array, which numpy keeps at fixed places, and the class of a number. So a call costs a fifth of numba's. It is compiled
beside the kernel, for its one signature; what does not fit any of a kernel's entries is left to numba.

A thread that calls lets others run meanwhile only where that may take long (`_LONG`): letting go of the interpreter's
lock costs as much as a short kernel, and more if another thread then takes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numba import types

_array: Any = types.Array
_tuple: Any = types.BaseTuple
_boolean: Any = types.Boolean
_integer: Any = types.Integer
_float: Any = types.Float

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint64", "float64", "complex128")
"""The item types of arrays that entries know, by their place among the objects that they compare with."""
ARRAY, INT, INT64, FLOAT, FLOAT64, TRUE, FALSE, TRUE_BIT, FALSE_BIT, NONE, NO_MEMORY, FAILED = range(12)
FIRST_DTYPE = 12
"""The places of the other objects: classes, constants and exceptions; then come the item types."""
TABLE = 16
"""Where the object that an entry belongs to has its table: bytes, whose first word is the address of these objects."""
WORDS = 32
"""Where the words of bytes begin."""

MISSED = "inttoptr (i64 1 to ptr)"
"""What an entry gives that the arguments do not fit."""

_LONG, _ADDRESS = 4096, 1 << 40
"""Items of an array, or a number among the arguments, from which on a call may take long; one above the latter is an
address."""
_C_CONTIGUOUS, _F_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x2, 0x100, 0x400
_DATA, _DIMENSIONS, _LENGTHS, _STRIDES, _ITEM_TYPE, _FLAGS = 16, 24, 32, 40, 56, 64
_RESULTS = {"int32": ("i32", 4), "int64": ("i64", 8), "uint64": ("i64", 8), "float64": ("double", 8), "bool": ("i8", 1)}

_DECLARED = """
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyLong_FromUnsignedLongLong(i64)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyTuple_New(i64)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare void @PyErr_SetNone(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
"""


def entry_text(entry: str, kernel: str, signature: Any, *, allocates: bool) -> str | None:
    """The entry of a kernel as text of LLVM; None if it takes or gives what entries do not know.

    Args:
        entry: the symbol that it gets.
        kernel: the symbol of the kernel, compiled by numba.
        signature: numba's, of the kernel.
        allocates: whether it can fail for want of memory; one that cannot is not expected to fail.
    """
    writer = _Writer(entry)
    for place, given in enumerate(signature.args):
        if not writer.take(place, given):
            return None
    returned = _results(signature.return_type)
    return None if returned is None else writer.written(kernel, returned, allocates)


def _results(given: Any) -> list[str] | None:
    """The types of what a kernel returns, None among them for none; None if entries do not know them."""
    if isinstance(given, types.NoneType):
        return []
    items = list(given.types) if isinstance(given, _tuple) else [given]
    names = [str(each) for each in items]
    return names if all(name in _RESULTS for name in names) else None


class _Writer:
    """The text of one entry as it grows: each argument leaves what the kernel is called with."""

    def __init__(self, entry: str) -> None:
        self._entry = entry
        self._lines: list[str] = []
        self._passed: list[tuple[str, str]] = []
        self._long: list[str] = []
        self._values = 0
        self._taken = 0
        self._blocks = 0

    def take(self, place: int, given: Any) -> bool:
        """Look at the argument at `place`; False if entries do not know its type."""
        self._taken += 1
        made = self._load("ptr", "%arguments", 8 * place)
        if isinstance(given, _array):
            return self._take_array(made, given)
        if isinstance(given, _boolean):
            self._take_bool(made)
        elif isinstance(given, _integer) and str(given) == "int64":
            self._take_int(made)
        elif isinstance(given, _float) and str(given) == "float64":
            self._take_float(made)
        else:
            return False
        return True

    def written(self, kernel: str, returned: Sequence[str], allocates: bool) -> str:
        """The whole text, which calls the kernel and makes an object of what it returns."""
        passed = "".join(f", {kind} {value}" for kind, value in self._passed)
        long = "false"
        for each in self._long:
            long = self._value("i1", f"or i1 {long}, {each}")
        self._add("br label %ready", "ready:", f"br i1 {long}, label %let, label %hold")
        self._add("let:", "%thread = call ptr @PyEval_SaveThread()", "br label %hold")
        self._add("hold:", "%state = phi ptr [null, %ready], [%thread, %let]")
        self._add(f"%status = call i32 @{_quoted(kernel)}(ptr %found, ptr %reason{passed})")
        self._add(f"br i1 {long}, label %back, label %done", "back:", "call void @PyEval_RestoreThread(ptr %state)")
        self._add("br label %done", "done:", "%right = icmp eq i32 %status, 0")
        self._add("br i1 %right, label %give, label %fail", "fail:")
        raised = self._object(NO_MEMORY if allocates else FAILED)
        self._add(f"call void @PyErr_SetNone(ptr {raised})", "ret ptr null", "give:")
        self._give(returned)
        kinds = ", ".join(["ptr", "ptr", *(kind for kind, _ in self._passed)])
        text = [
            f"{_DECLARED}declare i32 @{_quoted(kernel)}({kinds})",
            f"define ptr @{_quoted(self._entry)}(ptr %self, ptr %arguments, i64 %count) {{",
            "%found = alloca [16 x i64], align 16",
            "%reason = alloca ptr, align 8",
            f"%at = getelementptr i8, ptr %self, i64 {TABLE}",
            "%table = load ptr, ptr %at",
            f"%words = getelementptr i8, ptr %table, i64 {WORDS}",
            "%objects = load ptr, ptr %words",
            f"%many = icmp eq i64 %count, {self._taken}",
            "br i1 %many, label %look, label %missed",
            "missed:",
            f"ret ptr {MISSED}",
            "look:",
            *self._lines,
            "}",
        ]
        return "\n".join(text) + "\n"

    def _take_array(self, made: str, given: Any) -> bool:
        dtype = str(given.dtype)
        if dtype not in DTYPES or not given.aligned:
            return False
        self._same(self._load("ptr", made, 8), self._object(ARRAY))
        self._same(self._load("ptr", made, _ITEM_TYPE), self._object(FIRST_DTYPE + DTYPES.index(dtype)))
        self._expect(f"icmp eq i32 {self._load('i32', made, _DIMENSIONS)}, {given.ndim}")
        wanted = (
            _ALIGNED
            | (_WRITEABLE if given.mutable else 0)
            | {"C": _C_CONTIGUOUS, "F": _F_CONTIGUOUS}.get(given.layout, 0)
        )
        looked_at = _ALIGNED | _WRITEABLE | _C_CONTIGUOUS | (0 if given.layout == "C" else _F_CONTIGUOUS)
        flags = self._value("i32", f"and i32 {self._load('i32', made, _FLAGS)}, {looked_at}")
        self._expect(f"icmp eq i32 {flags}, {wanted}")
        lengths, strides = self._load("ptr", made, _LENGTHS), self._load("ptr", made, _STRIDES)
        shape = [self._load("i64", lengths, 8 * axis) for axis in range(given.ndim)]
        steps = [self._load("i64", strides, 8 * axis) for axis in range(given.ndim)]
        items = shape[0]
        for length in shape[1:]:
            items = self._value("i64", f"mul i64 {items}, {length}")
        self._long.append(self._value("i1", f"icmp sgt i64 {items}, {_LONG}"))
        size = 1 if dtype == "bool" else max(given.dtype.bitwidth // 8, 1)
        self._passed += [("ptr", "null"), ("ptr", "null"), ("i64", items), ("i64", str(size))]
        self._passed += [("ptr", self._load("ptr", made, _DATA)), *(("i64", each) for each in (*shape, *steps))]
        return True

    def _take_int(self, made: str) -> None:
        """An int of Python's within 64 bits, or one of numpy's of 64 bits."""
        number = self._blocks
        self._blocks += 1
        kind = self._load("ptr", made, 8)
        plain = self._value("i1", f"icmp eq ptr {kind}, {self._object(INT)}")
        self._add(f"br i1 {plain}, label %int{number}, label %word{number}", f"int{number}:")
        self._add(f"%i{number} = call i64 @PyLong_AsLongLong(ptr {made})")
        doubted = self._value("i1", f"icmp eq i64 %i{number}, -1")
        self._add(f"br i1 {doubted}, label %minus{number}, label %got{number}", f"minus{number}:")
        self._add(f"%e{number} = call ptr @PyErr_Occurred()", f"%c{number} = icmp eq ptr %e{number}, null")
        self._add(f"br i1 %c{number}, label %got{number}, label %large{number}", f"large{number}:")
        self._add("call void @PyErr_Clear()", "br label %missed", f"word{number}:")
        known = self._value("i1", f"icmp eq ptr {kind}, {self._object(INT64)}")
        self._add(f"br i1 {known}, label %read{number}, label %missed", f"read{number}:")
        word = self._load("i64", made, 16)
        self._add(f"br label %got{number}", f"got{number}:")
        arms = f"[%i{number}, %int{number}], [%i{number}, %minus{number}], [{word}, %read{number}]"
        value = self._value("i64", f"phi i64 {arms}")
        above = self._value("i64", f"sub i64 {value}, {_LONG + 1}")
        self._long.append(self._value("i1", f"icmp ult i64 {above}, {_ADDRESS}"))
        self._passed.append(("i64", value))

    def _take_float(self, made: str) -> None:
        kind = self._load("ptr", made, 8)
        plain = self._value("i1", f"icmp eq ptr {kind}, {self._object(FLOAT)}")
        word = self._value("i1", f"icmp eq ptr {kind}, {self._object(FLOAT64)}")
        self._expect(f"or i1 {plain}, {word}")
        self._passed.append(("double", self._load("double", made, 16)))

    def _take_bool(self, made: str) -> None:
        yes, no = (
            self._value("i1", f"or i1 {self._is(made, plain)}, {self._is(made, bit)}")
            for plain, bit in ((TRUE, TRUE_BIT), (FALSE, FALSE_BIT))
        )
        self._expect(f"or i1 {yes}, {no}")
        self._passed.append(("i8", self._value("i8", f"zext i1 {yes} to i8")))

    def _give(self, returned: Sequence[str]) -> None:
        if not returned:
            none = self._object(NONE)
            self._add(f"call void @Py_IncRef(ptr {none})", f"ret ptr {none}")
            return
        made, at = [], 0
        for name in returned:
            kind, size = _RESULTS[name]
            at = -(-at // size) * size
            made.append(self._object_of(name, self._load(kind, "%found", at)))
            at += size
        if len(made) == 1:
            self._add(f"ret ptr {made[0]}")
            return
        # That memory is wanting for a number or a tuple of a few words is left out of account, as it is elsewhere.
        self._add(f"%tuple = call ptr @PyTuple_New(i64 {len(made)})")
        for place, each in enumerate(made):
            self._add(f"%item{place} = getelementptr i8, ptr %tuple, i64 {24 + 8 * place}")
            self._add(f"store ptr {each}, ptr %item{place}")
        self._add("ret ptr %tuple")

    def _object_of(self, name: str, value: str) -> str:
        if name == "bool":
            one = self._value("i1", f"icmp ne i8 {value}, 0")
            yes, no = self._object(TRUE), self._object(FALSE)
            made = self._value("ptr", f"select i1 {one}, ptr {yes}, ptr {no}")
            self._add(f"call void @Py_IncRef(ptr {made})")
            return made
        if name == "float64":
            return self._value("ptr", f"call ptr @PyFloat_FromDouble(double {value})")
        if name == "int32":
            value = self._value("i64", f"sext i32 {value} to i64")
        makes = "PyLong_FromUnsignedLongLong" if name == "uint64" else "PyLong_FromLongLong"
        return self._value("ptr", f"call ptr @{makes}(i64 {value})")

    def _is(self, made: str, which: int) -> str:
        return self._value("i1", f"icmp eq ptr {made}, {self._object(which)}")

    def _same(self, found: str, wanted: str) -> None:
        self._expect(f"icmp eq ptr {found}, {wanted}")

    def _expect(self, condition: str) -> None:
        """Go on if this holds, else it is not this entry's."""
        held = self._value("i1", condition)
        block = f"next{self._blocks}"
        self._blocks += 1
        self._add(f"br i1 {held}, label %{block}, label %missed", f"{block}:")

    def _object(self, which: int) -> str:
        return self._load("ptr", "%objects", 8 * which)

    def _load(self, kind: str, base: str, offset: int) -> str:
        at = self._value("ptr", f"getelementptr i8, ptr {base}, i64 {offset}")
        return self._value(kind, f"load {kind}, ptr {at}")

    def _value(self, kind: str, made: str) -> str:
        name = f"%v{self._values}"
        self._values += 1
        self._add(f"{name} = {made}")
        return name

    def _add(self, *lines: str) -> None:
        self._lines += lines


def _quoted(symbol: str) -> str:
    return f'"{symbol}"'
