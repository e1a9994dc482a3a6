"""Names of those who listen: what each has acknowledged, which outlives whoever listens by it, and the process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from weakref import ref

from ivm.catalog.errors import BindError
from ivm.subscriptions.subscription import Subscription

NOTHING = (1 << 62) - 1
"""The time since which changes are kept for a name that needs none."""


@dataclass(slots=True)
class Named:
    """What there is of a name.

    `view`, `chosen`: what is listened to by it; `of`: the number of what the view was when it was acknowledged last.
    `time`: what has been acknowledged; -1 before anything was, so that all rows are to come first. `keep`: so many
    changes are kept that were not acknowledged. `since`: after this time changes are kept. `is_over`: they were more.
    """

    view: str
    chosen: str
    of: int
    time: int
    keep: int
    since: int = NOTHING
    is_over: bool = False
    _listener: Callable[[], Subscription | None] = field(default=lambda: None, compare=False, repr=False)

    @property
    def listener(self) -> Subscription | None:
        """Who listens by it, if anybody does."""
        return self._listener()

    def is_listened_by(self, each: Subscription) -> None:
        """It is this one from now on who listens, and acknowledges."""
        self._listener = ref(each)


Write = Callable[[Callable[[], Mapping[str, Named]], Callable[[], None]], None]
"""Writes down all that the first gives, and calls the second once that is certain, by which it takes effect."""


class Names:
    """All names of a database. Any thread may call, who has `turn` where it is said.

    What changes is written down first, if there is something to write it, and takes effect then.
    """

    def __init__(self) -> None:
        self.turn = threading.RLock()
        """Who has it is alone in changing names; to be had before the lock of commits, and after that of definitions.
        """
        self.replaced: dict[str, int] = {}
        """The time at which another view has taken the place of the one of a name."""
        self._of: dict[str, Named] = {}
        self._write: Write | None = None
        self.is_ahead = False
        """Whether something is so that was not written."""
        self._is_opening = False

    def begin(self, there: Mapping[str, Named]) -> None:
        """These there are, by which nobody listens yet."""
        self._of, self._is_opening = dict(there), True
        for each in there.values():
            each.since = NOTHING if each.time < 0 else each.time

    def write_by(self, write: Write) -> None:
        """From now on `write` writes them down, and returns when that is certain."""
        self._write, self._is_opening = write, False

    def __bool__(self) -> bool:
        return bool(self._of)

    def get(self, name: str) -> Named | None:
        """What there is of a name, if anything."""
        return self._of.get(name)

    def each(self) -> list[tuple[str, Named]]:
        """All of them."""
        return list(self._of.items())

    def of_view(self, view: str) -> tuple[Named, ...]:
        """Those by which somebody listens to a view, or did, and may again."""
        return tuple(each for each in list(self._of.values()) if each.view == view)

    def put(self, name: str, named: Named) -> None:
        """There is this name from now on; the caller has `turn`. StorageError if it cannot be written."""
        self._written(lambda: {**self._of, name: named})

    def acknowledge(self, name: str, time: int, of: int) -> None:
        """All up to a time has been carried out by whoever listens; the caller has `turn`. StorageError as above."""
        named = self._of[name]

        def become() -> None:
            named.time, named.of, named.since, named.is_over = time, of, time, False

        if self._write is None:
            become()
        else:
            self._write(lambda: {**self._of, name: replace(named, time=time, of=of, since=time)}, become)

    def forget(self, name: str) -> Named:
        """The name is no more; the caller has `turn`. BindError if there is none; StorageError as above."""
        named = self._of.get(name)
        if named is None:
            raise BindError(f"cannot forget subscription {name!r}: nobody has subscribed by this name")
        self._written(lambda: {key: each for key, each in self._of.items() if key != name})
        named.since = NOTHING
        return named

    def rename(self, view: str, name: str) -> None:
        """The view is called so from now on. It cannot fail; it is written down with what comes next, or at the end."""
        for each in self.of_view(view):
            each.view, self.is_ahead = name, True

    def replace(self, view: str, time: int) -> None:
        """The view was dropped, or another has its place, after the commit of a time. It cannot fail; see `rename`.

        Whoever has taken all by then may acknowledge it; of those who come back later, nobody was told the difference.
        """
        self.replaced[view] = time
        if not self._is_opening:  # what was acknowledged since is known
            for each in self.of_view(view):
                each.of, self.is_ahead = 0, True

    def close(self) -> None:
        """Write down what is not yet; nothing is written after that. StorageError if that fails."""
        with self.turn:
            write, self._write = self._write, None
            if write is not None and self.is_ahead:
                write(lambda: self._of, self.are_written)

    def are_written(self) -> None:
        """All that is so has been written."""
        self.is_ahead = False

    def fork(self) -> None:
        """In a process that was forked: no other thread is here."""
        self.turn = threading.RLock()

    def _written(self, names: Callable[[], dict[str, Named]]) -> None:
        def become() -> None:
            self._of, self.is_ahead = names(), False

        if self._write is None:
            become()
        else:
            self._write(names, become)
