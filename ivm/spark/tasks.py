"""What Spark's workers run for a cluster: tasks of groups of shards, rows on their way in, and answers to questions.

On the wire an order is JSON: the order itself, where the folder is, and how the tables are declared whose rows come as
DataFrames. A process keeps its copies of shards from task to task.
"""

from __future__ import annotations

import gc
import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, NamedTuple

import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import Error, StorageError
from ivm.catalog.names import key
from ivm.catalog.plain import plain_table, table_of
from ivm.catalog.schema import Table
from ivm.cluster.files.files import Files
from ivm.cluster.files.folders import folder_of
from ivm.cluster.files.logs import LARGE, begun, writers, written
from ivm.cluster.files.versions import Version, Versions
from ivm.cluster.protocol.notes import note_of
from ivm.cluster.protocol.questions import Question
from ivm.cluster.protocol.selection import Selection
from ivm.cluster.protocol.terms import Failure, Group, Message, Order, Status
from ivm.cluster.protocol.wire import EXCHANGE, Said, messages_of, said_of, stream_of
from ivm.cluster.queries.spreading import together
from ivm.cluster.shard.answers import answer, rows_for
from ivm.cluster.shard.copies import Copies
from ivm.cluster.shard.resident import Resident
from ivm.engine.transaction import Change
from ivm.intake.change_feed import with_diffs
from ivm.intake.incoming import Incoming
from ivm.render.scalars.compiler import Compiler
from ivm.spark import parquet, wanted
from ivm.spark.bringing import ROOM
from ivm.spark.keeper import threads
from ivm.spark.meeting import answer_of
from ivm.spark.worker import framed
from ivm.trace.columns.intervals import with_texts
from ivm.trace.helpers import Helpers

Pairs = Iterator[tuple[int, bytes]]
_NOBODY = Group(-1, 0)
"""The group of a failure that is met before any shard is."""


class Root(NamedTuple):
    """Where a cluster keeps what it has: a folder by its address, and where in it the chain is that counts.

    `connection`: by whose orders, since what one has opened may not be what another opens later.
    """

    address: str
    under: str
    history: int
    connection: str


def order_text(order: Order, root: Root, tables: Mapping[str, Table], mode: str) -> bytes:
    """An order as bytes."""
    said = {
        "order": [order.version, order.id, order.published, order.levels, order.shards, order.what.hex()],
        "root": root,
        "tables": [plain_table(table) for table in tables.values()],
        "mode": mode,
    }
    return json.dumps(said).encode()


def question_text(
    root: Root, shards: int, version: Version, question: Question, columns: pa.Schema | None = None
) -> bytes:
    """A question about a version as bytes. `columns`: what `rows` is to give."""
    said = None if columns is None else columns.serialize().to_pybytes().hex()
    return _about(root, shards, version, question=question.text().decode(), columns=said)


class Target(NamedTuple):
    """Whom messages are for: so many groups of the shards of an order, whose files are in a root."""

    root: Root
    order: Order
    groups: int

    def plain(self) -> dict[str, Any]:
        """What `_to` is told, as plain values."""
        return {"root": self.root, "version": self.order.version, "shards": self.order.shards, "groups": self.groups}


def rows_text(
    root: Root, shards: int, version: Version, table: str, part: tuple[int, int], to: Target
) -> bytes:  # fmt: skip
    """What `moved_rows` is told, as bytes: the rows of which table, as of a version, and which of how many parts."""
    return _about(root, shards, version, table=table, part=part, to=to.plain())


def selection_text(root: Root, shards: int, version: Version, selection: Selection, to: Target) -> bytes:
    """What `selected_rows` is told, as bytes: what to select as of a version."""
    return _about(root, shards, version, selection=selection.plain(), to=to.plain())


def _about(root: Root, shards: int, version: Version, **more: Any) -> bytes:
    return json.dumps({"root": root, "shards": shards, "version": version.version, "id": version.id, **more}).encode()


def met_text(root: Root, name: str) -> bytes:
    """What `met` is told, as bytes: where the driver has written something."""
    return json.dumps({"root": root, "name": name}).encode()


def met(text: bytes, shard: int) -> Iterator[pa.RecordBatch]:
    """What a worker says of the folder; see `ivm.spark.meeting.meet`."""
    said = json.loads(text)
    root = Root(*said["root"])
    yield from answer_of(Files(folder_of(root.address, root.under)), said["name"], shard)


def task(
    text: bytes, group: int, groups: int, level: int, payloads: list[bytes]
) -> tuple[list[tuple[int, bytes]], bytes]:
    """A group's part of a level; see `ivm.cluster.shard.copies.Copies.run`."""
    said, order = _read(text)
    copies = _copies(Root(*said["root"]), order.shards)
    messages, status = copies.run(order, Group(group, groups), level, payloads)
    return [(each.to, each.payload) for each in messages], json.dumps(status).encode()


def status_of(text: bytes) -> Status:
    """What `task` said of how it went."""
    return Status.of(json.loads(text))


def ingest(text: bytes, groups: int, name: str, batches: Iterator[pa.RecordBatch], room: int | None) -> Pairs:
    """Rows of a DataFrame, checked against the table, on their way to the groups whose shards are to have them.

    What is wrong with them every group is told, so that all stop. `room`: for how many bytes of messages it has to be
    no file.
    """
    said, order = _read(text)
    catalog = Catalog()
    for plain in said["tables"]:
        catalog.content = {**catalog.content, key(plain["name"]): table_of(plain)}
    incoming = Incoming(catalog, _NO_HELP)
    root = Root(*said["root"])
    changes = (_change(incoming, catalog.table(name), rows, said["mode"]) for rows in together(batches, groups))
    spread = (said_of([change]) for change in changes)
    yield from _sent(Files(folder_of(root.address, root.under)), order.version, order.shards, groups, spread, room)


def _sent(
    files: Files, version: int, shards: int, groups: int, said: Iterator[list[Said]], room: int | None = None
) -> Pairs:
    """What is said on its way to groups, some at a time, what is large by files; or what is wrong, to all.

    `room`: beyond so many bytes what is small goes by files, too.
    """
    try:
        with writers() as beside:
            waiting = deque[Sequence[Message | Future[Message]]]()
            for several in said:
                wanted.check()
                messages, large = messages_of(several, shards, groups), LARGE
                if room is not None:
                    room -= sum(len(each.payload) for each in messages if len(each.payload) < LARGE)
                    large = LARGE if room >= 0 else 0
                waiting.append(begun(files, messages, version, 1, large, beside))
                if len(waiting) > _AHEAD:
                    yield from written(waiting.popleft())
            for each in waiting:
                yield from written(each)
    except StorageError:  # another try may do better
        raise
    except Error as error:
        note = note_of(Status(_NOBODY, 0, (), Failure(type(error).__name__, str(error))))
        yield from ((to, note) for to in range(groups))


def rows_of_files(argument: bytes) -> Iterator[pa.RecordBatch]:
    """The rows of files that a task is to read: those of a DataFrame that is nothing else, or of a query's part."""
    said = json.loads(argument)
    if "query" not in said:
        yield from parquet.rows(said)
        return
    from ivm.cluster.queries.file_parts import rows  # noqa: PLC0415  DuckDB, which other tasks need not load

    yield from rows(said)


def _change(incoming: Incoming, table: Table, rows: pa.Table, mode: str) -> Change:
    """Rows as a change: by a mode of `Database.apply`, or of `Database.sink`; or as INSERT has them."""
    if mode == "insert":
        return Change(*incoming.rows(table.name, rows, False))
    if mode == "changes":
        return incoming.change(table.name, with_diffs(rows, table), "diff")
    return incoming.change(table.name, rows, "upsert" if mode == "upsert" else "diff")


def answers(text: bytes, shard: int) -> Iterator[pa.RecordBatch]:
    """What a shard answers, as of a version, as the bytes of a stream of Arrow's IPC format."""
    found = _answered(text, shard)
    payload = stream_of(found.schema, found.to_batches()).to_pybytes()
    columns = [pa.array([shard], pa.int32()), pa.array([payload], pa.binary())]
    yield pa.RecordBatch.from_arrays(columns, ["shard", "payload"])


def rows(text: bytes, shard: int) -> Iterator[pa.RecordBatch]:
    """The rows that a shard answers, as of a version, in the types that were asked for."""
    columns = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(json.loads(text)["columns"])))
    yield from with_texts(_answered(text, shard)).cast(columns).to_batches()


def moved_rows(text: bytes, shard: int) -> Iterator[pa.RecordBatch]:
    """A part of the rows of a table that a shard has, as of a version, as messages to other shards."""
    with _reading(text, shard) as (said, resident):
        yield from _to(said["to"], rows_for(resident, said["table"], *said["part"]))


def selected_rows(text: bytes, shard: int) -> Iterator[pa.RecordBatch]:
    """The rows of a selection that a shard has, as of a version, as messages of the commit that follows it."""
    from ivm.cluster.shard.selecting import selected  # noqa: PLC0415  DuckDB, which other tasks need not load

    with _reading(text, shard) as (said, resident):
        yield from _to(said["to"], selected(resident, Selection.of(said["selection"]), said["to"]["shards"]))


def _to(to: Mapping[str, Any], said: Iterator[list[Said]]) -> Iterator[pa.RecordBatch]:
    """What is said as frames of messages, of which so many bytes as the driver has room for are no file."""
    root = Root(*to["root"])
    files = Files(folder_of(root.address, root.under))
    messages = _sent(files, to["version"], to["shards"], to["groups"], said, ROOM)
    yield from framed((group, 0, payload) for group, payload in messages)


def _answered(text: bytes, shard: int) -> pa.Table:
    with _reading(text, shard) as (said, resident):
        return answer(resident, Question(**json.loads(said["question"])))


@contextmanager
def _reading(text: bytes, shard: int) -> Iterator[tuple[dict[str, Any], Resident]]:
    """What somebody wants to know, and the shard as of the version that it is about."""
    said = json.loads(text)
    copies = _copies(Root(*said["root"]), said["shards"])
    with copies.reading(shard, said["version"], said["id"]) as resident:
        assert isinstance(resident, Resident), "the shards are these"
        yield said, resident


def _read(text: bytes) -> tuple[dict[str, Any], Order]:
    said = json.loads(text)
    version, id_, published, levels, shards, what = said["order"]
    return said, Order(version, id_, published, bytes.fromhex(what), levels, shards)


_kept: tuple[tuple[Root, int], Copies] | None = None


def _copies(root: Root, shards: int) -> Copies:
    """The copies of this process, which are those of one database at a time. What compiles for them ends with them."""
    global _kept  # noqa: PLW0603  of the process, as the copies are
    if _kept is not None and _kept[0] != (root, shards):
        _kept = None
        gc.unfreeze()  # what was put aside as staying for good does not
        gc.collect()
        gc.freeze()
    if _kept is None:
        compiler, versions = Compiler(wait=False), Versions(Files(folder_of(root.address, root.under)))
        helpers = Helpers(threads())

        def make(shard: int) -> Resident:
            return Resident(shard, shards, compiler, root.history, helpers=helpers)

        copies = Copies(versions, make, EXCHANGE, every=_EVERY, between=wanted.check)
        _kept = (root, shards), copies
    return _kept[1]


_EVERY = 64
"""Each shard is saved once in so many versions."""
_NO_HELP = Helpers(1)
_AHEAD = 3
"""So many times such rows are on their way into files while the next ones are read."""
