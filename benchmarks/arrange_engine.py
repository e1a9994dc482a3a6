"""One measurement of `arrange`: one arrangement of 64-bit identifiers that change all the time. In its own process.

The setting of "Shared Arrangements", section 6.2 and figure 7.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from ivm.benchmarks.machine import peak_bytes
from ivm.benchmarks.process import Steps, answer, task
from ivm.benchmarks.statistics import quantiles
from ivm.catalog.types import BIGINT
from ivm.trace.columns.column import Column, Ints
from ivm.trace.delta import delta_of
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.keys import KeyLayout
from ivm.trace.rows.rows import DerivedRows
from ivm.trace.text.dictionary import TextDictionary

STEPS = ("insert", "probe", "seal")
"""What is done with a batch: its changes are inserted, as many keys are looked up, all is made final."""

_FILL = 100_000
_WARM_UP = 200
_PROBED = (1, 10, 100, 1_000, 10_000, 100_000)
_REPEATS = 50


@dataclass(frozen=True, slots=True)
class Task:
    """`keys` identifiers, and changes that come `rate` a second for `seconds`, all those of `tick_ms` at once.

    Half of the changes are identifiers that come, half those that have been there longest and go. `rate` 0: batches of
    10,000 changes, each as soon as the last is done, and look-ups of few keys and of many.
    """

    keys: int
    rate: int
    seconds: float
    tick_ms: float = 1.0


def measure(asked: Task) -> dict[str, Any]:
    """Latencies of the ticks in ms, from when the changes came to when they were sealed, with what each step took.

    In an open loop a tick that is late delays those behind it, which count from when they were due. With rate 0, ns a
    change of each step, and ms of looking up so many keys.
    """
    held = _Held(asked.keys)
    if asked.rate == 0:
        return {**held.closed_loop(asked.seconds), **held.look_ups(), "peak_bytes": peak_bytes()}
    return {**held.open_loop(asked), "peak_bytes": peak_bytes()}


class _Held:
    """The arrangement, and which identifiers are in it."""

    def __init__(self, keys: int) -> None:
        steps = Steps()
        layout = KeyLayout(((BIGINT.physical, False),), nulls="drop")
        self._rows = DerivedRows((BIGINT,), TextDictionary(), lambda store: Arrangement(store, (0,), layout))
        self._rng = np.random.default_rng(7)
        self._keys = keys
        self._there: list[Ints] = []
        self._time = 0
        for first in range(0, keys, _FILL):
            self._do(self._some(min(_FILL, keys - first)), np.empty(0, np.int64))
            steps.tell("filling", first, keys)
        for _ in range(_WARM_UP):
            self._change(100)
        self.took = dict.fromkeys(STEPS, 0.0)
        gc.collect()
        steps.tell("measuring")

    def open_loop(self, asked: Task) -> dict[str, Any]:
        """Changes come at their rate, whether or not those before them are done."""
        tick = asked.tick_ms / 1e3
        changes = max(2, round(asked.rate * tick))
        tick = changes / asked.rate
        waits: list[float] = []
        each: dict[str, list[float]] = {step: [] for step in STEPS}
        begun = perf_counter()
        for number in range(1, int(asked.seconds / tick) + 1):
            due = begun + number * tick
            while perf_counter() < due:
                pass
            took = self._change(changes)
            waits.append((perf_counter() - due) * 1e3)
            for step in STEPS:
                each[step].append(took[step] * 1e3)
        steps = {step: quantiles(values) for step, values in each.items()}
        return {"ticks": len(waits), "changes": changes, "quantiles_ms": quantiles(waits), "steps_ms": steps}

    def closed_loop(self, seconds: float) -> dict[str, Any]:
        """Ns a change of each step, batch after batch."""
        changes, found = 10_000, []
        begun = perf_counter()
        while perf_counter() - begun < seconds:
            found.append(self._change(changes))
        return {
            "batches": len(found),
            "steps_ns": {step: quantiles([took[step] / changes * 1e9 for took in found]) for step in STEPS},
        }

    def look_ups(self) -> dict[str, Any]:
        """The ms of looking up so many random keys, half of which are there."""
        found = {}
        for count in _PROBED:
            took = [self._timed(self._probe, self._mixed(count)) for _ in range(_REPEATS)]
            found[str(count)] = quantiles([seconds * 1e3 for seconds in took])
        return {"look_ups_ms": found, "repeats": _REPEATS}

    def _change(self, changes: int) -> dict[str, float]:
        """Half of the changes come and half go; seconds of each step."""
        coming = self._some(changes // 2)
        going = self._oldest(changes - changes // 2)
        return self._do(coming, going)

    def _do(self, coming: Ints, going: Ints) -> dict[str, float]:
        self._time += 1
        probed = self._mixed(len(coming) + len(going))
        values = np.concatenate([coming, going])
        diffs = np.ones(len(values), np.int64)
        diffs[len(coming) :] = -1
        self._rows.mark()
        return {
            "insert": self._timed(self._rows.apply, delta_of([Column(values)], self._time, diffs)),
            "probe": self._timed(self._probe, probed),
            "seal": self._timed(self._rows.seal, self._time + 1, self._time),
        }

    def _probe(self, keys: Ints) -> None:
        self._rows.arranged.probe(keys, None, self._time, True)

    def _timed(self, act: Callable[..., object], *arguments: object) -> float:
        started = perf_counter()
        act(*arguments)
        return perf_counter() - started

    def _some(self, count: int) -> Ints:
        """Identifiers that come."""
        keys = self._rng.integers(0, 2 * self._keys, count)
        self._there.append(keys)
        return keys

    def _oldest(self, count: int) -> Ints:
        """Identifiers that go."""
        gone: list[Ints] = []
        while count:
            first = self._there[0]
            gone.append(first[:count])
            count -= len(gone[-1])
            self._there[0] = first[len(gone[-1]) :]
            if len(self._there[0]) == 0:
                self._there.pop(0)
        return np.concatenate(gone)

    def _mixed(self, count: int) -> Ints:
        return self._rng.integers(0, 2 * self._keys, count)


if __name__ == "__main__":
    answer(measure(Task(**task())))
