"""Snapshots: all that a shard has at a version, as pieces in files, and a page that names them.

A piece is called by its contents, so one that the last snapshot but one has is not written again. The last one has none
in common with the next, so that a file that is damaged does not take both. Snapshots are found by name; nothing else
says that they are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

from ivm.catalog.errors import StorageError
from ivm.cluster.files.files import Files, fresh, page_of
from ivm.cluster.files.versions import number_of
from ivm.cluster.protocol.terms import Stored, Told

_DIGEST = 16


class Snapshot(NamedTuple):
    """A shard as it was at a version, and the id of that. `views`: what is in followed views, by their marks."""

    name: str
    version: int
    id: str
    pieces: tuple[Stored, ...]
    views: Mapping[str, tuple[Stored, ...]]

    @property
    def files(self) -> Iterator[Stored]:
        """All that it consists of."""
        return chain(self.pieces, *self.views.values())


def pages_under(shard: int) -> str:
    """Where the pages of a shard's snapshots are."""
    return f"snapshots/{shard}"


def pieces_under(shard: int) -> str:
    """Where the pieces of a shard's snapshots are."""
    return f"pieces/{shard}"


def snapshots_of(files: Files, shard: int, upto: int) -> list[str]:
    """The pages of a shard's snapshots of a version or one before, newest first. Cost: a list."""
    return [name for name in reversed(files.names(pages_under(shard))) if number_of(name) <= upto]


def read_snapshot(files: Files, name: str) -> Snapshot:
    """What a snapshot consists of. StorageError if that cannot be read."""
    plain = files.read_page(name)
    try:
        views = {view: _all_stored(each) for view, each in plain.get("views", {}).items()}
        return Snapshot(name, number_of(name), plain["id"], _all_stored(plain["pieces"]), views)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"cannot read {files.where(name)}: it was not written by ivm: {error!r}; restore it from a backup"
        ) from error


def read_pieces(files: Files, snapshot: Snapshot) -> Iterator[bytes]:
    """The pieces of a snapshot, each read and checked when it is asked for."""
    return (files.read(each) for each in snapshot.pieces)


def write_snapshot(
    files: Files, shard: int, version: int, id: str, pieces: Iterable[bytes], held: Iterable[Told] = ()
) -> None:
    """A snapshot of a shard at a version. Cost: a sum of each piece, and those are written that cannot be used again.

    Pieces are called by the version for which they were written first: one of a version that is not kept, and that
    no snapshot that is kept names, can be removed, whoever is writing.
    """
    known = _reusable(files, shard, version)

    def stored(piece: bytes) -> Stored:
        digest = blake2b(piece, digest_size=_DIGEST).hexdigest()
        if digest not in known:
            known[digest] = files.write(f"{pieces_under(shard)}/{version:020}.{fresh()}.{digest}", piece)
        return known[digest]

    page: dict[str, Any] = {"id": id, "pieces": [*map(stored, pieces)]}
    views = {each.view: [*map(stored, each.pieces)] for each in held}
    files.write(f"{pages_under(shard)}/{version:020}.{fresh()}", page_of(page | ({"views": views} if views else {})))


def _reusable(files: Files, shard: int, version: int) -> dict[str, Stored]:
    """By their digests, the pieces of the last snapshot but one; none of those that the last one has."""
    there = frozenset(files.names(pieces_under(shard)))
    last: list[Snapshot] = []
    for name in snapshots_of(files, shard, version):
        try:
            snapshot = read_snapshot(files, name)
        except StorageError:  # which pieces it has nobody knows, and it may be whole all the same
            return {}
        if not last or snapshot.version == last[0].version:
            last.append(snapshot)
            continue
        there -= {piece.file for each in last for piece in each.files}
        return {each.file.rpartition(".")[2]: each for each in snapshot.files if each.file in there}
    return {}


def _all_stored(plain: Iterable[Any]) -> tuple[Stored, ...]:
    return tuple(Stored(*each) for each in plain)
