"""The rows of a table over shards that others meet, so that these can be inserted where they meet none."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ivm.catalog.schema import Table
from ivm.cluster.driver.shards import Shards
from ivm.cluster.protocol.questions import Question
from ivm.cluster.protocol.wire import stream_of
from ivm.session.conflicts import store_of
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary


def some_rows(
    shards: Shards, table: Table, keys: Sequence[tuple[int, ...]], rows: pa.Table, as_of: int | None = None
) -> tuple[TableStore, TextDictionary]:
    """See `Backend.some_rows`: a store of those rows alone, now or as of a time.

    Cost: every shard is sent the keys, and sends the rows that they meet.
    """
    used = {column for key in keys for column in key}
    columns = [
        rows.column(c) if c in used else pa.nulls(rows.num_rows, field.type) for c, field in enumerate(rows.schema)
    ]
    given = stream_of(rows.schema, pa.table(columns, schema=rows.schema).to_batches())
    question = Question("meeting", table.name, as_of, keys, given.to_pybytes().hex())
    dictionary = TextDictionary()
    return store_of(table, dictionary, pa.concat_tables(shards.ask(question))), dictionary
