"""What is remembered of the last commits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

MOST = 10_000


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """One physical commit: its last logical time, how many changes it brought, how long it took."""

    time: int
    updates: int
    millis: float


class Commits:
    """The last 10,000 commits, oldest first. Size: 240 kB, and no object for each that a collector would look at."""

    def __init__(self) -> None:
        self._numbers = np.zeros((MOST, 2), np.int64)
        self._millis = np.zeros(MOST, np.float64)
        self._count = 0

    def add(self, time: int, updates: int, millis: float) -> None:
        """One more; nothing happens if it was the last one added."""
        if self._count and self._numbers[(self._count - 1) % MOST, 0] == time:
            return
        place = self._count % MOST
        self._numbers[place] = time, updates
        self._millis[place] = millis
        self._count += 1

    def __iter__(self) -> Iterator[CommitRecord]:
        for number in range(max(0, self._count - MOST), self._count):
            time, updates = self._numbers[number % MOST].tolist()
            yield CommitRecord(time, updates, float(self._millis[number % MOST]))
