"""SELECTs over tables and views of a cluster that each shard can answer from its own rows: all their answers together
are the answer. What needs rows of several shards is none.

Of one that needs more than a row, because it has joins or groups, a plan shows it: that of a view of it would send
nothing. It is made without what foreign keys promise, which does not hold of the rows of a shard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb
import pyarrow as pa

from ivm.analysis.unique_keys import unique_keys
from ivm.catalog.catalog import Catalog
from ivm.catalog.clock import is_own
from ivm.catalog.errors import Error
from ivm.catalog.names import key, quoted
from ivm.catalog.schema import Table, View
from ivm.catalog.zones import UTC
from ivm.cluster.protocol.selection import Reads
from ivm.cluster.queries.of_a_row import is_named, scans_of
from ivm.duck import Use, answer, columns, connection, define, for_queries, offer
from ivm.sql.bind.query import bind, has_answer
from ivm.sql.ir.rebuild import nodes, rebuilt, scalars_of
from ivm.sql.ir.relation import Get, Reduce, Relation
from ivm.sql.ir.scalar import Scalar, walk
from ivm.subscriptions.unnamed import is_unnamed
from ivm.trace.columns.arrow import arrow_type
from ivm.transform.pipeline import optimize


@dataclass(slots=True)
class OwnQuery:
    """What a SELECT reads, by the names that it, or a view among these, calls them: `read` at the shards, or `defined`
    by a text, those first which others read. `columns`: their names; `told`: what was asked of them. `joined`: see
    `Reads`.
    """

    read: dict[str, Table | View] = field(default_factory=dict)
    defined: dict[str, tuple[View, str]] = field(default_factory=dict)
    columns: Sequence[str] = ()
    told: pa.Table | None = None
    joined: bool = False

    def reads(self, text: str, *, once: bool) -> Reads:
        """What is to be done with it at shards, by a text over the same. `once`: see `Reads`."""
        defined = tuple((name, defined) for name, (_, defined) in self.defined.items())
        return Reads(text, tuple(self.read), defined, self.joined, once)

    def is_of(self, catalog: Catalog) -> bool:
        """Whether all that it reads is what there is."""
        entries = {**self.read, **{name: view for name, (view, _) in self.defined.items()}}
        return all(catalog.find(name) is entry for name, entry in entries.items())


def own_query(text: str, catalog: Catalog, texts: Mapping[str, str], form: str = "") -> OwnQuery | None:
    """A SELECT as one that each shard can answer, if it is, or if it has joins or groups: then `relation_of` is to be
    planned. `texts`: those of views, by name. `form`: what asks of its columns, if anybody does; it is answered as if
    there were no rows.

    Cost: some 1.5 ms, and as much for a form.

    None also where DuckDB refuses it: whoever answers it in another way says why.
    """
    try:
        with connection(Use.FEW) as duck:
            found = _read(duck, text, catalog.fixed(), texts)
            if found is None:
                return None
            for name, entry in found.read.items():
                offer(duck, name, _no_rows(entry))
            for name, (_, defined) in found.defined.items():
                define(duck, name, defined)
            found.columns = columns(duck, text)
            if form:
                found.told = answer(duck, form.replace("{}", text))
    except (duckdb.Error, KeyError, ValueError):
        return None
    return found


def relation_of(text: str, catalog: Catalog) -> Relation | None:
    """The relation of a query with joins or groups, without what foreign keys promise; None where it is not known that
    whoever computes it gets the very same, as sums of DOUBLE depend on the order of rows.
    """
    try:
        relation = bind(text, catalog).relation
    except Error:
        return None
    for node in nodes(relation):
        if any(field.type.is_collated for field in node.schema):
            return None
        if isinstance(node, Reduce) and any(_is_inexact(scalar) for scalar in scalars_of(node)):
            return None
    return rebuilt(relation, lambda node: replace(node, references=()) if isinstance(node, Get) else node)


def unmet_texts(table: Table, query: str, text: str, names: Sequence[str], catalog: Catalog) -> tuple[str, str] | None:
    """A query whose columns are for those of these names of a table, and the text of the table's rows that is made of
    it, both without rows that meet one of the table on its primary key; None where rows may meet each other, or a cast
    may change their keys.
    """
    places = [names.index(name) for name in table.primary_key if name in names]
    try:
        relation = optimize(bind(query, catalog).relation)
    except Error:
        return None
    is_cast = any(relation.schema[place].type != table.fields[table.index(names[place])].type for place in places)
    if len(places) < len(table.primary_key) or is_cast or not any(key <= set(places) for key in unique_keys(relation)):
        return None
    new, there = quoted("ivm new rows"), quoted("ivm rows there")
    alike = " AND ".join(f"{new}.{quoted(name)} = {there}.{quoted(name)}" for name in table.primary_key)
    behind = f"ANTI JOIN {quoted(table.name)} AS {there} ON {alike}"
    columns = ", ".join(map(quoted, names))
    return f"SELECT * FROM ({query}) AS {new}({columns}) {behind}", f"SELECT * FROM ({text}) AS {new} {behind}"


def _is_inexact(scalar: Scalar) -> bool:
    return any(each.type.is_float for each in walk(scalar))


def _read(duck: duckdb.DuckDBPyConnection, text: str, catalog: Catalog, texts: Mapping[str, str]) -> OwnQuery | None:
    """What a text reads, if it needs no more than a row, or has joins or groups; None where it needs more."""
    for joined in (False, True):
        found = OwnQuery(joined=joined)
        if _reads(duck, text, found, catalog, texts) and found.read:
            return found
    return None


def _reads(
    duck: duckdb.DuckDBPyConnection, text: str, found: OwnQuery, catalog: Catalog, texts: Mapping[str, str]
) -> bool:
    """Note what a text reads; whether it does nothing with that which needs more than a row, or is joined."""
    scans = scans_of(duck, text, joined=found.joined)
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
    if entry is None or (is_own(entry.name) and not is_unnamed(entry.name)):
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
