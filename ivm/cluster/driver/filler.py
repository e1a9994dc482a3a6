"""How a driver fills a view while others commit: one step after the other, each published as a version of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.catalog.names import key
from ivm.cluster.planning.reading import ShardedView
from ivm.cluster.protocol import orders
from ivm.cluster.protocol.questions import Question
from ivm.cluster.shard.filling import Done
from ivm.engine.installing import Pause, Progress

_AGAIN = 3
"""So many times as many rows as are expected are read before shards are not waited for any more."""


class Pace(NamedTuple):
    """How much is done at once while others wait: rows that each shard sends, and milliseconds of its own work.

    `least`: a view that reads no more rows is filled in one go.
    """

    least: int
    rows: int
    millis: int


class Carries(Protocol):
    """What a driver does to fill a view."""

    def carry(self, what: bytes, levels: int, *, filling: bool) -> None:
        """Publish an order that changes no row."""
        ...

    def ask(self, question: Question) -> Sequence[pa.Table]:
        """What each shard answers now."""
        ...


@dataclass
class Filler:
    """Fills `view`, whose tables and views have so many `rows`."""

    driver: Carries
    view: ShardedView
    rows: float
    pace: Pace

    def __post_init__(self) -> None:
        self._read = 0
        self._expected = round(self.rows + sum(channel.rows for channel in self.view.distributed.channels))

    def fill(self, pause: Pause) -> None:
        """Do all but the definition itself, which is to follow. `pause` is called between any two steps.

        Raises what filling raises; then the view is to be cancelled.
        """
        named = Catalog()
        named.content = {key(self.view.definition.name): self.view.definition}
        begun = orders.Definition.between(Catalog(), named, 0).planned(self.view.sizes)
        self.driver.carry(begun.at(orders.Extent.BEGUN).text(), 1, filling=True)
        for step, levels in self._steps(pause):
            self.driver.carry(step.text(), levels, filling=True)
            self._pause(pause)

    def _steps(self, pause: Pause) -> Iterator[tuple[orders.Filling, int]]:
        """Each step with its levels. What needs no other shard is done before it is given."""
        for level in sorted({channel.level for channel in self.view.distributed.channels}):
            self._work(pause)
            yield orders.Filling(orders.Step.CUT, level), 1
            of = _parts(self._work(pause), self.pace.rows)
            for part in range(of):
                yield orders.Filling(orders.Step.PART, level, part, of), 2
        self._work(pause)

    def _work(self, pause: Pause) -> int:
        """Let shards work until they need each other; how many rows that has the most is to send.

        What a shard has done is lost where it moves: after a while the next step does what is left.
        """
        most = self._read + _AGAIN * self._expected
        while True:
            answers = self.driver.ask(Question("fill", millis=self.pace.millis))
            done = [Done(*each.to_pylist()[0].values()) for each in answers]
            self._read += sum(each.rows for each in done)
            self._pause(pause)
            if all(each.is_over for each in done) or self._read > most:
                return max(each.held for each in done)

    def _pause(self, pause: Pause) -> None:
        progress: Callable[[], Progress] = self._progress
        pause(progress)

    def _progress(self) -> Progress:
        return Progress(self.view.definition.name, self._read, max(self._read, self._expected))


def _parts(rows: int, most: int) -> int:
    """A power of two: in how many parts of at most so many rows these are, if they are all alike."""
    return 1 << max(0, (rows - 1) // most).bit_length()
