"""Whether the files of a cluster's folder are what was written, and which versions can be read where they are not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from ivm.catalog.errors import StorageError
from ivm.cluster.files.chains import files_of
from ivm.cluster.files.files import Files, pieces_of
from ivm.cluster.files.logs import LOGS, in_full
from ivm.cluster.files.snapshots import Snapshot, pages_under, read_snapshot, snapshots_of
from ivm.cluster.files.versions import COMMITS, Version, Versions, number_of
from ivm.durable.check import Problem
from ivm.storage.stored import Stored

Told = Callable[[int, int], None]
"""How many files have been read, of how many."""
_TIMES = 10
"""So often files are looked at again, since some were removed meanwhile."""
_SOME = 64
"""So many files are read between two calls of it."""


@dataclass(slots=True)
class Found:
    """What there is of a folder, and all that is wrong with it.

    `files`: those of the chain that counts. `kept`: see `_kept`. `versions`: all whose pages can be read, by number.
    `whole`: those that every shard can be loaded at, ascending; none if there is nothing to load.
    """

    files: Files
    kept: tuple[int, ...]
    versions: Mapping[int, Version]
    whole: Sequence[int] = ()
    problems: Sequence[Problem] = ()

    @property
    def newest(self) -> int:
        """The last version whose page can be read; 0 for none."""
        return max(self.versions, default=0)

    @property
    def last(self) -> Version:
        """The last version that can be had as a whole; the one before the first if there is none."""
        return self.versions[self.whole[-1]] if self.whole else Version()


def checked(root: Files, tell: Told = lambda done, of: None) -> Found:
    """Look at all files that the versions of a folder need, which stay as they are; others may commit meanwhile.

    StorageError if the folder cannot be listed. Cost: reads all of them; again if some were removed meanwhile, since
    nobody needs them any more.
    """
    for _ in range(_TIMES):
        found = _checked(root, tell)
        if not found.problems or _is_as_it_was(found):
            break
    return found


def _is_as_it_was(found: Found) -> bool:
    files = found.files
    return found.kept == _kept(files, files.names(COMMITS), _shards(found.versions))


def _kept(files: Files, pages: Iterable[str], shards: int) -> tuple[int, ...]:
    """Since which version there are all pages, and of each shard the first snapshot: cleaning makes others of these."""
    return _first(map(number_of, pages)), *(
        min(map(number_of, files.names(pages_under(shard))), default=0) for shard in range(shards)
    )


def _first(pages: Iterable[int]) -> int:
    """The first version since which there are all pages; 0 if there is none."""
    found = 0
    for number in sorted(pages, reverse=True):
        if found and number != found - 1:
            break
        found = number
    return found


def _checked(root: Files, tell: Told) -> Found:
    wrong: dict[str, str] = {}
    files, pages, versions = _chain(root, wrong)
    kept = _kept(files, pages, _shards(versions))
    there, snapshots = [*versions.values()], _snapshots(files, versions, wrong)
    logs = {log.stored for each in there for log in each.logs}
    wanted = {each.what for each in there if isinstance(each.what, Stored)}
    plans = {plan for each in there for plan in each.plans}
    plans |= {each.names for each in there[-1:] if each.names is not None}  # without these, too, nobody opens it
    feeds = {feed.stored for each in there for feed in each.feeds}
    pieces = {piece for each in snapshots.values() for snapshot in each for piece in snapshot.pieces}
    feeds |= {piece for each in snapshots.values() for snapshot in each for piece in snapshot.files} - pieces
    bad = _damaged(files, [*logs], [*(wanted | plans | feeds | pieces)], wrong, tell)
    first, left = kept[0], frozenset(files.names(LOGS))
    for log in logs:  # what comes before all snapshots that are kept is removed
        if 1 < first >= number_of(log.file) and log.file not in left:
            wrong.pop(files.where(log.file), None)
    found = Found(files, kept, versions, _whole(versions, snapshots, bad))
    if found.last.version < found.newest:
        _say_why(found, wrong)
    lost, told = _lost(found, bad, plans), {files.where(each.file) for each in feeds}
    found.problems = [
        Problem(name, what, "who follows views may not be able to go on" if name in told else lost)
        for name, what in wrong.items()
    ]
    return found


def _shards(versions: Mapping[int, Version]) -> int:
    return versions[max(versions)].shards if versions else 0


def _chain(root: Files, wrong: dict[str, str]) -> tuple[Files, list[str], dict[int, Version]]:
    """The files of the chain that counts, as far as pages can be read, these, and the versions by number."""
    name = ""
    while True:
        files, versions = files_of(root, name), dict[int, Version]()
        pages = files.names(COMMITS)
        for page in pages:
            try:
                versions[number_of(page)] = Versions(files).at(number_of(page))
            except StorageError as error:
                wrong[files.where(page)] = str(error)
        newest = versions[max(versions)] if versions else Version()
        if not newest.moved:
            return files, pages, versions
        name = newest.moved


def _snapshots(files: Files, versions: Mapping[int, Version], wrong: dict[str, str]) -> dict[int, list[Snapshot]]:
    """Those of each shard whose pages can be read."""
    newest = max(versions, default=0)
    found: dict[int, list[Snapshot]] = {shard: [] for shard in range(_shards(versions))}
    for shard, several in found.items():
        for name in snapshots_of(files, shard, newest):
            try:
                several.append(read_snapshot(files, name))
            except StorageError as error:
                wrong[files.where(name)] = str(error)
    return found


def _damaged(
    files: Files, logs: Sequence[Stored], others: Sequence[Stored], wrong: dict[str, str], tell: Told
) -> set[Stored]:
    """Those files that are not as they were written, and logs of which one that they name is not."""

    def read(stored: Stored) -> str:
        try:
            data = files.bytes_of(stored)
            if stored in are_logs:
                in_full(files, pieces_of(data))
        except StorageError as error:
            return str(error)
        return ""

    are_logs, wanted, bad = frozenset(logs), [*logs, *others], set[Stored]()
    for first in range(0, len(wanted), _SOME):
        tell(first, len(wanted))
        some = wanted[first : first + _SOME]
        for stored, what in zip(some, files.each(read, some), strict=True):
            if what:
                bad.add(stored)
                wrong[files.where(stored.file)] = what
    return bad


def _whole(versions: Mapping[int, Version], snapshots: Mapping[int, Sequence[Snapshot]], bad: Set[Stored]) -> list[int]:
    """The versions that every shard can be loaded at."""
    found: set[int] | None = None
    for shard, several in snapshots.items():
        bases = {
            each.version
            for each in several
            if bad.isdisjoint(each.pieces) and each.version in versions and versions[each.version].id == each.id
        }
        reached = {number for base in bases for number in _from(versions, shard, base, bad)}
        if 1 in versions:
            reached |= {*_from(versions, shard, 0, bad)} - {0}
        found = reached if found is None else found & reached
    return sorted(found or ())


def _from(versions: Mapping[int, Version], shard: int, base: int, bad: Set[Stored]) -> Iterator[int]:
    """The versions that a shard which is as of one comes to by logs, with that one."""
    yield base
    previous = versions[base].id if base else ""
    while (version := versions.get(base + 1)) is not None and version.previous == previous:
        if version.what in bad or not bad.isdisjoint(version.logs_of(shard).values()):
            return
        base, previous = version.version, version.id
        yield base


def _say_why(found: Found, wrong: dict[str, str]) -> None:
    """See that something is said of why what comes after the last version cannot be had."""
    files, last = found.files, found.last
    page = files.where(f"{COMMITS}/{last.version + 1:020}")
    there = found.versions.get(last.version + 1)
    if found.whole and there is None:
        wrong.setdefault(page, "it is missing")
    elif found.whole and there is not None and there.previous != last.id:
        wrong.setdefault(page, f"it does not follow version {last.version}")
    elif not wrong:
        wrong[files.where()] = "snapshots are missing, and the first logs are removed"


def _lost(found: Found, bad: Set[Stored], plans: Iterable[Stored]) -> str:
    """What of the database is affected by what is wrong."""
    if not found.whole:
        return "all shards together can be loaded at no version"
    last = found.last
    if last.version < found.newest:
        return f"what was committed after version {last.version}, at time {last.time}, cannot be read"
    if not bad.isdisjoint(plans):
        return "what exists is not known, so that the folder cannot be opened; all rows can be read"
    return "nothing yet: what is there besides makes up for it"
