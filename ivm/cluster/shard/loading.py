"""How a copy of a shard comes to be as of a version: from memory, a snapshot or nothing, and the logs since."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ivm.catalog.errors import Error, StorageError
from ivm.cluster.files.files import Files, pieces_of
from ivm.cluster.files.logs import in_full
from ivm.cluster.files.snapshots import pieces_under, read_snapshot, snapshots_of
from ivm.cluster.files.versions import COMMITS, Versions, number_of
from ivm.cluster.protocol.terms import Inputs, Order, Shard, Superseded
from ivm.cluster.shard.copy import Copy
from ivm.storage.stored import Stored

Base = tuple[int, str]
"""The number and the id of a version that was published."""
Read = Callable[[Sequence[bytes]], Inputs]
"""What messages have for each shard; see `Exchange.inputs`."""
Tell = Callable[[int, int], None]


def follow(versions: Versions, read: Read, copy: Copy, shard: int, base: Base, most: int) -> bool:
    """Let a copy be made from this version, by what it has and at most `most` versions' logs; whether it is."""
    if copy.is_through(base):
        copy.keep()
    if copy.base == base:
        return True
    if base[0] - copy.base[0] > most:
        return False
    try:
        _replay_upto(versions, read, copy, shard, base, lambda done, of: None)
    except StorageError:
        return False
    return True


def load(
    versions: Versions, read: Read, make: Callable[[int], Shard], shard: int, base: Base,
    tell: Tell = lambda done, of: None,
) -> Copy:  # fmt: skip
    """A new copy, made from this version. Superseded if it is not one that was published.

    `tell`: how many versions since a snapshot it has gone through, of how many. The newest
    snapshot is taken that can be read with all logs since. StorageError says which files cannot be.
    """
    if versions.at(base[0]).id != base[1]:
        raise Superseded(
            f"cannot load shard {shard} at version {base[0]}: it was published by another driver; open the database "
            "anew"
        )
    names = snapshots_of(versions.files, shard, base[0])
    while True:
        errors = []
        for name in (*names, None):
            try:
                copy = _begun(versions, make(shard), shard, name)
                _replay_upto(versions, read, copy, shard, base, tell)
            except StorageError as error:
                errors.append(str(error))
            else:
                return copy
        tried, names = names, snapshots_of(versions.files, shard, base[0])
        if names == tried:  # otherwise some were removed meanwhile, since there are newer ones
            raise StorageError(f"cannot load shard {shard} at version {base[0]}: " + "; and: ".join(errors))


def replay(
    files: Files, read: Read, copy: Copy, shard: int, order: Order, logs: Mapping[int, Stored], upto: int
) -> None:
    """Go through the levels of an order that a copy of a shard has not gone through, up to one, by the logs of a group.

    Cost: what the whole group was given is read.
    """
    for level in range(copy.done(order) + 1, upto + 1):
        payloads = in_full(files, pieces_of(files.bytes_of(logs[level]))) if level in logs else []
        inputs = read(payloads).get(shard, ())
        try:
            copy.step(order, level, inputs)
        except StorageError:
            raise
        except Error as error:
            raise StorageError(
                f"cannot go through version {order.version} again: {error}; use the same release of ivm on all "
                "machines, with as much memory as there was"
            ) from error


def _begun(versions: Versions, shard: Shard, number: int, name: str | None) -> Copy:
    """A copy from a snapshot, or from nothing."""
    files = versions.files
    if name is not None:
        snapshot = read_snapshot(files, name)
        shard.load(files.bytes_of(snapshot.pieces[0]), files.within(pieces_under(number)), name)
        return Copy(shard, (snapshot.version, snapshot.id))
    first = next(iter(files.names(COMMITS)), None)
    if first is not None and number_of(first) > 1:
        raise StorageError(f"no snapshot of it can be read under {files.where()}, and the first logs are removed")
    return Copy(shard, (0, ""))


def _replay_upto(versions: Versions, read: Read, copy: Copy, shard: int, base: Base, tell: Tell) -> None:
    """Go through the versions that a copy has not gone through. StorageError if they do not lead to `base`."""
    first = copy.base[0]
    for version in versions.between(*copy.base, base[0]):
        order = versions.order_of(version)
        if copy.done(order) < 0:
            copy.undo()
        replay(versions.files, read, copy, shard, order, version.logs_of(shard), version.levels)
        copy.keep()
        tell(version.version - first, base[0] - first)
    if copy.base != base:
        raise StorageError(f"a copy of shard {shard} was made from version {copy.base[0]} of another folder")
