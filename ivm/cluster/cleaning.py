"""Removal of what no version needs any more: the last two snapshots of each shard are kept, and what came after."""

from __future__ import annotations

from collections.abc import Sequence

from catalog.errors import StorageError
from ivm.cluster.copies import LOGS
from ivm.cluster.files import Files
from ivm.cluster.snapshots import Snapshot, pages_under, pieces_under, read_snapshot
from ivm.cluster.versions import COMMITS, WHATS, Version, number_of
from ivm.storage.agreement import bids_under

KEPT = 2
"""So many snapshots of each shard are kept, so that one that cannot be read is made up for by the one before."""


def clean(files: Files, newest: Version) -> int:
    """Remove files that no shard needs from `newest` on; the version since when all is kept.

    Called again it goes on with what could not be removed. Whoever works with the same folder may go on meanwhile.
    If the version that is returned stays behind, snapshots cannot be written. Cost: three lists for each shard, and
    two files.
    """
    since = [_clean_shard(files, shard, newest.version) for shard in range(newest.shards)]
    oldest = min(since, default=0)
    for name in _remove_before(files, COMMITS, oldest, {newest.version, newest.defined}):
        files.remove(files.names(bids_under(name)))
    _remove_before(files, WHATS, oldest, set())
    return oldest


def _clean_shard(files: Files, shard: int, upto: int) -> int:
    """Remove a shard's files; the version from which on it can be made."""
    pages, pieces = files.names(pages_under(shard)), files.names(pieces_under(shard))
    kept = _kept(files, [name for name in pages if number_of(name) <= upto], frozenset(pieces))
    if len({each.version for each in kept}) < KEPT:
        return 0
    oldest = min(each.version for each in kept)
    needed = {piece.file for each in kept for piece in each.pieces}
    files.remove([name for name in pages if number_of(name) < oldest])
    # One that no snapshot names yet may belong to one that is being written, whose version is in its name.
    files.remove([name for name in pieces if number_of(name) < oldest and name not in needed])
    files.remove([name for name in files.names(f"{LOGS}/{shard}") if number_of(name) <= oldest])
    return oldest


def _kept(files: Files, pages: Sequence[str], there: frozenset[str]) -> list[Snapshot]:
    """The snapshots of the last versions that have one whose files are all there."""
    kept: list[Snapshot] = []
    for name in reversed(pages):
        try:
            snapshot = read_snapshot(files, name)
        except StorageError:
            continue
        if all(piece.file in there for piece in snapshot.pieces):
            kept.append(snapshot)
        if len({each.version for each in kept}) == KEPT:
            break
    return kept


def _remove_before(files: Files, under: str, version: int, but: set[int]) -> list[str]:
    """Remove the files of versions before this one, and tell which."""
    names = [name for name in files.names(under) if number_of(name) < version and number_of(name) not in but]
    files.remove(names)
    return names
