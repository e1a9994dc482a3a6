"""Who listens to a view, and what a commit tells them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from catalog.schema import View as Definition
from ivm.dataflow.node import Node
from ivm.subscription import Subscription
from ivm.trace.arrow import to_arrow
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta
from ivm.trace.dictionary import TextDictionary
from ivm.trace.held import Held
from ivm.trace.sequences import numbers_from
from ivm.view import Installed


class Listeners(Held[Subscription]):
    """The subscriptions to `views` that somebody holds on to: those that are to be told of the next commit."""

    def __init__(self, views: Mapping[str, Installed], dictionary: TextDictionary) -> None:
        super().__init__()
        self._views = views
        self._dictionary = dictionary

    def of(self, view: str | None = None) -> list[Subscription]:
        """The subscriptions to all views, or to one."""
        return [each for each in self.each() if view is None or each.view == view]

    def told(self, changed: Mapping[Node, Delta]) -> list[tuple[Subscription, pa.Table]]:
        """What each is to be told of a commit that changed these nodes' outputs; nothing, if its view is the same."""
        changes: dict[str, pa.Table | None] = {}
        listeners = self.of()
        for each in listeners:
            if each.view not in changes:
                changes[each.view] = self._changes(self._views[each.view], changed)
        return [(each, table) for each in listeners if (table := changes[each.view]) is not None]

    def _changes(self, installed: Installed, changed: Mapping[Node, Delta]) -> pa.Table | None:
        delta = changed.get(installed.node)
        net = None if delta is None else seen_changes(installed.definition, delta)
        return None if net is None else changes_to_arrow(installed.definition, net, self._dictionary)


def seen_changes(definition: Definition, delta: Delta) -> Delta | None:
    """Updates of a view as its readers see them, consolidated: what only changes a hidden column is no change."""
    types = [field.type for field in definition.schema]
    return consolidate(delta, types, [delta.column(i) for i in range(len(types))] if definition.hidden else None)


def changes_to_arrow(definition: Definition, delta: Delta, dictionary: TextDictionary) -> pa.Table:
    """Updates of a view as an Arrow table: its columns, then `_time` and `_diff`, both BIGINT; sorted by time."""
    order = np.argsort(delta.time_array(), kind="stable")
    taken = delta.take(order)
    arrays = [to_arrow(taken.column(i), field.type, dictionary.now()) for i, field in enumerate(definition.schema)]
    arrays += [numbers_from(taken.time_array()), numbers_from(taken.diff_array())]
    return pa.Table.from_arrays(arrays, names=[*(f.name for f in definition.schema), "_time", "_diff"])
