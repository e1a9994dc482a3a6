"""What a connection has set for itself, with SET and USE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from catalog.catalog import Catalog
from catalog.paths import Names

Named = Callable[[str], str]
"""What the name of a table means, see `catalog.paths`."""


def as_it_is(name: str) -> str:
    """A name that means what it says."""
    return name


@dataclass(slots=True)
class Settings:
    """The settings of one connection, each replaced as a whole: whoever reads one meanwhile sees it before or after."""

    catalog: Catalog
    path: tuple[str, ...] = ()
    """The schemas in which names are looked up before main; the first is where things are created."""

    @property
    def names(self) -> Names:
        """What names mean that the connection gives; what is within has to do with what they mean alone."""
        return Names(self.catalog, self.path)
