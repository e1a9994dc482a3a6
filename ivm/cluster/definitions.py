"""What writes down definitions of a database over shards: they are orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from catalog.catalog import Catalog
from catalog.errors import InterfaceError
from ivm.trace.exported import ArrowRows

if TYPE_CHECKING:
    from ivm.cluster.driver import Driver


class Definitions:
    """Stands where a database has its journal: a definition is published where others are written down."""

    is_pending = False

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def define(self, old: Catalog, new: Catalog, time: int, made: Mapping[str, ArrowRows | None]) -> None:
        """See `Journal.define`."""
        self._driver.define(old, new, made)

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
