"""What there is, as `Database.tables` and `Database.views` list it, and how far a database is that follows another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ivm.catalog.clock import is_own
from ivm.catalog.schema import Schema
from ivm.catalog.zones import UTC
from ivm.engine.backend import Reading
from ivm.engine.relations import NUMBER, TEXT
from ivm.results.result import table_of
from ivm.session.core import Core
from ivm.session.serving import Follows


def following_of(follows: Follows) -> Reading:
    """How far a database is that follows another process; see `ivm.durable.following.Behind`."""
    behind = follows.behind
    return lambda: table_of([tuple(behind)], time=NUMBER, record=NUMBER, bytes_behind=NUMBER, error=TEXT)


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
    `time_zone`: by whose clocks it tells moments.
    """

    name: str
    columns: Mapping[str, str]
    sql: str
    maintained: bool
    rows: int | None
    time_zone: str = UTC


def tables(core: Core) -> list[TableInfo]:
    """The tables, in the order of their creation, without those that are TEMP of other connections."""
    with core.lock:
        stores, names = core.engine.tables, core.settings.names
        found = [
            TableInfo(names.told(each.name), _columns(each.fields), each.primary_key, stores[each.name].count)
            for each in core.catalog.lasting(names.temp).tables
            if not is_own(each.name)
        ]
    core.certain()
    return found


def views(core: Core) -> list[ViewInfo]:
    """As `tables`, the views. Cost: the consolidation of those that have changed since a reader."""
    with core.lock:
        names = core.settings.names
        views = [view for view in core.catalog.lasting(names.temp).views if not is_own(view.name)]
        held = {view.name: core.engine.contents(view.name) for view in views if view.name in core.engine.views}
    counts = {name: len(each) for name, each in held.items()}
    core.certain()
    return [
        ViewInfo(
            names.told(each.name),
            _columns(each.schema),
            names.told(each.sql),
            each.maintained,
            counts.get(each.name),
            each.zone,
        )
        for each in views
    ]


def _columns(fields: Schema) -> dict[str, str]:
    return {field.name: str(field.type) for field in fields}
