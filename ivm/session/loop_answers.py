"""What WITH MUTUALLY RECURSIVE answers in a SELECT: DuckDB has none, so that an engine of its own computes it, once."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from functools import cache

import pyarrow as pa

from ivm.analysis.tables import tables_of
from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import NumericError
from ivm.catalog.names import key
from ivm.catalog.schema import Schema, Table, View
from ivm.duck import for_queries
from ivm.engine.backend import Reading
from ivm.engine.engine import Engine
from ivm.intake.ingest import Intake
from ivm.sql.bind.query import bind
from ivm.sql.ir.relation import Relation
from ivm.sql.statements import AskedLoop

_NAME = "asked"


class LoopBase:
    """What loops of a query may read: relations that hold rows, as they were at one moment, and views by their SQL.

    `recursion_limit`: that of the database. `zone`: that of the query.
    """

    def __init__(self, recursion_limit: int, zone: str) -> None:
        self._recursion_limit, self._zone = recursion_limit, zone
        self._stored: dict[str, tuple[Schema, Reading]] = {}
        self._catalog, self._defined = Catalog(), frozenset[str]()

    def add(self, entry: Table | View, read: Reading) -> Reading:
        """A relation that holds rows; how they are read, once for all."""
        fields, known = entry.fields if isinstance(entry, Table) else entry.schema, cache(read)
        self._stored[entry.name] = fields, known
        return known

    def define(self, catalog: Catalog, names: Set[str]) -> None:
        """The views by their SQL are those of these names in a catalog. Cost: none, where no loop is answered."""
        self._catalog, self._defined = catalog, frozenset(names)

    def loop(self, loop: AskedLoop) -> Reading:
        """The answer of a loop, once for all who ask. Raises what binding it raises, and NumericError."""
        return cache(lambda: self._answered(loop.text, self._zone, loop.origin))

    def view(self, view: View) -> Reading:
        """The answer of a view that has one, in the same way."""
        return cache(lambda: self._answered(view.sql, view.zone).rename_columns([field.name for field in view.schema]))

    def _answered(self, text: str, zone: str, origin: tuple[int, int] = (1, 1)) -> pa.Table:
        """What a query answers, for DuckDB. Cost: that of a view which comes in, and of copies of what it reads."""
        catalog, engine = Catalog(), Engine(None, 0)
        engine.recursion_limit = self._recursion_limit
        try:
            for name, (fields, _) in self._stored.items():
                catalog.add_table(Table(name, fields))
            for each in self._catalog.views:
                if key(each.name) in self._defined and each.name not in self._stored:
                    catalog.add_view(replace(each, maintained=False))
            bound = bind(text, catalog, "duckdb", origin, zone=zone)
            definition = View(_NAME, text, bound.schema, bound.uses, True, bound.order, bound.hidden)
            return for_queries(self._computed(engine, definition, bound.relation), bound.schema)
        except NumericError as error:
            raise type(error)(f"cannot answer this query: {error.__cause__ or error}") from error
        finally:
            engine.close()

    def _computed(self, engine: Engine, definition: View, relation: Relation) -> pa.Table:
        for name in sorted(tables_of(relation)):
            fields, read = self._stored[name]
            rows, _ = Intake(fields, f"table {name}").rows(read())
            engine.put_table(name, engine.tables.made(Table(name, fields), rows, 1))
        installed = engine.installed(definition, engine.planned(relation), lambda progress: None)
        return installed.contents(engine.dictionary).arrow()
