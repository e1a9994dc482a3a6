"""Payloads: what is said to a shard at a level, as bytes, opaque to whoever carries them.

At the first level the changes of tables, as the log of a database has them; above, the rows of channels: a head in JSON
with the names and the lengths, and a stream of Arrow's IPC format for each.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from catalog.catalog import Catalog
from ivm.durable.payload import Commit, commit_payload, read_commit, read_head
from ivm.durable.streams import Streams
from ivm.transaction import Change

_WORD = 4
_streams = Streams()


def changes_payload(changes: Sequence[Change], time: int) -> bytes:
    """Changes of tables, in their order."""
    return b"".join(bytes(piece) for piece in commit_payload(Commit.of(changes, time, None), _streams))


def changes_in(payloads: Iterable[bytes], catalog: Catalog) -> list[Change]:
    """The changes of all payloads, one payload after the other."""
    found = []
    for payload in payloads:
        buffer = pa.py_buffer(payload)
        for each in read_commit(*_placed(buffer)).given:
            table = catalog.table(each.table)
            found.append(Change(table, each.rows, None, each.diffs, each.times, each.mode, each.missing))
    return found


def _placed(buffer: pa.Buffer) -> tuple[dict[str, object], pa.Buffer, int]:
    head, at = read_head(buffer)
    return head, buffer, at


def channels_payload(rows: Mapping[str, Sequence[pa.RecordBatch]]) -> bytes:
    """Rows of channels, by name."""
    streams = [_stream(batches) for batches in rows.values()]
    head = json.dumps([[name, len(stream)] for name, stream in zip(rows, streams, strict=True)]).encode()
    return b"".join([len(head).to_bytes(_WORD, "little"), head, *map(bytes, streams)])


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


def _stream(batches: Sequence[pa.RecordBatch]) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()
