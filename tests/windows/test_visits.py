"""What a change costs, in nodes visited: a logarithm and the rows whose values change, however large the partition."""

from __future__ import annotations

import numpy as np
import pytest

from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, HUGEINT
from ivm.sql.ir.relation import Get, Order, Window
from ivm.sql.ir.scalar import Column, Literal
from ivm.sql.ir.window_function import Frame, WindowFunction
from ivm.trace.columns.column import Column as Values
from ivm.trace.delta import delta_of
from tests.states import seal, step
from tests.windows.worlds import Driver

ROWS = 100_000
FEW = 500  # a dozen descents of a tree of 17 levels on average
V, AWAY = Column(1, BIGINT), Column(2, BIGINT, False)
ONE, NONE = Literal(1, BIGINT), Literal(None, BIGINT)
RUNNING = Frame(None, 0, True)

NEAR = {
    "lag": WindowFunction("lag", (V, ONE, NONE), BIGINT),
    "lead": WindowFunction("lead", (V, ONE, NONE), BIGINT, ignore_nulls=True),
    "sliding sum": WindowFunction("sum", (V,), HUGEINT, True, Frame(-3, 0)),
    "sliding maximum": WindowFunction("max", (V,), BIGINT, True, Frame(-7, 0)),
    "first value": WindowFunction("first_value", (V,), BIGINT, True, RUNNING),
    "the last ten by value": WindowFunction("sum", (V,), HUGEINT, True, Frame(-1, 0, True), bounds=(AWAY, None)),
    "by groups": WindowFunction("max", (V,), BIGINT, True, Frame(-1, 1, True)),
    "its neighbours": WindowFunction("sum", (V,), HUGEINT, True, Frame(-1, 1, exclude="current row")),
    "first by value": WindowFunction("first_value", (V,), BIGINT, True, Frame(-1, None, True), bounds=(AWAY, None)),
    "last by value": WindowFunction("last_value", (V,), BIGINT, True, Frame(None, -1, True), bounds=(None, AWAY)),
    "running minimum": WindowFunction("min", (V,), BIGINT, True, RUNNING),
}
ONWARD = {
    "row number": WindowFunction("row_number", (), BIGINT, False),
    "dense rank": WindowFunction("dense_rank", (), BIGINT, False),
    "running sum": WindowFunction("sum", (V,), HUGEINT, True, RUNNING),
}


def _filled(function: WindowFunction) -> Driver:
    """A partition of keys 0, 2, 4, .. with the values 1000, 1001, ..; none of them is the least. Away is ten keys back."""
    table = Get("t", (Field("k", BIGINT, False), Field("v", BIGINT), Field("away", BIGINT, False)))
    driver = Driver(Window(table, (), (Order(0),), (function,), ("w",)))
    keys = np.random.default_rng(7).permutation(ROWS) * 2
    step(driver.operator, [delta_of([Values(keys), Values(keys % 97 + 1000), Values(keys - 20)], 1, None)])
    seal(driver.operator)
    return driver


def _visits(driver: Driver, key: int, value: int, diff: int) -> tuple[int, int]:
    """Nodes visited and rows put out by one change."""
    before = driver.operator.visited
    out = driver.commit([((key, value, key - 20), 2, diff)])
    return driver.operator.visited - before, len(out)


@pytest.mark.parametrize("name", NEAR)
def test_a_change_visits_its_neighbours(name: str) -> None:
    driver = _filled(NEAR[name])
    for key in (-1, ROWS + 1, 2 * ROWS + 1):
        # 1000 is not less than what stood before, and no new extreme: few values change wherever the row comes.
        value = 2000 if name == "running minimum" and key > 0 else 1000
        if name == "first value" and key < 0:
            continue
        for diff in (1, -1):
            visited, rows = _visits(driver, key, value, diff)
            few = 2 * FEW if "by value" in name else FEW  # the ten rows between the change and the one that it concerns
            assert visited < few + 20 * rows, (key, diff, visited, rows)
            assert rows < 40 or name == "running minimum"


@pytest.mark.parametrize("name", ONWARD)
def test_a_change_visits_the_rows_that_change(name: str) -> None:
    driver = _filled(ONWARD[name])
    for key, after in ((2 * ROWS + 1, 0), (2 * ROWS - 201, 100)):
        for diff in (1, -1):
            visited, rows = _visits(driver, key, 1000, diff)
            assert rows == 1 + 2 * after
            assert visited < FEW + 4 * rows, (key, diff, visited)


@pytest.mark.parametrize("name", ONWARD)
def test_an_update_in_place_does_not_go_on(name: str) -> None:
    driver = _filled(ONWARD[name])
    before = driver.operator.visited
    out = driver.commit(
        [((10, 1010, -10), 2, -1), ((10, 1010, -10), 2, 1), ((12, 1012, -8), 2, -1), ((13, 1012, -8), 2, 1)]
    )
    assert len(out) == 2
    assert driver.operator.visited - before < FEW
