"""What operators with groups step by: the updates of their one input, in the order of time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ivm.trace.delta import Delta


def live_input(inputs: Sequence[Delta | None]) -> Delta | None:
    """The first input's updates in the order of time; None if there are none."""
    delta = inputs[0]
    return None if delta is None or len(delta) == 0 else in_time_order(delta)


def in_time_order(delta: Delta) -> Delta:
    """The same updates with times ascending, one int if there is only one. Cost: a sort where they are not in order."""
    times = delta.times
    if isinstance(times, int):
        return delta
    if len(times) > 1 and not bool((times[1:] >= times[:-1]).all()):
        delta = delta.take(np.argsort(times, kind="stable"))
        times = delta.time_array()
    if times[0] == times[-1]:
        return Delta(delta.groups, delta.layout, delta.length, int(times[0]), delta.diffs)
    return delta
