"""What a shard answers of a SELECT over its own rows, by DuckDB, on its way to the shards that are to have it."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.catalog.names import key
from ivm.catalog.schema import Table
from ivm.cluster.answers import answer
from ivm.cluster.protocol import Message
from ivm.cluster.questions import Question
from ivm.cluster.resident import Resident
from ivm.cluster.selection import Selection
from ivm.cluster.spreading import messages_for, together
from ivm.duck import Use, batches, connection, define, for_queries, offer, told
from ivm.engine.transaction import Change
from ivm.intake.incoming import Incoming
from ivm.trace.helpers import Helpers


def selected(resident: Resident, selection: Selection, shards: int) -> Iterator[list[Message]]:
    """A shard's rows of a selection as messages of a commit to so many shards, some at a time; see `Incoming.rows` and
    `told` for what is raised.

    Cost: the rows of what it reads are held in Arrow's form meanwhile.
    """
    catalog = Catalog()
    catalog.content = {key(selection.table.name): selection.table}
    incoming = Incoming(catalog, Helpers(1))
    for rows in together(_answered(resident, selection), shards):
        yield messages_for(Change(*incoming.rows(selection.table.name, rows, False)), shards)


def _answered(resident: Resident, selection: Selection) -> Iterator[pa.RecordBatch]:
    try:
        with connection(Use.CLOSED) as duck:
            for name in selection.reads:
                offer(duck, name, _rows(resident, name))
            for name, text in selection.defined:
                define(duck, name, text)
            for found in batches(duck, selection.text):
                yield from found.to_batches()
    except duckdb.Error as error:
        raise told(error, Use.CLOSED) from error


def _rows(resident: Resident, name: str) -> pa.Table:
    """A shard's rows of a table or a maintained view; of what each shard has only those of the first."""
    entry = resident.catalog.lookup(name)
    is_table = isinstance(entry, Table)
    fields = entry.fields if isinstance(entry, Table) else entry.schema
    rows = answer(resident, Question("table" if is_table else "view", entry.name))
    return for_queries(rows.select(range(len(fields))), fields)
