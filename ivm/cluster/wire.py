"""Payloads: what is said to a shard at a level, as bytes, opaque to whoever carries them.

At the first level the changes of tables, as the log of a database has them; above, the rows of channels: a head in JSON
with the names and the lengths, and a stream of Arrow's IPC format for each.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.cluster.protocol import Message
from ivm.durable.payload import Commit, Given, commit_payload, read_commit, read_head
from ivm.durable.streams import Streams
from ivm.engine.transaction import Change
from ivm.trace.columns.exported import ArrowRows

Boxes = dict[int, dict[str, list[pa.RecordBatch]]]
"""What is said to each shard, by channel."""
_WORD = 4
_streams = Streams()


def changes_payload(changes: Sequence[Change], time: int) -> bytes:
    """Changes of tables, in their order."""
    return b"".join(bytes(piece) for piece in commit_payload(Commit.of(changes, time, None), _streams))


def changes_in(payloads: Iterable[bytes], catalog: Catalog) -> list[Change]:
    """The changes of a payload, in their order; of several payloads, which have none, those of a table as one: a row
    may come by one of them, and the row in whose place it is go by another.
    """
    given = [read_commit(*_placed(pa.py_buffer(payload))).given for payload in payloads]
    return [
        Change(catalog.table(each.table), each.rows, None, each.diffs, each.times, each.mode, each.missing)
        for each in (given[0] if len(given) == 1 else _as_one(chain.from_iterable(given)))
    ]


def _as_one(given: Iterable[Given]) -> Iterator[Given]:
    """Those of a table as one. Cost: 10 bytes a row are copied, and no column.

    Some may have the columns of the key alone, since all their rows go: NULL is in the others then, which nobody reads.
    """
    alike: dict[tuple[object, ...], list[Given]] = {}
    for each in sorted(given, key=lambda each: -each.rows.num_columns):  # the columns' order is that of whole rows
        alike.setdefault((each.table, each.mode, each.missing, each.times is None), []).append(each)
    for several in alike.values():
        first = several[0]
        diffs = [np.ones(each.rows.num_rows, np.int64) if each.diffs is None else each.diffs for each in several]
        times = [each.times for each in several if each.times is not None]
        yield first._replace(
            rows=pa.concat_tables([_table(each.rows) for each in several], promote_options="default"),
            diffs=None if all(each.diffs is None for each in several) else np.concatenate(diffs),
            times=np.concatenate(times) if times else None,
        )


def _table(rows: ArrowRows) -> pa.Table:
    return rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])


def _placed(buffer: pa.Buffer) -> tuple[dict[str, object], pa.Buffer, int]:
    head, at = read_head(buffer)
    return head, buffer, at


def channels_payload(rows: Mapping[str, Sequence[pa.RecordBatch]]) -> bytes:
    """Rows of channels, by name."""
    streams = [stream_of(batches[0].schema, batches) for batches in rows.values()]
    head = json.dumps([[name, len(stream)] for name, stream in zip(rows, streams, strict=True)]).encode()
    return b"".join([len(head).to_bytes(_WORD, "little"), head, *map(bytes, streams)])


def messages_of(boxes: Boxes) -> list[Message]:
    """What is said to each shard, as messages."""
    return [Message(to, channels_payload(box)) for to, box in sorted(boxes.items())]


def channels_in(payloads: Iterable[bytes]) -> dict[str, list[pa.RecordBatch]]:
    """The rows of all payloads, by channel."""
    found: dict[str, list[pa.RecordBatch]] = {}
    for payload in payloads:
        for name, stream in _parts(payload):
            found.setdefault(name, []).extend(pa.ipc.open_stream(stream))
    return found


def _parts(payload: bytes) -> Iterator[tuple[str, pa.Buffer]]:
    buffer = pa.py_buffer(payload)
    length = int.from_bytes(payload[:_WORD], "little")
    at = _WORD + length
    for name, size in json.loads(payload[_WORD:at]):
        yield name, buffer.slice(at, size)
        at += size


def stream_of(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Buffer:
    """Rows as a stream of Arrow's IPC format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()
