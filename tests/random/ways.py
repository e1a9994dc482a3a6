"""How a case is run: what no result may depend on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

from ivm.cluster.driver.filler import Pace
from ivm.cluster.driver.transport import InProcess
from tests.engine.chunks import chunks_of, sizes_from
from tests.random.places import Connect, Directory, Place


class Ways:
    """A function of `seed`: sizes of chunks, whether estimates are used, sharing, orders of views, Arrow layouts, how
    many rows shards send at once to fill a view, and where the database with the late views is.

    `meanwhile`: how many batches come while the late views are installed. With seed 0 all is as it is without it.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        rng = self.rng = Random(seed)
        self._chunk = rng.choice((1, 2, 3, 5, 9, 0)) if seed else 0
        self._sizes = rng.choice((0, 1, 8, 0)) if seed else 0
        self.sharing = not seed or rng.random() < 0.7
        self.meanwhile = rng.choice((0, 1, 1, 2)) if seed else 0
        self._sent = rng.choice((1, 2, 7, 0)) if seed else 0
        self._where = rng.choice(("memory", "memory", "directory", 2, 3)) if seed else "memory"

    @contextmanager
    def sized(self) -> Iterator[None]:
        """Within, chunks and estimates are as this way has them."""
        with (
            chunks_of(self._chunk) if self._chunk else nullcontext(),
            sizes_from(self._sizes) if self._sizes else nullcontext(),
            patch.object(InProcess, "pace", Pace(0, self._sent, 0)) if self._sent else nullcontext(),
        ):
            yield

    @contextmanager
    def place(self, connect: Connect) -> Iterator[Place]:
        """Where the database with the late views is, within."""
        match self._where:
            case "directory":
                with TemporaryDirectory() as folder:
                    yield Directory(connect, Path(folder), self.rng)
            case int(shards):
                yield Place(partial(connect, shards=shards))
            case _:
                yield Place(connect)

    def renewed(self) -> bool:
        """Whether the late views are now dropped and created again, over the rows that are there."""
        return bool(self.seed) and self.rng.random() < 0.3

    def order(self, views: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """The views in some order in which they can be created: each behind those that it reads."""
        if not self.seed:
            return list(views)
        left, order = list(views), list[tuple[str, str]]()
        while left:
            ready = [view for at, view in enumerate(left) if not any(_reads(view, other) for other in left[:at])]
            order.append(self.rng.choice(ready))
            left.remove(order[-1])
        return order

    def pauses(self, count: int) -> set[int]:
        """The numbers of so many pauses, the later the rarer, in which a batch is applied."""
        found: set[int] = set()
        while len(found) < count:
            found.add(int(2 ** (8 * self.rng.random())) - 1)
        return found


def _reads(view: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether the text names the other view, or seems to."""
    return other[0].replace('"', '""').lower() in view[1].lower()
