"""Which rows are refused, over checks that are made up."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from ivm.catalog.errors import ConstraintError, Error
from ivm.intake.refused_rows import isolated


class Checks:
    """Refuses rows in `bad`, pairs of `rivals` together, and rows without what they `need`."""

    def __init__(self, bad: set[int], rivals: dict[int, int], needs: dict[int, int]) -> None:
        self.bad, self.rivals, self.needs = bad, rivals, needs
        self.calls, self.rows = 0, 0

    def __call__(self, rows: pa.Table) -> Error | None:
        there = set(rows["id"].to_pylist())
        self.calls, self.rows = self.calls + 1, self.rows + len(there)
        is_bad = bool(there & self.bad) or any(one in there and other in there for one, other in self.rivals.items())
        is_bad |= any(one in there and other not in there for one, other in self.needs.items())
        return ConstraintError("refused") if is_bad else None


def found(checks: Checks, n: int) -> tuple[list[int], list[int]]:
    rows, units = pa.table({"id": np.arange(n)}), [np.array([place]) for place in range(n)]
    kept, refused = isolated(rows, units, checks, ConstraintError("all of it"))
    return kept["id"].to_pylist(), sorted(row for each in refused for row in each.rows["id"].to_pylist())


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_goes_together_and_nothing_else_goes_with_it(seed):
    chosen, n = random.Random(seed), 60
    pick = lambda most: chosen.sample(range(n), chosen.randrange(most))  # noqa: E731
    rivals = {one: n - 1 - one for one in pick(5)}
    checks = Checks(
        set(pick(8)), rivals, {one: other for one, other in zip(pick(6), pick(6), strict=False) if one != other}
    )
    kept, refused = found(checks, n)
    assert kept == sorted(kept)
    assert sorted(kept + refused) == list(range(n))
    assert checks(pa.table({"id": kept})) is None
    assert all(checks(pa.table({"id": [*kept, one]})) is not None for one in refused)


def test_many_refused_rows_take_few_checks_of_all():
    n, bad = 4096, set(range(0, 4096, 128))
    checks = Checks(bad, {}, {})
    assert found(checks, n)[1] == sorted(bad)
    assert checks.rows <= n * (len(bad) + 10)
    assert checks.calls <= 2 * len(bad) * 12 + len(bad) + 2
