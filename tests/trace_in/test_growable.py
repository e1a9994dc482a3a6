"""Arrays that grow: what is appended stays, views stay, and a system without room ahead is asked for less."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import pytest

from ivm.kernels.memory.allocator import resident_bytes
from ivm.kernels.memory.pages import join_page
from ivm.trace.columns.growable import Growable


def test_growth_keeps_what_is_there_and_leaves_views_alone() -> None:
    array = Growable(np.dtype(np.int64))
    views = []
    for size in (10, 2_000, 200_000, 300_000):
        array.append(np.arange(array.length, array.length + size))
        views.append(array.view())
    assert all(np.array_equal(view, np.arange(len(view))) for view in views)
    array.truncate(5)
    array.fill(7, 8)
    assert array.view().tolist() == [0, 1, 2, 3, 4, 7, 7, 7]


def test_a_large_array_is_seldom_copied() -> None:
    array = Growable(np.dtype(np.int64))
    moved, batches = 0, 40
    for _ in range(batches):
        before = array.array
        array.append(np.zeros(100_000, np.int64))
        moved += array.array is not before
    assert moved <= 2


def test_less_is_reserved_where_the_system_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    given = mmap.mmap
    refused: list[int] = []

    def scarce(file: int, size: int, flags: int) -> Any:
        if size > 8_000_000:
            refused.append(size)
            raise OSError("no room")
        return given(file, size, flags)

    monkeypatch.setattr(mmap, "mmap", scarce)
    array = Growable(np.dtype(np.int64))
    array.append(np.arange(200_000))
    array.append(np.arange(200_000, 400_000))
    assert refused
    assert len(array.array) < 600_000
    assert array.view().tolist() == list(range(400_000))
    with pytest.raises(MemoryError):
        array.append(np.arange(1_000_000))
    assert array.view().tolist() == list(range(400_000))


def test_rows_that_nobody_reads_any_more_go_with_their_memory() -> None:
    block = np.zeros(2, np.int64)
    array = Growable(np.dtype(np.int64), 2, block=block)
    for rows in (100_000, 0, 5):
        array.append(np.ones((rows, 2), np.int64))
        array.forget()
        assert array.length == 0
        assert block.tolist() == [array.array.ctypes.data, 0]
    array.append(np.full((3, 2), 7))
    assert array.view().tolist() == [[7, 7]] * 3
    assert block.tolist() == [array.array.ctypes.data, len(array.array)]


def test_what_was_never_written_is_zero() -> None:
    for width in (None, 3):
        array = Growable(np.dtype(np.int32), width)
        array.append(np.ones((100_000, *([] if width is None else [width])), np.int32))
        array.fill(7, 200_000)
        assert not array.array[200_000:300_000].any()


@pytest.mark.skipif(not resident_bytes(), reason="this system does not tell how much memory there is")
def test_a_few_of_many_rows_that_are_skipped_take_little_memory_and_more_page_by_page() -> None:
    array = Growable(np.dtype(np.int64))
    array.skip(1 << 24)
    before, pages = resident_bytes(), 64
    rows = array.view()
    rows[:: len(rows) // pages] = 1
    assert resident_bytes() - before < 4 << 20
    grown = []
    for _ in range(2 * pages):
        held = resident_bytes()
        join_page()
        grown.append(resident_bytes() - held)
    assert sorted(grown)[-3] <= 3 << 20, "the rest of the process may take memory meanwhile, too, but not each time"
    assert len(rows) == 1 << 24
    assert rows.sum() == pages
