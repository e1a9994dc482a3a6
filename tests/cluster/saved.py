"""What shards save, in a folder in memory."""

from __future__ import annotations

from collections.abc import Callable

from ivm.cluster.files.files import Files
from ivm.cluster.files.snapshots import pieces_under, read_snapshot, snapshots_of, write_snapshot
from ivm.cluster.protocol.terms import Shard
from tests.cluster.memory import MemoryFolder

Head = Callable[[bytes], bytes]


def loaded_from(old: Shard, new: Shard, folder: MemoryFolder | None = None, head: Head = lambda head: head) -> None:
    """Let a new shard be another, by a snapshot that is written to a folder; of which the head may be another."""
    files, saving = Files(folder or MemoryFolder(), ()), old.save()
    assert saving is not None
    version = len(files.names("snapshots/0")) + 1
    write_snapshot(files, 0, version, "a", saving)
    snapshot = read_snapshot(files, snapshots_of(files, 0, version)[0])
    new.load(head(files.bytes_of(snapshot.pieces[0])), files.within(pieces_under(0)), snapshot.name)
