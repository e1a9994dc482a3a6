"""Feeds: what has changed of a view that is followed, in files that the pages of versions name. Whoever follows it
reads these, and asks no shard.

A file is a stream of Arrow's IPC format: the columns of the view as its readers see them, `_time` and `_diff`. It is
written by a task of a shard in a version, under a name of its own, so those that no page names do no harm. A version
that defines such a view has what it holds then, at the logical time then; one in which nothing of it has changed at a
shard has nothing.
"""

from __future__ import annotations

import pyarrow as pa

from ivm.cluster.files.files import Files, fresh
from ivm.cluster.protocol.terms import Feed, Unwritten
from ivm.cluster.protocol.wire import stream_of
from ivm.storage.stored import Stored


def feeds_under(shard: int) -> str:
    """Where what has changed at a shard is."""
    return f"feeds/{shard}"


def write_feed(files: Files, shard: int, version: int, told: Unwritten) -> list[Feed]:
    """What a shard tells in a version. It is certain on return."""
    return [
        Feed(told.view, shard, told.is_apart, files.write(f"{feeds_under(shard)}/{version:020}.{fresh()}", piece))
        for piece in told.pieces
    ]


def feed_of(rows: pa.Table) -> bytes:
    """The bytes of such a file."""
    return stream_of(rows.schema, rows.to_batches()).to_pybytes()


def read_feed(files: Files, stored: Stored) -> pa.Table:
    """The rows of such a file, or of what a snapshot has of a view. StorageError if it cannot be read."""
    return pa.ipc.open_stream(files.bytes_of(stored)).read_all()
