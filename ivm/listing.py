"""What a database holds, as `Database.tables` and `Database.views` list it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from catalog.schema import Schema
from ivm.core import Core


@dataclass(frozen=True)
class TableInfo:
    """A table: its columns' SQL types by name, in order, the columns of its primary key, and how many rows it has."""

    name: str
    columns: Mapping[str, str]
    primary_key: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class ViewInfo:
    """A view: its columns' SQL types by name, in order, the SELECT that defines it, and how many rows it has.

    `maintained`: whether it is MATERIALIZED, and so kept up to date. Of others, which hold no rows, `rows` is None.
    """

    name: str
    columns: Mapping[str, str]
    sql: str
    maintained: bool
    rows: int | None


def tables(core: Core) -> list[TableInfo]:
    """The tables, in the order of their creation."""
    with core.lock:
        stores = core.engine.tables
        return [
            TableInfo(each.name, _columns(each.fields), each.primary_key, stores[each.name].count)
            for each in core.catalog.tables
        ]


def views(core: Core) -> list[ViewInfo]:
    """The views, in the order of their creation. Cost: the consolidation of those that have changed since a reader."""
    with core.lock:
        counts = {name: int(each.log.rows(None)[1].sum()) for name, each in core.engine.views.items()}
        return [
            ViewInfo(each.name, _columns(each.schema), each.sql, each.maintained, counts.get(each.name))
            for each in core.catalog.views
        ]


def _columns(fields: Schema) -> dict[str, str]:
    return {field.name: str(field.type) for field in fields}
