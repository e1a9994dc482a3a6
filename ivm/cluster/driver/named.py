"""Subscriptions by a name over shards: versions say what was acknowledged, and shards keep what was not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from ivm.catalog.errors import StorageError
from ivm.cluster.planning.reading import ShardedView
from ivm.cluster.protocol.orders import Acknowledged
from ivm.durable.names import names_of, plain_names
from ivm.engine.installing import put_or_drop
from ivm.subscriptions.names import NOTHING, Named, Names

_Kept = tuple[tuple[int, int], ...]


class Holding:
    """What shards are to keep of views for names: those that there are, and those that are about to be."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._coming: dict[str, _Kept] = {}
        self._told: Mapping[str, _Kept] | None = None
        """What shards have been told last; None: nobody knows, as another process did."""

    def hold(self, view: str, names: tuple[Named, ...]) -> bool:
        """These there are, or are to be, of a view; whether shards are to be told."""
        kept = _kept_for(names)
        if kept != _kept_for(self._names.of_view(view)):
            self._coming[view] = kept
        elif self._coming.pop(view, None) is None:  # of which they have been told
            return False
        return self._kept(dict(self._names.each())) != self._told

    def order(self, names: Mapping[str, Named]) -> Acknowledged:
        """What tells shards, and whoever opens the database again, that these there are."""
        return Acknowledged(plain_names(names), self._kept(names))

    def told(self, order: Acknowledged) -> None:
        """This was published."""
        self._told = {view: tuple(kept) for view, kept in order.kept.items()}

    def _kept(self, names: Mapping[str, Named]) -> dict[str, _Kept]:
        of: dict[str, list[Named]] = {}
        for each in names.values():
            of.setdefault(each.view, []).append(each)
        kept = {view: _kept_for(several) for view, several in of.items()}
        kept |= {view: tuple(sorted({*kept.get(view, ()), *coming})) for view, coming in self._coming.items()}
        return {view: pairs for view, pairs in kept.items() if pairs}


def _kept_for(names: Iterable[Named]) -> _Kept:
    """The times since which names need what has changed, each with how many changes are kept for it at most."""
    return tuple(sorted({(each.since, each.keep) for each in names if each.since < NOTHING}))


def names_in(order: bytes) -> dict[str, Named]:
    """The names that there are, as an order has said last; none if it is empty. StorageError if it is none."""
    if not order:
        return {}
    try:
        return names_of(json.loads(order)["names"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"cannot open the database: what subscriptions have acknowledged was not written by ivm: {error!r}; "
            "restore it from a backup"
        ) from error


def put_views(
    names: Names, time: int, there: dict[str, ShardedView], oracle_sql: dict[str, str],
    views: Mapping[str, tuple[ShardedView | None, str | None]],
) -> None:  # fmt: skip
    """The views of these names are these from now on, at a time, of all that are `there`; see `Engine.put_all`. It may
    be interrupted, and called again.
    """
    for name, (installed, text) in views.items():
        old = there.get(name)
        if old is not None and (installed is None or installed.distributed is not old.distributed):
            names.replace(name, time)
        put_or_drop(there, name, installed)
        put_or_drop(oracle_sql, name, text)
