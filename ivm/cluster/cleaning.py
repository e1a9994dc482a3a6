"""Removal of what no version needs any more: the last two snapshots of each shard are kept, and what came after."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from catalog.errors import StorageError
from ivm.cluster.feeds import feeds_under
from ivm.cluster.files import Files
from ivm.cluster.logs import LOGS
from ivm.cluster.snapshots import pages_under, pieces_under, read_snapshot
from ivm.cluster.versions import COMMITS, WHATS, Version, number_of
from ivm.storage.agreement import bids_under

KEPT = 2
"""So many snapshots of each shard are kept, so that one that cannot be read is made up for by the one before."""


def clean(files: Files, newest: Version) -> int:
    """Remove files that no shard needs from `newest` on; the version since when all is kept.

    Called again it goes on with what could not be removed. Whoever works with the same folder may go on meanwhile.
    If the version that is returned stays behind, snapshots cannot be written. Cost: four lists for each shard, and
    a few files.
    """
    since = [_clean_shard(files, shard, newest.version) for shard in range(newest.shards)]
    oldest = min(since, default=0)
    for name in _remove_before(files, COMMITS, oldest, {newest.version, newest.defined}):
        files.remove(files.names(bids_under(name)))
    _remove_before(files, WHATS, oldest, set())
    left = frozenset(map(number_of, files.names(COMMITS)))  # of a page that is there all can be read
    for shard in range(newest.shards if oldest else 0):
        _remove_before(files, feeds_under(shard), oldest, left)
    return oldest


def _clean_shard(files: Files, shard: int, upto: int) -> int:
    """Remove a shard's files; the version from which on it can be made."""
    pages = [name for name in files.names(pages_under(shard)) if number_of(name) <= upto]
    pieces = files.names(pieces_under(shard))
    oldest = _oldest_kept(files, pages, frozenset(pieces))
    if not oldest:
        return 0
    needed = _needed(files, [name for name in pages if number_of(name) >= oldest])
    files.remove([name for name in pages if number_of(name) < oldest])
    if needed is not None:
        # One that no snapshot names yet may belong to one that is being written, whose version is in its name.
        files.remove([name for name in pieces if number_of(name) < oldest and name not in needed])
    files.remove([name for name in files.names(f"{LOGS}/{shard}") if number_of(name) <= oldest])
    return oldest


def _oldest_kept(files: Files, pages: Sequence[str], there: frozenset[str]) -> int:
    """The older of the last two versions that have a snapshot whose files are all there; 0 if there are not two."""
    kept: set[int] = set()
    for name in reversed(pages):
        try:
            snapshot = read_snapshot(files, name)
        except StorageError:
            continue
        if all(piece.file in there for piece in snapshot.files):
            kept.add(snapshot.version)
        if len(kept) == KEPT:
            return min(kept)
    return 0


def _needed(files: Files, pages: Sequence[str]) -> frozenset[str] | None:
    """The pieces that these pages name; None if one cannot be read now, since it may be whole all the same."""
    try:
        return frozenset(piece.file for name in pages for piece in read_snapshot(files, name).files)
    except StorageError:
        return None


def _remove_before(files: Files, under: str, version: int, but: Collection[int]) -> list[str]:
    """Remove the files of versions before this one, and tell which."""
    names = [name for name in files.names(under) if number_of(name) < version and number_of(name) not in but]
    files.remove(names)
    return names
