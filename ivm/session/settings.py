"""What a connection has set for itself, with SET and USE."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import pyarrow as pa

from ivm.catalog.paths import Names
from ivm.catalog.schema import Field
from ivm.catalog.zones import UTC, is_zoned

TIME_ZONE = "timezone"
Named = Callable[[str], str]
"""What the name of a table means, see `ivm.catalog.paths`."""


def as_it_is(name: str) -> str:
    """A name that means what it says."""
    return name


@dataclass(slots=True)
class Settings:
    """The settings of one connection; what it does in a transaction has the same, and changes them."""

    names: Names
    """What names mean that the connection gives; what is within has to do with what they mean alone."""
    variables: dict[str, pa.Table] = field(default_factory=dict)
    """What getvariable() gives, as tables of one value, by the keys of their names."""
    prepared: dict[str, str] = field(default_factory=dict)
    """The statements that have names, by the keys of these."""
    values: dict[str, str] = field(default_factory=dict)
    """What others have been set to, by their names."""

    first_zone: str = UTC
    """The time zone with which it was made."""

    @property
    def zone(self) -> str:
        """The time zone by whose clocks statements tell moments."""
        return self.values.get(TIME_ZONE, self.first_zone)

    def reads_otherwise(self, fields: Iterable[Field]) -> bool:
        """Whether texts may be other moments in columns of these types than where the zone is UTC."""
        return self.zone != UTC and is_zoned(*(field.type for field in fields))

    @property
    def path(self) -> tuple[str, ...]:
        """The schemas in which names are looked up before main; the first is where things are created."""
        return self.names.path

    @path.setter
    def path(self, path: tuple[str, ...]) -> None:
        self.names = replace(self.names, path=path)
