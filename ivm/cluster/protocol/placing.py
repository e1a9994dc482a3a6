"""Where the rows of a table are in a database over shards."""

from __future__ import annotations

from ivm.catalog.schema import Table
from ivm.distribute.placement import REPLICATED, Hashed, Placement


def placement_of(table: Table) -> Placement:
    """Where the rows of a table are: as it declares; else by the first column of its key, or without one by all."""
    if table.replicated:
        return REPLICATED
    columns = table.partitioned_by or table.primary_key[:1] or tuple(field.name for field in table.fields)
    return Hashed(table.places(columns))
