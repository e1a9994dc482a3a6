"""Changes of a table, one row at a step: rows go, rows come, and most of either are taken back some steps later."""

from __future__ import annotations

import numpy as np

from ivm.benchmarks.graph.graphs import Rng


def flips(there: np.ndarray, steps: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """Which row each step changes, and how: +1 where it comes, -1 where it goes; int64 both.

    `there`: for each row that may change whether it is there at first. A step flips a row that is as it was at first,
    or, as often, one that is not, so that the table stays about as it was.
    """
    present = there.copy()
    rows, diffs = np.empty(steps, np.int64), np.empty(steps, np.int64)
    fresh, back, choices = rng.integers(0, len(there), steps), rng.random(steps), rng.random(steps)
    changed: list[int] = []
    for step in range(steps):
        if changed and back[step] < 0.5:
            place = int(choices[step] * len(changed))
            changed[place], changed[-1] = changed[-1], changed[place]
            row = changed.pop()
        else:
            row = int(fresh[step])
            if present[row] == there[row]:
                changed.append(row)
            else:
                changed.remove(row)
        present[row] = not present[row]
        rows[step], diffs[step] = row, 1 if present[row] else -1
    return rows, diffs
