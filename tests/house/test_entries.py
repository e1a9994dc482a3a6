"""Kernels are entered by machine code that takes what fits their types, and leaves all else to numba."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ivm.kernels.compiling import calling
from ivm.kernels.compiling.calling import Kernel, dispatcher_of, entry_address
from ivm.kernels.compiling.compiled import njit

Kernels = dict[str, Any]


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    """Kernels that give back what they are given, each compiled for one signature."""

    def made(function: Callable[..., Any], *arguments: Any) -> Any:
        kernel = njit(cache=False, nogil=True)(function)
        kernel(*arguments)
        return kernel

    ints, read_only, grid = np.arange(3), np.arange(3), np.zeros((2, 3))
    read_only.flags.writeable = False
    return {
        "sum": made(lambda a: a.sum(), ints),
        "read": made(lambda a: a[0], read_only),
        "grid": made(lambda a: (a.shape[0], a.shape[1], a[1, 2]), grid),
        "strided": made(lambda a: a.sum(), grid.T[::2]),
        "number": made(lambda a, b: (a + 1, b), 1, 0.5),
        "truth": made(lambda a, b: a and not b, True, False),
        "nothing": made(lambda a: None, np.zeros(1, np.bool_)),
        "large": made(lambda a: a[0], np.zeros(1, np.uint64)),
        "memory": made(lambda n: np.empty(n, np.int64).size, 1),
        "narrow": made(lambda a, i: a[i], np.zeros(2, np.int32), 1),
        "mixed": made(lambda a: (a[0] > 0, a[0], a[0] < 0, a[0] / 2), ints),
    }


def numba_calls(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts how often numba is asked."""
    asked = []
    owner: Kernel = kernel.__self__
    plain = owner.dispatcher

    class Counted:
        overloads = plain.overloads
        py_func = plain.py_func

        def __call__(self, *arguments: Any) -> Any:
            asked.append(1)
            return plain(*arguments)

    monkeypatch.setattr(owner, "dispatcher", Counted())
    return asked


FITTING: list[tuple[str, tuple[Any, ...], Any]] = [
    ("sum", (np.arange(5),), 10),
    ("sum", (np.arange(0),), 0),
    ("sum", (np.arange(10_000),), 49_995_000),
    ("grid", (np.arange(6.0).reshape(2, 3),), (2, 3, 5.0)),
    ("strided", (np.arange(12.0).reshape(4, 3).T[::2],), 44.0),
    ("number", (2**62, 1.5), (2**62 + 1, 1.5)),
    ("number", (-1, -0.0), (0, -0.0)),
    ("number", (np.int64(-1), np.float64(2.5)), (0, 2.5)),
    ("truth", (True, False), True),
    ("truth", (np.True_, np.True_), False),
    ("nothing", (np.ones(2, np.bool_),), None),
    ("large", (np.array([2**64 - 1], np.uint64),), 2**64 - 1),
    ("narrow", (np.array([1, -7], np.int32), 1), -7),
    ("mixed", (np.array([-5]),), (False, -5, True, -2.5)),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), FITTING)
def test_what_fits_does_not_reach_numba(kernels, name, arguments, expected, monkeypatch) -> None:
    asked = numba_calls(kernels[name], monkeypatch)
    found = kernels[name](*arguments)
    assert found == expected
    assert type(found) is type(expected)
    assert not asked


def test_arrays_that_may_not_be_written_to_are_types_of_their_own(kernels, monkeypatch) -> None:
    array = np.arange(4) + 3
    array.flags.writeable = False
    asked = numba_calls(kernels["read"], monkeypatch)
    assert kernels["read"](array) == 3
    assert not asked
    assert kernels["read"](np.arange(4)) == 0
    assert asked


OTHERS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("sum", (np.arange(4, dtype=np.int32),), 6),
    ("sum", (np.arange(8)[::2],), 12),
    ("sum", (np.ones((2, 2), np.int64),), 4),
    ("sum", (np.arange(4).astype(">i8").astype("<i8"),), 6),
    ("number", (np.int32(4), 0.5), (5, 0.5)),
    ("number", (True, 0.5), (2, 0.5)),
    ("number", (1, 2), (2, 2)),
    ("truth", (1, 0), True),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), OTHERS)
def test_all_else_is_numba_s(kernels, name, arguments, expected) -> None:
    assert kernels[name](*arguments) == expected
    assert kernels[name](*arguments) == expected


def test_what_is_no_array_is_refused_as_by_numba(kernels) -> None:
    for wrong in ("text", object(), None):
        with pytest.raises(Exception, match=r"non-precise|cannot determine|No implementation|Unknown attribute|Failed"):
            kernels["sum"](wrong)
    with pytest.raises(OverflowError):
        kernels["number"](2**63, 0.5)
    for arguments in ((), (np.arange(2), 1)):
        with pytest.raises(TypeError, match="argument"):
            kernels["sum"](*arguments)


def test_a_kernel_without_memory_says_so(kernels) -> None:
    with pytest.raises(MemoryError):
        kernels["memory"](1 << 50)
    assert kernels["memory"](7) == 7


def test_no_reference_is_lost_or_kept(kernels) -> None:
    array = np.arange(3)
    before = sys.getrefcount(array), sys.getrefcount(None), sys.getrefcount(array.dtype)
    for _ in range(1000):
        kernels["sum"](array)
        kernels["nothing"](np.zeros(1, np.bool_))
        kernels["mixed"](array)
    after = sys.getrefcount(array), sys.getrefcount(None), sys.getrefcount(array.dtype)
    assert all(abs(late - early) < 50 for late, early in zip(after, before, strict=True))


def test_threads_enter_at_once(kernels) -> None:
    array = np.arange(100_000)
    found: list[int] = []

    def work() -> None:
        found.extend(kernels["sum"](array) for _ in range(200))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [int(array.sum())] * 800


def test_threads_that_come_first_make_one_entry(kernels, monkeypatch) -> None:
    result = next(iter(dispatcher_of(kernels["sum"]).overloads.values()))
    symbol, address, made = result.fndesc.llvm_func_name, entry_address(result), []

    def linked(*given: Any) -> int:
        made.append(given)
        time.sleep(0.05)
        return address

    monkeypatch.delitem(calling._addresses, symbol)
    monkeypatch.setitem(calling._kept, symbol, b"code that came with the kernel's")
    monkeypatch.setattr(calling, "_linked", linked)
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(entry_address(result))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [address] * 3
    assert len(made) == 1


def test_a_kernel_may_be_called_by_another(kernels) -> None:
    inner = kernels["narrow"]
    outer = njit(cache=False)(lambda a: inner(a, 0) + 1)
    assert outer(np.array([4], np.int32)) == 5


def test_its_dispatcher_is_kept(kernels) -> None:
    dispatcher = dispatcher_of(kernels["sum"])
    assert dispatcher.py_func(np.arange(3)) == 3
    assert all(entry_address(each) for each in dispatcher.overloads.values())
    assert dispatcher_of(len) is len
