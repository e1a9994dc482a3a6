"""Rows on their way to the shards that are to have them: so many at once that it pays, as messages of a commit."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from ivm.cluster.protocol import Message
from ivm.cluster.tables import parts_of
from ivm.cluster.wire import changes_payload
from ivm.engine.transaction import Change

_LEAST, _EACH, _MOST = 1 << 24, 1 << 20, 1 << 26
"""So many bytes of rows are checked and spread over the shards at once: some for each, within bounds."""


def together(batches: Iterator[pa.RecordBatch], shards: int) -> Iterator[pa.Table]:
    """Rows in fewer, larger tables: what is done once for each of them is done once for many rows."""
    waiting, size, enough = list[pa.RecordBatch](), 0, min(max(_LEAST, _EACH * shards), _MOST)
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            size += batch.nbytes
        if size >= enough:
            yield pa.Table.from_batches(waiting)
            waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def messages_for(change: Change, shards: int) -> list[Message]:
    """What each shard is told of a change at the first level of a commit, whose time the change is at."""
    return [Message(to, changes_payload([part], 0)) for to, part in parts_of(change, shards)]
