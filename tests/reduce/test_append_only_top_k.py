"""Top-k of rows that only come against the model that sorts everything at every time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ivm.catalog.types import BIGINT, VARCHAR
from ivm.operators.top_k import AppendOnlyTopK
from tests.reduce.test_top_k import Driver as AnyDriver
from tests.reduce.test_top_k import assert_the_laws, worlds
from tests.states import seal


class Driver(AnyDriver):
    top: Any

    def __init__(self, types: Any, group: Any, order: Any, limit: int, offset: int) -> None:
        super().__init__(types, group, order, limit, offset)
        self.top = AppendOnlyTopK(types, group, order, limit, offset, self.dictionary)


@settings(deadline=None, max_examples=100)
@given(worlds(), st.randoms())
def test_the_laws(world: Any, random: Any) -> None:
    *shape, ties, updates = world
    updates = [(row, time, abs(diff)) for row, time, diff in updates]
    assume(updates and shape[3] is not None and not ties)
    assert_the_laws([Driver(*shape) for _ in range(3)], updates, random)


def test_what_is_behind_the_window_is_forgotten() -> None:
    driver = Driver(((BIGINT, False), (VARCHAR, False)), (), ((0, True, False),), 3, 1)
    for time in range(1, 40):
        driver.step([((v * 7919 % 1009, f"{v}"), time, 1) for v in range(50 * time, 50 * time + 50)])
        seal(driver.top)
    assert driver.top.size().rows == 4
    assert sum(driver.contents().values()) == 3


def test_a_row_that_goes_is_a_bug_of_the_plan() -> None:
    driver = Driver(((BIGINT, False),), (), (), 1, 0)
    with pytest.raises(AssertionError, match="only come"):
        driver.step([((1,), 1, -1)])


def test_groups_that_show_nothing_are_a_chunk_without_rows() -> None:
    driver = Driver(((BIGINT, False),), (), (), 1, 1)
    driver.step([((1,), 1, 1)])
    seal(driver.top)
    assert [len(chunk) for chunk in driver.top.contents([], 1)] == [0]
