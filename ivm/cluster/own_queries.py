"""SELECTs over tables and views of a cluster that each shard can answer from its own rows: all their answers together
are the answer. What needs rows of several shards is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.catalog.clock import is_own
from ivm.catalog.names import key
from ivm.catalog.schema import Table, View
from ivm.catalog.zones import UTC
from ivm.cluster.of_a_row import is_named, scans_of
from ivm.cluster.selection import Reads
from ivm.duck import Use, answer, connection, define, for_queries, offer
from ivm.sql.bind.query import has_answer
from ivm.trace.columns.arrow import arrow_type

DESCRIBED = "DESCRIBE {}"


@dataclass(slots=True)
class OwnQuery:
    """What a SELECT reads, by the names that it, or a view among these, calls them: `read` at the shards, or `defined`
    by a text, those first which others read. `told`: what was asked of its columns.
    """

    read: dict[str, Table | View] = field(default_factory=dict)
    defined: dict[str, tuple[View, str]] = field(default_factory=dict)
    told: pa.Table | None = None

    def reads(self, text: str) -> Reads:
        """What is to be done with it at shards, by a text over the same."""
        return Reads(text, tuple(self.read), tuple((name, defined) for name, (_, defined) in self.defined.items()))

    def is_of(self, catalog: Catalog) -> bool:
        """Whether all that it reads is what there is."""
        entries = {**self.read, **{name: view for name, (view, _) in self.defined.items()}}
        return all(catalog.find(name) is entry for name, entry in entries.items())


def own_query(text: str, catalog: Catalog, texts: Mapping[str, str], form: str = DESCRIBED) -> OwnQuery | None:
    """A SELECT as one that each shard can answer, if it is; `texts`: those of views, by name. `form`: what asks of its
    columns, which is answered as if there were no rows.

    None also where DuckDB refuses it: whoever answers it in another way says why.
    """
    found = OwnQuery()
    try:
        with connection(Use.CLOSED) as duck:
            if not _reads(duck, text, found, catalog.fixed(), texts) or not found.read:
                return None
            for name, entry in found.read.items():
                offer(duck, name, _no_rows(entry))
            for name, (_, defined) in found.defined.items():
                define(duck, name, defined)
            found.told = answer(duck, form.replace("{}", text))
    except (duckdb.Error, KeyError, ValueError):
        return None
    return found


def _reads(
    duck: duckdb.DuckDBPyConnection, text: str, found: OwnQuery, catalog: Catalog, texts: Mapping[str, str]
) -> bool:
    """Note what a text reads; whether it does nothing with that which needs more than a row."""
    scans = scans_of(duck, text)
    return scans is not None and all(
        is_named(scan) and _is_read(duck, scan["table_name"], found, catalog, texts) for scan in scans
    )


def _is_read(
    duck: duckdb.DuckDBPyConnection, name: str, found: OwnQuery, catalog: Catalog, texts: Mapping[str, str]
) -> bool:
    known = {key(each) for each in (*found.read, *found.defined)}
    entry = catalog.find(name)
    if key(name) in known:
        return True
    if entry is None or is_own(entry.name):
        return False
    if isinstance(entry, Table) or entry.maintained:
        found.read[name] = entry
        return True
    text = texts[entry.name]
    if entry.zone != UTC or not has_answer(text) or not _reads(duck, text, found, catalog, texts):
        return False
    found.defined[name] = entry, text
    return True


def _no_rows(entry: Table | View) -> pa.Table:
    fields = entry.fields if isinstance(entry, Table) else entry.schema
    schema = pa.schema([pa.field(each.name, arrow_type(each.type)) for each in fields])
    return for_queries(schema.empty_table(), fields)
