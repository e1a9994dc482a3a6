"""Rows on their way to the shards that are to have them: so many at once that it pays."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

_LEAST, _EACH, _MOST = 1 << 24, 1 << 20, 1 << 26
"""So many bytes of rows are checked and spread over the shards at once: some for each group, within bounds."""


def together(batches: Iterator[pa.RecordBatch], groups: int) -> Iterator[pa.Table]:
    """Rows in fewer, larger tables: what is done once for each of them is done once for many rows."""
    waiting, size, enough = list[pa.RecordBatch](), 0, min(max(_LEAST, _EACH * groups), _MOST)
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            size += batch.nbytes
        if size >= enough:
            yield pa.Table.from_batches(waiting)
            waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)
