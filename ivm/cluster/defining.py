"""A definition on its way through a shard: what is new, and what it was planned by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from catalog.catalog import Catalog
from catalog.errors import NumericError
from catalog.schema import View
from ivm.cluster import orders
from ivm.cluster.guards import Guard
from ivm.distribute.distribute import Distributed
from ivm.distribute.exchange import Channel
from ivm.engine.tables import Declared
from ivm.engine.view import Installed

Known = tuple[Mapping[str, float], orders.Values]
"""The sizes and values that something was planned by."""


@dataclass(slots=True)
class New:
    """A view on its way in; or a guard, which is one that has to stay empty."""

    view: View
    distributed: Distributed
    oracle_sql: str = ""
    guard: Guard | None = None
    installed: Installed | None = None


@dataclass(slots=True)
class Defining:
    """A definition under way: the catalog that it leads to, what is new and what goes.

    `before`: what there was under the names of tables that are put already, as guards read them. `sizes`: those of the
    definition, and of channels. `is_filled`: its view has been filled over many versions.
    """

    catalog: Catalog
    time: int
    gone: Sequence[str]
    tables: Mapping[str, Declared]
    known: Known
    is_filled: bool = False
    new: list[New] = field(default_factory=list)
    sizes: Mapping[str, float] = field(default_factory=dict)
    before: dict[str, Declared | None] = field(default_factory=dict)

    def channels(self) -> Sequence[Channel]:
        """All that what is new needs, each once, inputs first."""
        found = {each.name: each for new in self.new for each in new.distributed.channels}
        return sorted(found.values(), key=lambda each: each.level)


def over_rows(new: Sequence[New], error: NumericError) -> NumericError:
    """What is wrong with what is new over the rows there are."""
    names = ", ".join(each.view.name for each in new)
    return type(error)(f"cannot create view {names} over the rows there are: {error.__cause__ or error}")
