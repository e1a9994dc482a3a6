"""Removal of what no version needs any more: the last two snapshots of each shard are kept, and what came after."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ivm.catalog.errors import StorageError
from ivm.cluster.files.feeds import feeds_under
from ivm.cluster.files.files import Files
from ivm.cluster.files.logs import LOGS
from ivm.cluster.files.snapshots import pages_under, pieces_under, read_snapshot
from ivm.cluster.files.versions import COMMITS, NAMES, WHATS, Version, number_of
from ivm.storage.agreement import bids_under

KEPT = 2
"""So many snapshots of each shard are kept, so that one that cannot be read is made up for by the one before."""


class _Old(NamedTuple):
    """What of a shard is needed no more: pages of snapshots, and pieces. `since`: from when on all is kept."""

    since: int = 0
    pages: Sequence[str] = ()
    pieces: Sequence[str] = ()


def clean(files: Files, newest: Version) -> int:
    """Remove files that no shard needs from `newest` on; the version since when all is kept.

    Called again it goes on with what could not be removed. Whoever works with the same folder may go on meanwhile.
    If the version that is returned stays behind, snapshots cannot be written. Cost: three lists for each shard, and
    a few files; a call for each file that goes, and one for its bids for each page.
    """
    shards = range(newest.shards)
    old = files.each(lambda shard: _old(files, shard, newest.version), shards)
    files.remove_all([name for each in old for name in each.pages])
    files.remove_all([name for each in old for name in each.pieces])
    oldest = min((each.since for each in old), default=0)
    if oldest:
        _remove_pages(files, oldest, {newest.version, newest.defined})
        files.remove_all(_before(files, WHATS, oldest))
        files.remove_all(_before(files, NAMES, oldest, () if newest.names is None else {number_of(newest.names.file)}))
        files.remove_all(_before(files, LOGS, oldest + 1))
        left = frozenset(map(number_of, files.names(COMMITS)))  # of a page that is there all can be read
        told = files.each(lambda shard: _before(files, feeds_under(shard), oldest, left), shards)
        files.remove_all([name for each in told for name in each])
    return oldest


def _old(files: Files, shard: int, upto: int) -> _Old:
    """What is needed no more of a shard at a version."""
    pages = [name for name in files.names(pages_under(shard)) if number_of(name) <= upto]
    pieces = files.names(pieces_under(shard))
    oldest, needed = _kept(files, pages, frozenset(pieces))
    if not oldest:
        return _Old()
    # A piece that no snapshot names yet may belong to one that is being written, whose version is in its name.
    gone = [] if needed is None else [name for name in pieces if number_of(name) < oldest and name not in needed]
    return _Old(oldest, [name for name in pages if number_of(name) < oldest], gone)


def _kept(files: Files, pages: Sequence[str], there: frozenset[str]) -> tuple[int, set[str] | None]:
    """The older of the last two versions that have a snapshot whose files are all there; 0 if there are not two.

    And the files that snapshots from there on name; None if one cannot be read now, since it may be whole all the same.
    """
    kept, needed, are_known = set[int](), set[str](), True
    for name in reversed(pages):
        if len(kept) == KEPT and number_of(name) not in kept:
            break
        try:
            snapshot = read_snapshot(files, name)
        except StorageError:
            are_known = False
            continue
        named = {piece.file for piece in snapshot.files}
        needed |= named
        if named <= there:
            kept.add(snapshot.version)
    return (min(kept) if len(kept) == KEPT else 0), needed if are_known else None


def _remove_pages(files: Files, version: int, but: Collection[int]) -> None:
    """Remove the pages of versions before this one. Bids go first: those of a page that is gone nobody finds."""
    pages = [name for name in _before(files, COMMITS, version) if number_of(name) not in but]
    files.remove_all(without_bids(files, pages))


def without_bids(files: Files, pages: Sequence[str]) -> list[str]:
    """Those pages of which no bids are left. Cost: a call for each page."""
    return [page for page, is_done in zip(pages, files.remove_under([*map(bids_under, pages)]), strict=True) if is_done]


def _before(files: Files, under: str, version: int, but: Collection[int] = ()) -> list[str]:
    """The files of versions before this one."""
    return [name for name in files.names(under) if number_of(name) < version and number_of(name) not in but]
