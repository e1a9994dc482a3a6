"""What a shard answers of a SELECT over its own rows, by DuckDB: for the shards that are to have it, or for a file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import Error, StorageError
from ivm.catalog.names import key
from ivm.catalog.schema import Table
from ivm.cluster.files.files import fresh
from ivm.cluster.protocol.selection import Reads, Selection
from ivm.cluster.protocol.terms import Failure, Unlike
from ivm.cluster.protocol.wire import Said, said_of
from ivm.cluster.queries.spreading import together
from ivm.cluster.shard.held import rows_of_table, rows_of_view
from ivm.cluster.shard.resident import Resident
from ivm.duck import Use, batches, connection, define, for_queries, offer, told, write
from ivm.engine.transaction import Change
from ivm.intake.incoming import Incoming
from ivm.session.writing import file_in, text_of_file
from ivm.trace.helpers import Helpers

_FEW = 1 << 17
"""Fewer rows than this one thread is as soon done with as several."""


def selected(resident: Resident, selection: Selection, shards: int) -> Iterator[list[Said]]:
    """A shard's rows of a selection as what is said in a commit to so many shards, some at a time; see `Incoming.rows`
    and `told` for what is raised.

    Cost: the rows of what it reads are held in Arrow's form meanwhile.
    """
    catalog = Catalog()
    catalog.content = {key(selection.table.name): selection.table}
    incoming = Incoming(catalog, Helpers(1))
    for rows in together(_answered(resident, selection.query.at(resident.number)), shards):
        yield said_of([Change(*incoming.rows(selection.table.name, rows, False))])


def written(resident: Resident, query: Reads, options: str, folder: str, format: str) -> pa.Table:
    """Write a shard's rows of a query to a file of a folder, see `ivm.session.writing`; how many rows, and what it has
    failed by.

    The file has its own name once it is whole: whoever writes it again writes the same rows, and disturbs nobody.
    """
    aside, file = os.path.join(folder, f"part {fresh()}"), file_in(folder, resident.number, format)
    count, failure = 0, None
    try:
        if not os.path.isdir(folder):
            raise Unlike("there is no such folder here")
        with _over(resident, query, Use.PART) as duck:
            count = write(duck, text_of_file(query.at(resident.number).text, aside, options))
        os.replace(aside, file)
    except OSError as error:
        failure = Failure(StorageError.__name__, f"cannot write {file}: {error.strerror or error}")
    except Error as error:
        failure = Failure(type(error).__name__, str(error))
    said = pa.array([None if failure is None else json.dumps(failure)], pa.string())
    return pa.table({"rows": pa.array([count], pa.int64()), "failure": said})


def _answered(resident: Resident, query: Reads) -> Iterator[pa.RecordBatch]:
    rows = sum(_count(resident, name) for name in query.reads)
    with _over(resident, query, Use.FEW if rows < _FEW else Use.CLOSED) as duck:
        for found in batches(duck, query.text):
            yield from found.to_batches()


@contextmanager
def _over(resident: Resident, query: Reads, use: Use) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection on which names stand for what a shard has. DuckDB's errors are told as ours."""
    try:
        with connection(use) as duck:
            for name in query.reads:
                offer(duck, name, _rows(resident, name, query.joined))
            for name, text in query.defined:
                define(duck, name, text)
            yield duck
    except duckdb.Error as error:
        raise told(error, use) from error


def _count(resident: Resident, name: str) -> int:
    """How many rows of a table, or changes of a view, there are here."""
    entry, engine = resident.catalog.lookup(name), resident.engine
    return engine.tables[entry.name].count if isinstance(entry, Table) else len(engine.views[entry.name].log)


def _rows(resident: Resident, name: str, whole: bool) -> pa.Table:
    """A shard's rows of a table or a maintained view; of what each shard has only those of the first, or `whole`."""
    entry = resident.catalog.lookup(name)
    is_table = isinstance(entry, Table)
    fields = entry.fields if isinstance(entry, Table) else entry.schema
    rows = (rows_of_table if is_table else rows_of_view)(resident, entry.name, whole=whole)
    return for_queries(rows.select(range(len(fields))), fields)
