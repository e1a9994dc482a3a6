"""Snapshots: all that a shard has at a version, as a checkpoint has it, in pieces: files, and a page that names them.

What the last snapshot but one has is not written again. The last one has no file in common with the next, so that one
that is damaged does not take both. Snapshots are found by name; nothing else says that they are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from ivm.catalog.errors import StorageError
from ivm.cluster.files.files import PAGE, Files, fresh
from ivm.cluster.files.versions import number_of
from ivm.cluster.protocol.terms import Saving, Unwritten
from ivm.durable import files as checkpoints
from ivm.storage.stored import Stored


class Snapshot(NamedTuple):
    """A shard as it was at a version, and the id of that. The first of its `pieces` is the head, by which a shard loads
    itself from the others. `views`: what is in followed views, by their marks.
    """

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

    def snapshot_of(plain: Any) -> Snapshot:
        views = {view: _all_stored(each) for view, each in plain.get("views", {}).items()}
        return Snapshot(name, number_of(name), plain["id"], _all_stored(plain["pieces"]), views)

    return PAGE.read(files, name, snapshot_of)


def write_snapshot(
    files: Files, shard: int, version: int, id: str, saving: Saving, held: Iterable[Unwritten] = ()
) -> None:
    """A snapshot of a shard at a version. Cost: that of what cannot be used again of the last one but one.

    Pieces are called by the version for which they were written first: one of a version that is not kept, and that
    no snapshot that is kept names, can be removed, whoever is writing.
    """
    under, name = pieces_under(shard), f"{version:020}.{fresh()}"
    base = _reusable(files, shard, version)
    head, named = saving.write(checkpoints.Files(files.within(under), 1, f"{name}."), base)
    pieces = [files.write(f"{under}/{name}.head", head)]
    pieces += [each._replace(file=f"{under}/{each.file}") for each in named]
    page: dict[str, Any] = {"id": id, "pieces": pieces}
    views = {
        each.view: [files.write(f"{under}/{name}.view-{fresh()}", piece) for piece in each.pieces] for each in held
    }
    page_name = f"{pages_under(shard)}/{name}"
    files.write(page_name, PAGE.page(page | ({"views": views} if views else {})))
    saving.written(page_name)


def _reusable(files: Files, shard: int, version: int) -> str:
    """The page of the last snapshot but one, if all its files are there, and the last one has none of them; or ""."""
    there = frozenset(files.names(pieces_under(shard)))
    last: list[Snapshot] = []
    for name in snapshots_of(files, shard, version):
        try:
            snapshot = read_snapshot(files, name)
        except StorageError:  # which pieces it has nobody knows, and it may be whole all the same
            return ""
        if not last or snapshot.version == last[0].version:
            last.append(snapshot)
            continue
        left = there - {piece.file for each in last for piece in each.files}
        return name if left.issuperset(piece.file for piece in snapshot.pieces) else ""
    return ""


def _all_stored(plain: Iterable[Any]) -> tuple[Stored, ...]:
    return tuple(Stored(*each) for each in plain)
