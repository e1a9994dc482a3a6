"""Memory that the next array gets: not before nobody reads it, never more than is said, by any number of threads."""

from __future__ import annotations

import gc
import mmap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ivm.kernels.memory import pages
from ivm.kernels.memory.allocator import resident_bytes
from ivm.kernels.memory.pages import give_back_spare, stale
from ivm.trace.columns.growable import Growable

pytestmark = pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="this system has no such pages")

_INTS = np.dtype(np.int64)
_LARGE = 200_000


@pytest.fixture(autouse=True)
def nothing_spare() -> Iterator[None]:
    gc.collect()
    give_back_spare()
    yield
    give_back_spare()


def _written(value: int, rows: int = _LARGE, dtype: np.dtype = _INTS) -> np.ndarray:
    array = stale((rows,), dtype, rows * dtype.itemsize)
    array[:] = value
    return array


def test_what_nobody_reads_any_more_is_there_for_the_next() -> None:
    array = _written(1)
    address = array.ctypes.data
    del array
    again = stale((2 * _LARGE,), np.dtype(np.int32), 0)
    assert again.ctypes.data == address
    assert again.flags.writeable
    assert len(again) == 2 * _LARGE


@pytest.mark.parametrize(
    "part",
    [
        lambda a: a,
        lambda a: a[5:9],
        lambda a: a[::2],
        lambda a: a.view(np.int8)[3:],
        lambda a: memoryview(a)[7:],
        lambda a: a.data,
    ],
)
def test_what_somebody_reads_a_part_of_is_nobody_elses(part) -> None:
    read = part(_written(1))
    before = bytes(read)
    for value in range(2, 5):
        other = _written(value)
        assert bytes(read) == before
        assert other[-1] == value
        del other
    assert len(pages._spare) == 1, "what is read is not spare"
    del read
    assert len(pages._spare) == 2


def test_one_that_is_too_small_stays_for_others() -> None:
    small = _written(1, 100_000)
    address = small.ctypes.data
    del small
    large = _written(2, 4_000_000)
    assert large.ctypes.data != address
    assert _written(3, 100_000).ctypes.data == address


def test_small_ones_are_not_kept() -> None:
    _written(1, 100)
    assert not pages._spare


def test_wide_rows_have_their_shape() -> None:
    for _ in range(3):
        array = stale((_LARGE, 2), _INTS, 0)
        array[:] = 7
        assert array.shape == (_LARGE, 2)
        assert array.strides == (16, 8)
        del array


@pytest.mark.skipif(not resident_bytes(), reason="this system does not tell how much memory there is")
def test_few_are_kept_with_few_pages_until_they_are_given_back() -> None:
    before = resident_bytes()
    many = [_written(each, 2_000_000) for each in range(30)]
    assert resident_bytes() - before > 400e6
    many.clear()
    assert len(pages._spare) == pages._MOST_SPARE
    assert resident_bytes() - before < 80 << 20
    give_back_spare()
    assert resident_bytes() - before < 16 << 20


def test_any_number_of_threads_takes_and_leaves_them() -> None:
    def work(number: int) -> bool:
        right = True
        for turn in range(60):
            value = 1_000 * number + turn
            array = _written(value, 40_000)
            part = array[100:]
            del array
            right = right and bool((part == value).all())
        return right

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))
    assert len(pages._spare) <= pages._MOST_SPARE


def test_rows_that_grow_keep_what_is_there_and_leave_views_alone() -> None:
    for _ in range(3):
        array: Growable[np.int64] = Growable(_INTS, may_be_stale=True)
        views = []
        for size in (10, 2_000, 200_000, 300_000):
            array.append(np.arange(array.length, array.length + size))
            views.append(array.view())
        del array
        other = _written(-1)
        assert all(np.array_equal(view, np.arange(len(view))) for view in views)
        del other
