"""What a view over shards held, and what changed in it, for whoever follows it: which files say so, and their rows.

Which they are is found in one place, by pages and the names of snapshots; the files themselves may be read anywhere. No
shard is asked, and no file of rows is read that is not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import BindError, StorageError
from ivm.catalog.schema import View
from ivm.cluster.files.chains import files_of
from ivm.cluster.files.feeds import read_feed
from ivm.cluster.files.files import Files
from ivm.cluster.files.snapshots import pieces_under, read_snapshot, snapshots_of
from ivm.cluster.files.versions import Version, number_of
from ivm.cluster.following.history import History, Stretch
from ivm.cluster.protocol.terms import Feed
from ivm.results.difference import added_up
from ivm.storage.stored import Stored

T = TypeVar("T")

_TIME, _DIFF = "_time", "_diff"
_AGAIN = 2
"""So many times more pages are looked for that were named, and are not there."""
Placed = tuple[str, Stored]
"""A file of rows, by the chain that it belongs to."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Some of the changes of a view after one time up to another: the files of each version, in their order.

    `are_halves`: equal rows may have come to several shards, which tell different halves of one change.
    """

    versions: Sequence[Sequence[Placed]]
    after: int
    until: int
    are_halves: bool

    def rows(self, root: Files) -> Iterator[pa.Table]:
        """The columns of the view, `_time` and `_diff`. StorageError for a file that cannot be read."""
        for files in self.versions:
            rows = _within(_read(root, files), self.after, self.until)
            yield added_up(rows, rows.column_names[:-1]) if self.are_halves else rows


@dataclass(frozen=True, slots=True)
class Contents:
    """What a shard has of a view at a time: what it had at a version, and the changes since; or those up to then,
    which are taken back.
    """

    base: Sequence[Placed]
    since: Sequence[Placed]
    back: Sequence[Placed]
    until: int

    def rows(self, root: Files) -> Iterator[pa.Table]:
        """The rows as changes at the time; see `Changes.rows`. Cost: memory for all of them, if some have changed."""
        if not (self.since or self.back):
            for each in self.base:
                yield _at(_read(root, [each]), self.until)
            return
        parts = [_read(root, self.base)] if self.base else []
        if self.since:
            parts.append(_within(_read(root, self.since), -1, self.until))
        if self.back:
            rows = _read(root, self.back)
            rows = rows.filter(pc.greater(rows.column(_TIME), self.until))
            negative = pc.negate(rows.column(_DIFF))
            parts.append(rows.set_column(rows.num_columns - 1, rows.schema.field(_DIFF), negative))
        whole = pa.concat_tables(parts)
        found = added_up(whole, whole.column_names[:-2])
        if found.num_rows and pc.min(found.column(_DIFF)).as_py() < 0:
            raise StorageError(
                f"cannot read a view from {root.where()}: what a snapshot has of it does not go with its changes; "
                "restore the whole folder from one backup"
            )
        time = pa.repeat(pa.scalar(self.until, pa.int64()), found.num_rows)
        yield found.add_column(found.num_columns - 1, _TIME, time)


class Following:
    """Finds what is known of the views of a folder. One thread at a time uses it; pickled it has read nothing yet."""

    def __init__(self, root: Files) -> None:
        self._root = root
        self._history = History(root)

    def __reduce__(self) -> tuple[type[Following], tuple[Files]]:
        return Following, (self._root,)

    def known(self) -> tuple[int, Catalog]:
        """The logical time of the last commit, and what exists. StorageError for a folder that has no database.

        Cost: a list and a page; where something was defined since the last call, a file for each definition.
        """
        stretch = self._stretches()[-1]
        catalog = Catalog()
        for _, definition in self._history.definitions(stretch):
            catalog = definition.catalog(catalog)
        return self._history.newest(stretch).time, catalog

    def changes(self, view: View, after: int, until: int) -> list[Changes]:
        """The changes of a view after one time up to another, in parts that different readers may read.

        BindError if they are not known any more, or not yet. Cost: the pages of the versions of these times, and some
        to find the first.
        """
        return _found(lambda: self._changes(view, after, until))

    def _changes(self, view: View, after: int, until: int) -> list[Changes]:
        stretches = self._connected(view, until)
        first = next((n for n in reversed(range(len(stretches))) if stretches[n].begin <= after), None)
        if first is None:
            raise self._gone(f"the changes of view {view.name} after time {after}", stretches)
        found: list[list[tuple[Feed, str]]] = []
        for stretch in stretches[first:]:
            low = self._history.last_at(stretch, after) if stretch is stretches[first] else stretch.made
            for version in self._history.after(stretch, low, self._top(stretch, until)):
                feeds = [(feed, stretch.chain) for feed in version.feeds if feed.view == view.mark]
                if feeds:
                    found.append(feeds)
        return _parts(found, after, until)

    def contents(self, view: View, until: int) -> list[Contents]:
        """What a view held at a time, in a part for each shard.

        BindError as of `changes`. Cost: two lists and a page for each shard, and the pages of the versions since.
        """
        return _found(lambda: self._all_contents(view, until))

    def _all_contents(self, view: View, until: int) -> list[Contents]:
        stretches = self._connected(view, until)
        stretch = next((each for each in reversed(stretches) if each.begin <= until), None)
        if stretch is None:
            raise self._gone(f"view {view.name} as of time {until}", stretches)
        defined = next((n for n, what in self._history.definitions(stretch) if _has(what.defined, view.mark)), None)
        if defined is None or defined > self._top(stretch, until):
            return []
        parts = [
            self._contents(view, stretch, shard, until, defined)
            for shard in range(self._history.newest(stretch).shards)
        ]
        return [each for each in parts if each.base or each.since or each.back]

    def _contents(self, view: View, stretch: Stretch, shard: int, until: int, defined: int) -> Contents:
        history, chain, last = self._history, stretch.chain, self._history.last_at(stretch, until)

        def told(versions: Iterable[Version]) -> list[Placed]:
            feeds = (feed for version in versions for feed in version.feeds)
            return [(chain, feed.stored) for feed in feeds if (feed.view, feed.shard) == (view.mark, shard)]

        names = snapshots_of(history.files(chain), shard, stretch.last)
        before = [name for name in names if max(stretch.first, defined) <= number_of(name) <= last]
        found = next(self._held(view, chain, shard, before), None)
        if found is None and defined >= stretch.first:
            found = defined, told([history.page(chain, defined)])
        if found is not None:
            version, base = found
            return Contents(base, told(history.after(stretch, version, self._top(stretch, until))), (), until)
        for version, base in self._held(
            view, chain, shard, [name for name in reversed(names) if number_of(name) > last]
        ):
            return Contents(base, (), told(history.after(stretch, last, version)), until)
        raise StorageError(
            f"cannot read view {view.name}: no snapshot of shard {shard} under {history.files(chain).where()} says "
            "what it held; restore the whole folder from one backup"
        )

    def _held(self, view: View, chain: str, shard: int, names: Iterable[str]) -> Iterator[tuple[int, list[Placed]]]:
        """What snapshots have of a view, and the versions that they are of; those that cannot be read are left out, and
        those that are on their way out.
        """
        files = self._history.files(chain)
        there = frozenset(files.names(pieces_under(shard)))
        for name in names:
            try:
                snapshot = read_snapshot(files, name)
            except StorageError:
                continue
            is_ours = snapshot.id == self._history.page(chain, snapshot.version).id
            pieces = snapshot.views.get(view.mark)
            if is_ours and pieces is not None and there.issuperset(each.file for each in pieces):
                yield snapshot.version, [(chain, each) for each in pieces]

    def _top(self, stretch: Stretch, until: int) -> int:
        """The first version that is not before a time; the last one, if all are."""
        last = self._history.last_at(stretch, until)
        is_before = self._history.page(stretch.chain, last).time < until
        return min(last + is_before, stretch.last)

    def _stretches(self) -> list[Stretch]:
        found = _found(self._history.stretches)
        if not found:
            raise StorageError(f"there is no database in {self._root.where()}")
        return found

    def _connected(self, view: View, until: int) -> list[Stretch]:
        """Those after which nothing is missing. BindError for a time that is not reached yet."""
        left = self._stretches()
        found = [left.pop()]
        while left and found[0].made and self._leads(left[-1], found[0]):
            found.insert(0, left.pop())
        if until > self._history.newest(found[-1]).time:
            raise self._gone(f"view {view.name} up to time {until}", found)
        return found

    def _leads(self, one: Stretch, other: Stretch) -> bool:
        return one.moved == other.chain and self._history.newest(one).time == other.begin

    def _gone(self, what: str, stretches: Sequence[Stretch]) -> BindError:
        return BindError(
            f"cannot read {what} from {self._root.where()}: times from {stretches[0].begin} to "
            f"{self._history.newest(stretches[-1]).time} can be read; begin anew, with an empty checkpoint"
        )


def _found(find: Callable[[], T]) -> T:
    """What is found by pages; anew where some were removed meanwhile, as old ones are."""
    for _ in range(_AGAIN):
        with suppress(StorageError):
            return find()
    return find()


def _parts(found: Sequence[Sequence[tuple[Feed, str]]], after: int, until: int) -> list[Changes]:
    """Files of versions, for as many readers as there are shards; for one, where changes have to be added up."""
    if not all(feed.is_apart for feeds in found for feed, _ in feeds):
        versions = [[(chain, feed.stored) for feed, chain in feeds] for feeds in found]
        return [Changes(versions, after, until, are_halves=True)]
    shards: dict[int, list[list[Placed]]] = {}
    for feeds in found:
        for feed, chain in feeds:
            shards.setdefault(feed.shard, []).append([(chain, feed.stored)])
    return [Changes(versions, after, until, are_halves=False) for _, versions in sorted(shards.items())]


def _has(defined: object, mark: str) -> bool:
    """Whether a definition makes the view of a mark."""
    assert isinstance(defined, dict), "a definition has names"
    return any(view.get("mark") == mark for view in defined["views"])


def _read(root: Files, files: Iterable[Placed]) -> pa.Table:
    return pa.concat_tables([read_feed(files_of(root, chain), stored) for chain, stored in files])


def _within(rows: pa.Table, after: int, until: int) -> pa.Table:
    times = rows.column(_TIME)
    return rows.filter(pc.and_(pc.greater(times, after), pc.less_equal(times, until)))


def _at(rows: pa.Table, time: int) -> pa.Table:
    """The rows at another time."""
    times = pa.repeat(pa.scalar(time, pa.int64()), rows.num_rows)
    return rows.set_column(rows.num_columns - 2, rows.schema.field(_TIME), times)
