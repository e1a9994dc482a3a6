"""Arrays that grow: what is appended stays, views stay, and a system without room ahead is asked for less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ivm.trace.growable import Growable


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
    empty = np.empty
    refused: list[int] = []

    def scarce(shape: Any, dtype: Any) -> Any:
        rows = shape[0] if isinstance(shape, tuple) else shape
        if rows > 1_000_000:
            refused.append(rows)
            raise MemoryError
        return empty(shape, dtype)

    monkeypatch.setattr(np, "empty", scarce)
    array = Growable(np.dtype(np.int64))
    array.append(np.arange(200_000))
    array.append(np.arange(200_000, 400_000))
    assert refused
    assert len(array.array) < 600_000
    assert array.view().tolist() == list(range(400_000))
