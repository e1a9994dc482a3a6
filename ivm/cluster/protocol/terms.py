"""What a driver, its tasks and their shards say to each other: plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ivm.catalog import errors
from ivm.durable.files import Files
from ivm.storage.storage import Readable
from ivm.storage.stored import Stored


class Superseded(errors.StorageError):
    """Another driver has published a version in the meantime: what this one does is of no use any more."""


class Unlike(errors.Error):
    """Rows are not what they seemed to be: they have to be read in another way. No user sees it."""


class Group(NamedTuple):
    """Shards that one task takes through a level: those whose number modulo `of`, the number of groups, is `number`."""

    number: int
    of: int

    def shards(self, count: int) -> range:
        """Those of so many that are in it."""
        return range(self.number, count, self.of)

    def has(self, shard: int) -> bool:
        """Whether a shard is in it."""
        return shard % self.of == self.number


class Message(NamedTuple):
    """What one group of shards says to another, by its number, at the next level."""

    to: int
    payload: bytes


Inputs = Mapping[int, Sequence[Any]]
"""What each shard is given at a level, as it understands it; those that nothing is for may be missing."""


class Exchange(NamedTuple):
    """How what shards say becomes messages, and these what shards are given.

    `messages(said, shards, groups)`: all that shards of a group say, as one message at most for each of so many groups.
    `inputs(payloads)`: what these have for each shard.
    """

    messages: Callable[[Sequence[Any], int, int], list[Message]]
    inputs: Callable[[Sequence[bytes]], Inputs]


class Order(NamedTuple):
    """What a driver wants of all shards: to make a version.

    `id` is drawn anew for each try of a version, `published` that of the version before; `what` is a commit, or a
    definition, as the shards understand it; `levels` and `shards` are how many there are.
    """

    version: int
    id: str
    published: str
    what: bytes
    levels: int
    shards: int


class Failure(NamedTuple):
    """An error of the user's: the name of its class in `ivm.catalog.errors`, and what it says."""

    kind: str
    message: str

    def error(self) -> errors.Error:
        """The error that it was."""
        kind = getattr(errors, self.kind, errors.Error)
        return kind(self.message)


class Log(NamedTuple):
    """What the shards of a group were given at a level."""

    group: Group
    level: int
    stored: Stored


class Feed(NamedTuple):
    """What has changed of a followed view at a shard, in a file; see `ivm.cluster.files.feeds`.

    `view`: its mark, which no other view has. `is_apart`: whether equal rows of it are at one shard.
    """

    view: str
    shard: int
    is_apart: bool
    stored: Stored


class Unwritten(NamedTuple):
    """The same before it is written, in pieces that are to be files; another thread reads them, later."""

    view: str
    is_apart: bool
    pieces: Iterator[bytes]


class Status(NamedTuple):
    """How a group has fared up to a level: its logs and feeds of this version so far; what it, or another, failed by.

    That of the last level says all that the driver needs.
    """

    group: Group
    level: int
    logs: tuple[Log, ...]
    failure: Failure | None = None
    feeds: tuple[Feed, ...] = ()

    @classmethod
    def of(cls, plain: Sequence[Any]) -> Status:
        """The status that JSON made lists of."""
        group, level, logs, failure, feeds = plain
        return cls(
            Group(*group),
            level,
            tuple(Log(Group(*whose), at, Stored(*stored)) for whose, at, stored in logs),
            None if failure is None else Failure(*failure),
            tuple(Feed(view, number, is_apart, Stored(*stored)) for view, number, is_apart, stored in feeds),
        )


class Saving(Protocol):
    """What a shard had at a moment, which another thread writes down, later."""

    def write(self, files: Files, base: str) -> tuple[bytes, Sequence[Stored]]:
        """Write files, as far as the snapshot that is called `base` does not have them: a head, by which a shard loads
        itself, and all files that this names. "": none is to be used again. StorageError if that is not possible.
        """
        ...

    def written(self, name: str) -> None:
        """There is a snapshot of this now, which is called so."""
        ...


class Shard(Protocol):
    """The state of a part of the data. One thread at a time uses it."""

    def step(self, order: Order, level: int, inputs: Sequence[Any]) -> Sequence[Any]:
        """Go through a level, tentatively. Error: something is wrong with what the user asked for.

        What is said to each shard, as an `Exchange` takes it, follows from what is here and from `inputs`, whatever
        the order of these.
        """
        ...

    def tell(self, order: Order, level: int) -> Sequence[Unwritten]:
        """What the level that was gone through last has changed in views that are followed."""
        ...

    def undo(self) -> None:
        """Undo everything since the last `keep`. It cannot fail, and it may be called again."""
        ...

    def keep(self) -> None:
        """What was stepped is final. It cannot fail, and it may be called again."""
        ...

    def save(self) -> Saving | None:
        """All that is here, as it is when this is called.

        None while something is under way that goes on over several versions: then it is made from older ones.
        """
        ...

    def hold(self) -> Sequence[Unwritten]:
        """All that is in views that are followed, as it is when this is called, by which these are known."""
        ...

    def load(self, head: bytes, place: Readable, name: str) -> None:
        """Be what was saved, as a head says, whose files are there, as a snapshot that is called so. It is called once,
        of a shard that is new.
        """
        ...


def raise_failure(statuses: Iterable[Status]) -> None:
    """Raise the user's error, if a shard has failed by one."""
    failed = next((each.failure for each in statuses if each.failure is not None), None)
    if failed is not None:
        raise failed.error()
