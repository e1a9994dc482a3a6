"""Tables that let go of old rows: a view of the engine's own has those that are due, and ticks delete them."""

from __future__ import annotations

from ivm.catalog.catalog import Catalog
from ivm.catalog.clock import OWN
from ivm.catalog.names import as_literal, quoted
from ivm.catalog.schema import Table
from ivm.session.core import Core


def view_of_old_rows(table: Table) -> str:
    """What the view of the rows is called that a table is to let go of."""
    return f"{OWN}old {table.name}"


def text_of_old_rows(table: Table) -> str:
    """Its SELECT."""
    age = f"INTERVAL {as_literal(table.retention)}"
    return f"SELECT * FROM {quoted(table.name)} WHERE {quoted(table.retention_column)} < now() - {age}"


def unwatched(catalog: Catalog, table: Table) -> dict[str, None]:
    """Drop that view from a catalog, if there is one; its name."""
    name = view_of_old_rows(table)
    return {catalog.drop_view(name).name: None} if catalog.find(name) is not None else {}


def end_old_rows(core: Core) -> None:
    """Delete the rows that tables are to let go of, as of the last commit. ConstraintError if others refer to them.

    Cost: nothing where no table does; else that of what became due, and of deleting it.
    """
    for table in core.catalog.tables:
        if not table.retention or (view := view_of_old_rows(table)) not in core.engine.views:
            continue
        with core.lock:
            old = core.engine.contents(view)
            if len(old):
                with core.transaction(settles=False) as tx:
                    tx.delete(table.name, old.arrow(), missing="ignore")
        core.settle()
