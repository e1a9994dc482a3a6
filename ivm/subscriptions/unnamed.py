"""Views that nobody has named: what queries that are subscribed to have in common, as long as somebody listens."""

from __future__ import annotations

from ivm.catalog.catalog import Catalog
from ivm.catalog.clock import OWN
from ivm.catalog.names import key
from ivm.catalog.schema import View

_NAME = f"{OWN}subscribed_"


def is_unnamed(name: str) -> bool:
    """Whether this is what the engine calls such a view."""
    return key(name).startswith(_NAME)


def spoken(name: str) -> str:
    """What messages call a view."""
    return "of a query" if is_unnamed(name) else f"of view {name}"


def unnamed(catalog: Catalog) -> list[View]:
    """Those there are."""
    return [view for view in catalog.views if is_unnamed(view.name)]


def free_name(catalog: Catalog) -> str:
    """A name for one more."""
    taken = {int(view.name.removeprefix(_NAME)) for view in unnamed(catalog)}
    return f"{_NAME}{max(taken, default=0) + 1}"


def unheard(catalog: Catalog, name: str) -> tuple[str, ...]:
    """Drop those from a catalog that read a table or view, through others too; their names."""
    gone = [view.name for view in catalog.dependents(name) if is_unnamed(view.name)]
    return tuple(catalog.drop_view(each).name for each in gone)
