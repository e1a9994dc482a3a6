"""What a shard tells of its views: what changes in them, to whoever listens or follows, and what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from ivm.cluster.files.feeds import feed_of
from ivm.cluster.planning.reading import are_apart
from ivm.cluster.protocol.terms import Unwritten
from ivm.cluster.shard.defining import Defining, New
from ivm.cluster.shard.shard import Shard
from ivm.distribute.distribute import Distributed
from ivm.distribute.placement import is_repeated
from ivm.engine.view import Installed
from ivm.results.view_changes import changes_to_arrow, view_changes
from ivm.trace.columns.column import concat
from ivm.trace.delta import delta_of
from ivm.trace.text.texts import Strings
from ivm.trace.view_log import Sealed

ROWS = 1 << 17
"""So many rows are a file, at most."""


class Teller:
    """Tells of the views of a shard of this number, which are distributed so.

    `told`: the changes that the last commit was asked to tell, by view.
    """

    def __init__(self, shard: Shard, number: int, views: Mapping[str, Distributed]) -> None:
        self._shard = shard
        self._number = number
        self._views = views
        self.told: dict[str, pa.Table] = {}

    def changes(self, names: Iterable[str], level: int) -> dict[str, pa.Table]:
        """What the commit under way has changed of those views that are done with this level."""
        found, shard = {}, self._shard
        for name in names:
            view = self._views[name]
            if view.level == level and not is_repeated(view.placement, self._number):
                rows = view_changes(shard.views[name].definition, shard.changed(name), shard.dictionary)
                if rows is not None:
                    found[name] = rows
        return found

    def followed(self, level: int) -> list[Unwritten]:
        """The same of those that are followed, and stay."""
        names = [each.definition.name for each in self._followed() if each.definition.name not in self._shard.going]
        changes = self.changes(names, level)
        return [
            self._told(self._shard.views[name], self._views[name], _changes(rows)) for name, rows in changes.items()
        ]

    def filled(self, defining: Defining) -> list[Unwritten]:
        """What those hold that are new, with all that has come with them."""
        found = list[Unwritten]()
        for new in defining.new:
            if new.installed is None or not new.view.change_feed:
                continue
            if defining.commit is None:
                found.append(self._holds(new.installed, new.distributed, defining.time))
            else:
                is_ours = not is_repeated(new.distributed.placement, self._number)
                rows = self.held_then(new, defining.commit.time) if is_ours else None
                pieces = iter(()) if rows is None else _changes(rows)
                found.append(self._told(new.installed, new.distributed, pieces))
        return found

    def held_then(self, new: New, time: int) -> pa.Table | None:
        """What a new view holds once the commit that comes with it is kept, as changes at a time; None: no rows."""
        assert new.installed is not None, "it is filled before the commit"
        (columns, diffs), delta = new.installed.log.sealed.rows(None), self._shard.changed(new.view.name)
        if delta is not None:
            columns = [concat([column, delta.column(i)]) for i, column in enumerate(columns)]
            diffs = np.concatenate([diffs, delta.diff_array()])
        return view_changes(new.view, delta_of(columns, time, diffs, len(diffs)), self._shard.dictionary)

    def held(self) -> list[Unwritten]:
        """What those hold that there are."""
        return [self._holds(each, self._views[each.definition.name], self._shard.time) for each in self._followed()]

    def _followed(self) -> list[Installed]:
        return [each for each in self._shard.views.values() if each.definition.change_feed]

    def _holds(self, part: Installed, view: Distributed, time: int) -> Unwritten:
        """All rows, as ones that come at a time. Cost now: none; that of all of them where the pieces are read."""
        if is_repeated(view.placement, self._number):
            return self._told(part, view, iter(()))
        return self._told(part, view, _contents(part, part.log.sealed, self._shard.dictionary.now(), time))

    @staticmethod
    def _told(part: Installed, view: Distributed, pieces: Iterator[bytes]) -> Unwritten:
        return Unwritten(part.definition.mark, are_apart(view.placement, part.definition), pieces)


def _changes(rows: pa.Table) -> Iterator[bytes]:
    return (feed_of(rows.slice(first, ROWS)) for first in range(0, rows.num_rows, ROWS))


def _contents(part: Installed, sealed: Sealed, strings: Strings, time: int) -> Iterator[bytes]:
    columns, diffs = sealed.rows(None)
    rows = delta_of(columns, time, diffs, len(diffs))
    for first in range(0, len(rows), ROWS):
        yield feed_of(
            changes_to_arrow(part.definition.schema, rows.slice(first, min(first + ROWS, len(rows))), strings)
        )
