"""Subscriptions by a name over shards: the driver knows what was acknowledged, and shards keep what was not."""

from __future__ import annotations

from collections.abc import Mapping

from ivm.cluster.planning.reading import ShardedView
from ivm.engine.installing import put_or_drop
from ivm.subscriptions.names import Named, Names


class NamesOfDriver(Names):
    """Its names as a shard in its process has them, which says nothing of them itself."""

    def __init__(self, names: Names) -> None:
        super().__init__()
        self.names = names

    def __bool__(self) -> bool:
        return bool(self.names)

    def of_view(self, view: str) -> tuple[Named, ...]:
        """See `Names.of_view`."""
        return self.names.of_view(view)

    def replace(self, view: str, time: int) -> None:
        """Nothing: the driver knows by itself."""


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
