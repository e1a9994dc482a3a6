"""What a query reads, as it was at one moment: held on to under the lock, read without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import pyarrow as pa

from catalog.catalog import Catalog
from catalog.names import key, reached
from catalog.schema import Schema, Table, View
from ivm.duck import with_hugeints
from ivm.engine import Engine
from ivm.introspection import relations as introspection

Reading = Callable[[], pa.Table]
"""Makes an Arrow table of rows that nobody writes to any more."""

_Version = tuple[Table | View | None, int]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Relations by the keys of their names: `stored` those that hold rows, `definitions` the SQL of views that do not,
    with what they use.

    `versions` are what the rows depend on: each entry of the catalog, and of tables the time of their last change.
    """

    stored: Mapping[str, Reading]
    definitions: Mapping[str, tuple[str, Sequence[str]]]
    versions: Mapping[str, _Version]

    def is_current(self, catalog: Catalog, engine: Engine) -> bool:
        """Whether the same names would give the same rows now. The caller has the lock."""
        return all(_version(name, catalog, engine) == version for name, version in self.versions.items())


def snapshot(names: Sequence[str], catalog: Catalog, engine: Engine, watched: Sequence[str] = ()) -> Snapshot:
    """Of the relations called `names` and all that registered views among them read; unknown names are left out.

    Of those that are only `watched` it is known whether they change, not what they hold.

    The caller has the lock. Cost: finding the rows of each table that are alive, the consolidation of views that have
    changed since they were read last, and all of the `ivm_*` relations; no rows are copied.
    """
    engine_itself = introspection(engine)
    stored: dict[str, Reading] = {}
    definitions: dict[str, tuple[str, Sequence[str]]] = {}

    def uses(name: str) -> Sequence[str]:
        entry = catalog.find(name)
        return entry.uses if isinstance(entry, View) and not entry.maintained else ()

    for name in reached(names, uses):
        entry = catalog.find(name)
        if isinstance(entry, Table):
            stored[name] = _for_duckdb(engine.tables[entry.name].reading(), entry.fields)
        elif isinstance(entry, View) and entry.maintained:
            stored[name] = _for_duckdb(engine.views[entry.name].reading(engine.dictionary), entry.schema)
        elif isinstance(entry, View):
            definitions[name] = engine.oracle_sql[entry.name], entry.uses
        elif name in engine_itself:
            stored[name] = partial(_given, engine_itself[name]())
    return Snapshot(stored, definitions, _versions((*stored, *definitions, *map(key, watched)), catalog, engine))


def _versions(names: Sequence[str], catalog: Catalog, engine: Engine) -> dict[str, _Version]:
    """Of the relations and everything below them. Views are functions of tables, and need no time."""

    def uses(name: str) -> Sequence[str]:
        entry = catalog.find(name)
        return entry.uses if isinstance(entry, View) else ()

    return {name: _version(name, catalog, engine) for name in reached(names, uses)}


def _for_duckdb(read: Reading, fields: Schema) -> Reading:
    return cache(lambda: with_hugeints(read(), fields))


def _given(table: pa.Table) -> pa.Table:
    return table


def _version(name: str, catalog: Catalog, engine: Engine) -> _Version:
    entry = catalog.find(name)
    return entry, engine.tables[entry.name].last_time if isinstance(entry, Table) else 0
