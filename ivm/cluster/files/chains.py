"""Chains: the versions of a cluster over one number of shards. The first is in the root, a later one in a folder there.

A cluster over another number of shards is made as a chain beside the one that it comes from, which is left as it is.
It takes effect when that one has a last version that says where those after it are (`Versions.move`): of all who go on
from a version, to change something or to be over other shards, one is the first, and the others are told so. Before
that nobody knows of a chain but who makes it, and a note, by which it is removed if nothing comes of it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import NamedTuple

from ivm.catalog.errors import StorageError
from ivm.cluster.files.cleaning import without_bids
from ivm.cluster.files.feeds import feeds_under
from ivm.cluster.files.files import Files, fresh
from ivm.cluster.files.logs import LOGS
from ivm.cluster.files.snapshots import pages_under, pieces_under
from ivm.cluster.files.versions import COMMITS, NAMES, PLANS, WHATS, Version, Versions, number_of
from ivm.cluster.protocol.terms import Superseded

NOTES = "rescales"
_FOLDERS = "scaled"
_FIRST = "first"
_NOTE = re.compile(rf"{NOTES}/\d+\.\d+\.\d+\.\w+")


class Chain(NamedTuple):
    """A chain by its name: how many came before it, after which version of the last of these, over how many shards."""

    generation: int
    version: int
    shards: int
    token: str

    @classmethod
    def of(cls, name: str) -> Chain:
        """The one of a name; "" is the first one's. ValueError for anything else."""
        generation, version, shards, token = (name or f"0.0.0.{_FIRST}").split(".")
        return cls(int(generation), int(version), int(shards), token)

    @property
    def name(self) -> str:
        """What it is called; the later one of two is greater."""
        return f"{self.generation:09}.{self.version:020}.{self.shards:09}.{self.token}"


def folder_in(name: str) -> str:
    """Where a chain's files are under the root; "" for the root itself."""
    return f"{_FOLDERS}/{name}" if Chain.of(name).generation else ""


def files_of(root: Files, name: str) -> Files:
    """The files of a chain."""
    return root.within(folder_in(name)) if folder_in(name) else root


def current(root: Files) -> tuple[str, Version]:
    """The name of the chain that has not moved, and its newest version. Cost: three lists and pages at most."""
    name, newest = "", Versions(root).newest()
    while newest.moved:
        name = newest.moved
        newest = Versions(files_of(root, name)).newest()
        if not newest.version:
            raise StorageError(
                f"cannot find any version under {files_of(root, name).where()}, where those after version "
                f"{Chain.of(name).version} are; restore the whole folder from one backup"
            )
    return name, newest


def begin(root: Files, name: str, last: Version, shards: int) -> str:
    """Note that a chain is made beside another, which is at its version `last`; its name."""
    chain = Chain.of(name)
    if name:
        _lead(root, name)
    else:
        root.write(f"{NOTES}/{chain._replace(shards=last.shards).name}", b"")
    new = Chain(chain.generation + 1, last.version, shards, fresh()).name
    root.write(f"{NOTES}/{new}", b"")
    return new


def remove(root: Files, name: str) -> bool:
    """Remove what there is of a chain, but for the page that says where it has moved; whether there was anything."""
    files, shards = files_of(root, name), range(Chain.of(name).shards)
    under = [LOGS, PLANS, WHATS, NAMES]
    under += [each for n in shards for each in (feeds_under(n), pages_under(n), pieces_under(n))]
    pages = files.names(COMMITS)
    there = [each for each, names in zip(under, files.each(files.names, under), strict=True) if names]
    if pages and Versions(files).at(number_of(pages[-1])).moved:
        pages.pop()
    files.remove_under(there)
    files.remove_all(without_bids(files, pages))
    return bool(there or pages)


def clean_left(root: Files) -> None:
    """Remove chains that have moved, and those of which nothing came; whoever still works with them finds out by that.

    Their notes stay until there is another chain again, so that what is on its way is removed when it comes. Cost: a
    list; where there are notes also three lists for each shard of such chains, and the files that go.
    """
    notes = [name for name in root.names(NOTES) if _NOTE.fullmatch(name)]
    if not notes:
        return
    name, newest = current(root)
    if name:
        _lead(root, name)
    live = Chain.of(name)
    for note in notes:
        chain = Chain.of(note.rpartition("/")[2])
        if _is_left(chain, live, newest.version):
            is_empty = not remove(root, chain.name)
            if is_empty and chain.generation + 1 < live.generation:
                root.remove(note)


def _is_left(chain: Chain, live: Chain, version: int) -> bool:
    """Whether a chain will never be of use again, as one is that is or was at a version."""
    if chain.generation == live.generation + 1:  # one that is made beside it, by whoever is at its newest version
        return chain.version < version
    return chain.generation <= live.generation and chain.token != live.token


def _lead(root: Files, name: str) -> None:
    """Let the root say by itself where a chain is that others have led to."""
    versions = Versions(root)
    last = versions.newest()
    if last.moved and last.moved < name:
        with suppress(Superseded):  # who was faster knows of this one too, or of a later one
            versions.move(last, name)
