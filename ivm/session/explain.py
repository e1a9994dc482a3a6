"""EXPLAIN: the relation as written, and what is said below of how it would be maintained."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from textwrap import indent

from ivm.catalog.catalog import Catalog
from ivm.catalog.names import key, reached
from ivm.catalog.schema import Table
from ivm.session.core import Core
from ivm.sql.bind import bind, registered
from ivm.sql.ir.text import relation_text
from ivm.sql.syntax import Syntax


def explain(
    core: Core, text: str, dialect: str = "duckdb", origin: tuple[int, int] = (1, 1), syntax: Syntax | None = None
) -> str:
    """The EXPLAIN text of a SELECT: deterministic, without ids or addresses.

    `origin` is where it begins in what the user wrote. `syntax`: see `bind`.
    """
    with core.lock:
        catalog = core.catalog.fixed()
    bound = bind(text, catalog, dialect, origin, syntax, core.settings.zone)
    below = {name: registered(catalog, catalog.view(name)) for name in _part_of(bound.uses, catalog)}
    found = core.engine.explained(bound.relation, below, partial(_column_names, catalog), core.lock)
    core.certain()
    sections = (("logical", relation_text(bound.relation)), *found)
    return "\n\n".join(f"{title}:\n{indent(section, '  ')}" for title, section in sections)


def _column_names(catalog: Catalog, name: str) -> tuple[str, ...]:
    entry = catalog.lookup(name)
    return tuple(field.name for field in (entry.fields if isinstance(entry, Table) else entry.columns))


def _part_of(names: Sequence[str], catalog: Catalog) -> list[str]:
    """The views among `names`, and those that they read in turn, that are not maintained: texts within a text."""
    texts = {key(view.name): view for view in catalog.views if not view.maintained}
    found = reached(names, lambda name: texts[name].uses if name in texts else ())
    return [view.name for name, view in texts.items() if name in found]
