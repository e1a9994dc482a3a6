"""Versions: what a cluster consists of is what `commits/` says, and each version is published there once.

`commits/<version>` names all that belongs to a version: for each group of shards and level the log of what came in. It
is written where nothing has its name yet, and that is the commit; a log that no version names does not count. Of two
drivers that publish the same version one is told that it lost (`Superseded`), and has to stop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, Unpack

from ivm.catalog.errors import StorageError
from ivm.cluster.files.files import PAGE, Files, fresh
from ivm.cluster.protocol.terms import Feed, Group, Log, Order, Status, Superseded
from ivm.storage.stored import Stored

COMMITS = "commits"
PLANS = "plans"
NAMES = "names"
WHATS = "orders"
_INLINE = 1 << 10
"""So many bytes of an order are written into the page of its version; more have a file."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version that was published. What the defaults say is the one before the first, of which there is no page.

    `time`: the last logical time that it has; `what`, `levels`, `shards`: as the order said; `batch`: the source of its
    changes, and which of its batches they are; `batches`: of each source the number of its last batch; `defined`: the
    version that is the last definition of all, or 0; `plans`: in such a version, the files of all definitions, in their
    order; `moved`: where the versions after this one are, which is the last here and changes nothing; see
    `ivm.cluster.files.chains`; `filling`: whether a view is on its way in, which somebody is to go on with, or to
    cancel; `feeds`: what has changed of views that are followed; `again`: whether it only makes again, over other
    shards, what the chain before has; `names`: the order that has said last what was acknowledged by names.
    """

    version: int = 0
    id: str = ""
    previous: str = ""
    time: int = 0
    what: bytes | Stored = b""
    levels: int = 0
    shards: int = 0
    logs: Sequence[Log] = ()
    batch: tuple[str, int] | None = None
    batches: Mapping[str, int] = field(default_factory=dict)
    defined: int = 0
    plans: Sequence[Stored] = ()
    moved: str = ""
    filling: bool = False
    feeds: Sequence[Feed] = ()
    again: bool = False
    names: Stored | None = None

    def logs_of(self, shard: int) -> dict[int, Stored]:
        """By level, what came in at a shard; nothing did at the other levels."""
        return {each.level: each.stored for each in self.logs if each.group.has(shard)}


class More(TypedDict, total=False):
    """What else there is to say of a version: the source of its changes, and which of its batches they are; whether it
    is a definition, after which no view is on its way in; whether one is from now on, None: as before; whether it is
    what names have acknowledged.
    """

    batch: tuple[str, int] | None
    is_definition: bool
    filling: bool | None
    says_names: bool


class Versions:
    """The versions of a cluster. Any thread, of any process, may use it."""

    def __init__(self, files: Files) -> None:
        self.files = files

    def newest(self) -> Version:
        """The last version that was published. Cost: a list and a file."""
        return self.at(self.last())

    def last(self) -> int:
        """The number of the last version that was published; 0 for none. Cost: a list."""
        names = self.files.names(COMMITS)
        return number_of(names[-1]) if names else 0

    def at(self, version: int) -> Version:
        """A version that was published, and not removed since. StorageError if it cannot be read."""
        if version == 0:
            return Version()
        return PAGE.read(self.files, _name(version), _version_of)

    def between(self, version: int, id: str, upto: int) -> Iterator[Version]:
        """The versions after the one of this number and id, up to another. StorageError if one does not follow."""
        previous = id
        for number in range(version + 1, upto + 1):
            found = self.at(number)
            if found.previous != previous:
                raise StorageError(
                    f"cannot read {self.files.where(_name(number))}: it does not follow version {number - 1}; restore "
                    "the whole folder from one backup"
                )
            yield found
            previous = found.id

    def order_of(self, version: Version) -> Order:
        """What the driver wanted when it made a version that was published."""
        what = self.files.bytes_of(version.what) if isinstance(version.what, Stored) else version.what
        return Order(version.version, version.id, version.previous, what, version.levels, version.shards)

    def definitions(self, version: Version) -> list[bytes]:
        """What was published as definitions up to a version, in that order. Cost: a file for each."""
        defined = version if version.version == version.defined else self.at(version.defined)
        return [self.files.bytes_of(each) for each in defined.plans]

    def names(self, version: Version) -> bytes:
        """The order that has said last what was acknowledged by names; empty if none has."""
        return b"" if version.names is None else self.files.bytes_of(version.names)

    def publish(
        self, last: Version, order: Order, statuses: Sequence[Status], *, time: int, **more: Unpack[More]
    ) -> Version:
        """Let an order that every shard has gone through be the version after `last`. On return it is, for ever.

        `statuses`: of each shard that of the last level. Superseded: another driver has published a version; nothing is
        published, and whoever opens the folder anew goes on from there. StorageError: nobody knows whether it is;
        whoever opens the folder anew can see.
        """
        version = made(last, order, statuses, time, more)
        is_definition, says_names = more.get("is_definition", False), more.get("says_names", False)
        if is_definition or says_names or len(order.what) > _INLINE:
            folder = PLANS if is_definition else NAMES if says_names else WHATS
            stored = self.files.write(f"{folder}/{order.version:020}.{fresh()}", order.what)
            version = replace(version, what=stored, names=stored if says_names else version.names)
            if is_definition:
                plans = *self._plans(last), stored
                version = replace(version, defined=order.version, plans=plans)
        self._put(version)
        return version

    def move(self, last: Version, to: str) -> None:
        """Let the versions after `last` be elsewhere from now on, for ever; raises as `publish` does."""
        self._put(Version(last.version + 1, fresh(), last.id, last.time, shards=last.shards, moved=to))

    def _put(self, version: Version) -> None:
        """Write the page of a version, which is to be the last one."""
        name = _name(version.version)
        is_ours = self.files.put_new(name, PAGE.page(_plain_of(version)))
        # That of a version that was removed long ago can be written again: then there is a later one.
        is_last = is_ours and max(self.files.names(COMMITS), default=name) <= name
        if not is_last:
            if is_ours:
                self.files.remove(name)
            raise Superseded(
                f"cannot commit: {self.files.where(name)} was written by another driver; one at a time may use a "
                "folder: stop one of them, and open the database anew"
            )

    def _plans(self, last: Version) -> Sequence[Stored]:
        return (last if last.version == last.defined else self.at(last.defined)).plans


def is_published(version: Version, batch: tuple[str, int]) -> bool:
    """Whether a batch of a source is in a version, or in one before it: then it is not to be committed again."""
    return batch[1] <= version.batches.get(batch[0], batch[1] - 1)


def number_of(name: str) -> int:
    """The version that a file is of, by its name."""
    return int(name.rpartition("/")[2][:20])


def _name(version: int) -> str:
    return f"{COMMITS}/{version:020}"


def made(last: Version, order: Order, statuses: Sequence[Status], time: int, more: More) -> Version:
    """The version that an order makes of the one before. ValueError if it does not follow, or is not whole."""
    if (order.version, order.published) != (last.version + 1, last.id):
        raise ValueError(f"{order} does not follow version {last.version} of id {last.id!r}")
    if sorted(shard for each in statuses for shard in each.group.shards(order.shards)) != list(
        range(order.shards)
    ) or any(each.level != order.levels or each.failure is not None for each in statuses):
        raise ValueError(f"not every shard has gone through all levels of version {order.version}")
    batch, filling = more.get("batch"), False if more.get("is_definition") else more.get("filling")
    return Version(
        order.version,
        order.id,
        order.published,
        time,
        order.what,
        order.levels,
        order.shards,
        tuple(sorted(log for each in statuses for log in each.logs)),
        batch,
        last.batches if batch is None else {**last.batches, batch[0]: batch[1]},
        last.defined,
        filling=last.filling if filling is None else filling,
        feeds=tuple(sorted(feed for each in statuses for feed in each.feeds)),
        again=last.again,
        names=last.names,
    )


def _plain_of(version: Version) -> dict[str, Any]:
    what, more = version.what, dict[str, Any]()  # what most have not
    if version.moved:
        more["moved"] = version.moved
    if version.feeds:
        more["feeds"] = [[*each[:-1], *each.stored] for each in version.feeds]
    if version.again:
        more["again"] = True
    if version.names is not None:
        more["names"] = version.names
    return more | {
        "version": version.version,
        "id": version.id,
        "previous": version.previous,
        "time": version.time,
        "what": list(what) if isinstance(what, Stored) else what.hex(),
        "levels": version.levels,
        "shards": version.shards,
        "logs": [[*each.group, each.level, *each.stored] for each in version.logs],
        "batch": version.batch,
        "batches": version.batches,
        "defined": version.defined,
        "plans": version.plans,
        "filling": version.filling,
    }


def _version_of(plain: dict[str, Any]) -> Version:
    what, batch, names = plain["what"], plain["batch"], plain.get("names")
    return Version(
        **{
            **plain,
            "what": bytes.fromhex(what) if isinstance(what, str) else Stored(*what),
            "logs": tuple(
                Log(Group(number, of), level, Stored(*stored)) for number, of, level, *stored in plain["logs"]
            ),
            "batch": None if batch is None else (batch[0], batch[1]),
            "plans": tuple(Stored(*each) for each in plain["plans"]),
            "names": None if names is None else Stored(*names),
            "feeds": tuple(
                Feed(view, shard, is_apart, Stored(*stored))
                for view, shard, is_apart, *stored in plain.get("feeds", ())
            ),
        }
    )
