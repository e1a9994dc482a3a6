"""What writes down definitions of a database over shards: they are orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from catalog.altering import Altered
from catalog.catalog import Catalog
from catalog.errors import InterfaceError
from ivm.cluster.versions import Version
from ivm.trace.columns.exported import ArrowRows


class Defines(Protocol):
    """What a driver does for definitions."""

    def define(
        self, old: Catalog, new: Catalog, made: Mapping[str, ArrowRows | None], altered: Sequence[Altered]
    ) -> Version:
        """Publish what exists from now on; `reach` is to follow."""
        ...

    def reach(self, version: Version) -> None:
        """Be at a version that was published."""
        ...

    def settle(self) -> None:
        """End what was tried."""
        ...

    def sweep(self) -> None:
        """Nothing is left of what was on its way in."""
        ...

    def tidy(self) -> None:
        """Remove what is needed no more."""
        ...


class Definitions:
    """Stands where a database has its journal: a definition is published where others are written down."""

    is_pending = False

    def __init__(self, driver: Defines) -> None:
        self._driver = driver

    def define(
        self,
        old: Catalog,
        new: Catalog,
        time: int,
        made: Mapping[str, ArrowRows | None],
        altered: Sequence[Altered] = (),
    ) -> Version:
        """See `Journal.define`."""
        return self._driver.define(old, new, made, altered)

    def keep(self, written: Version) -> None:
        """It takes effect. It may be interrupted, and called again."""
        self._driver.reach(written)

    def take_back(self) -> None:
        """It does not. It may be interrupted, and is then done by whoever comes next."""
        self._driver.settle()
        self._driver.sweep()

    def settle(self) -> None:
        """It has taken effect."""
        self._driver.tidy()

    def certain(self) -> None:
        """What was published is certain."""

    def finish(self) -> int:
        """InterfaceError: the folder itself is to be copied."""
        raise InterfaceError("cannot back up a database over shards: copy its folder, while nobody commits")

    def close(self) -> None:
        """Nothing is held."""
