"""What writes down definitions of a database over shards: they are orders."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from catalog.catalog import Catalog
from catalog.errors import InterfaceError
from ivm.trace.exported import ArrowRows

Made = Mapping[str, ArrowRows | None]
"""The tables that are new, with the rows that they begin with."""


class Definitions:
    """Stands where a database has its journal: a definition is published where others are written down."""

    is_pending = False

    def __init__(self, publish: Callable[[Catalog, Catalog, Made], None]) -> None:
        self._publish = publish

    def define(self, old: Catalog, new: Catalog, time: int, made: Made) -> None:
        """See `Journal.define`."""
        self._publish(old, new, made)

    def keep(self, written: object) -> None:
        """It is published."""

    def take_back(self) -> None:
        """It was not."""

    def settle(self) -> None:
        """Nobody waits."""

    def certain(self) -> None:
        """What was published is certain."""

    def finish(self) -> int:
        """InterfaceError: the folder itself is to be copied."""
        raise InterfaceError("cannot back up a database over shards: copy its folder, while nobody commits")

    def close(self) -> None:
        """Nothing is held."""
