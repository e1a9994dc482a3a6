"""What shards say to each other, and the driver to them: rows, each with the shard that it is for.

All that the shards of a group say by a channel is put together by one pass, in the order of the groups and shards that
it is for. So each group gets one message, and each of its shards a slice of what came, which is not copied again.
A message is a head in JSON (of each part what it is of, which of its rows are for whom, and the length), and a stream
of Arrow's IPC format for each part. Who carries messages need not know.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.cluster.protocol.placing import placement_of
from ivm.cluster.protocol.routing import Address
from ivm.cluster.protocol.terms import Exchange, Message
from ivm.distribute.placement import Hashed
from ivm.durable.streams import stream_pieces
from ivm.engine.transaction import Change
from ivm.trace.columns.arrow import numbers_from, numbers_in
from ivm.trace.columns.column import Ints
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.rows.table_store import Missing, Mode

_WORD = 4
_STEP = 8
"""What is in a message begins at multiples of so many bytes."""
_MANY = 1 << 13
"""From so many rows on a copy of them takes longer than Python does for each of their arrays."""
_WIDE = 1 << 30
"""From so many bytes on texts are put together as Arrow has long ones."""
_WIDER = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}


class OfTable(NamedTuple):
    """What is said of a table: changes of a mode, whose rows have diffs, or times, in columns behind theirs."""

    table: str
    mode: Mode
    missing: Missing
    diffs: bool
    times: bool


What = str | OfTable
"""A channel by its name; or a table."""


class Said(NamedTuple):
    """What a shard says by a channel, or the driver of a table. `to`: for whom each row is; None: all go to all."""

    what: What
    rows: ArrowRows
    to: Address | None


class Part(NamedTuple):
    """What is said to a group. `places`: of each shard its first row, and how many it gets."""

    what: What
    rows: ArrowRows
    places: Mapping[int, tuple[int, int]]


class Heard(NamedTuple):
    """What a shard is given of a part. `message`: the number of the one that it came by."""

    what: What
    rows: ArrowRows
    message: int


def said_of(changes: Iterable[Change]) -> list[Said]:
    """Changes of tables, in their order, to the shards whose rows they change; of some rows the key may be all."""
    return [_said(change) for change in changes if change.data.num_rows]


def _said(change: Change) -> Said:
    rows, table, place = change.data, change.table, placement_of(change.table)
    to = None
    if isinstance(place, Hashed):
        has_all = rows.num_columns == len(table.fields)
        columns = (c if has_all else table.key_indexes.index(c) for c in place.columns)
        to = Address(tuple(columns), tuple(table.fields[c].type for c in place.columns))
    numbers = [each for each in (change.diffs, change.times) if each is not None]
    for number in numbers:  # by no name, as a column of the table may have any
        rows = rows.append_column(pa.field("", pa.int64(), nullable=False), numbers_from(np.asarray(number, np.int64)))
    what = OfTable(table.name, change.mode, change.missing, change.diffs is not None, change.times is not None)
    return Said(what, rows, to)


def parts(said: Iterable[Said], shards: int, groups: int) -> list[list[Part]]:
    """What each of so many groups is to hear. What is said by one channel is together, changes of tables are not.

    Cost: a copy of all rows, in the order of the shards that they are for; one more where several say something.
    """
    alike: dict[object, list[Said]] = {}
    for number, each in enumerate(said):
        if each.rows.num_rows:
            alike.setdefault(each.what if isinstance(each.what, str) else number, []).append(each)
    found: list[list[Part]] = [[] for _ in range(groups)]
    for several in alike.values():
        rows, what = _together([each.rows for each in several]), several[0].what
        if several[0].to is None:
            for group, message in enumerate(found):
                message.append(Part(what, rows, dict.fromkeys(range(group, shards, groups), (0, rows.num_rows))))
            continue
        for group, part in _by_group(what, rows, _shards_of(several, rows, several[0].to, shards), shards, groups):
            found[group].append(part)
    return found


def _shards_of(several: Sequence[Said], rows: ArrowRows, to: Address, shards: int) -> Ints:
    """The shard of each row of what several say by one channel, one after the other."""
    chosen = to.shards(rows, shards)
    beyond = [0 if each.to is None else each.to.beyond for each in several]
    if any(beyond):
        chosen = (chosen + np.repeat(beyond, [each.rows.num_rows for each in several])) % shards
    return chosen


def _by_group(what: What, rows: ArrowRows, to: Ints, shards: int, groups: int) -> Iterator[tuple[int, Part]]:
    """What each group gets of rows: each of its shards what lies side by side."""
    each = -(-shards // groups)
    place: Ints = (to % groups * each + to // groups).astype(np.uint16 if groups * each <= 1 << 16 else np.int64)
    bounds = np.zeros(groups * each + 1, np.int64)
    np.cumsum(np.bincount(place, minlength=groups * each), out=bounds[1:])
    if np.any(place[1:] < place[:-1]):
        rows = rows.take(numbers_from(np.argsort(place, kind="stable")))
    for group in range(groups):
        inner = bounds[group * each : (group + 1) * each + 1].tolist()
        first, last = inner[0], inner[-1]
        if first < last:
            numbers = range(group, shards, groups)
            places = {
                shard: (begin - first, end - begin)
                for shard, begin, end in zip(numbers, inner[:-1], inner[1:], strict=False)
                if begin < end
            }
            yield group, Part(what, rows.slice(first, last - first), places)


def heard(messages: Iterable[Sequence[Part]]) -> dict[int, list[Heard]]:
    """What each shard is given by messages; of rows that they share none is copied."""
    found: dict[int, list[Heard]] = {}
    for number, message in enumerate(messages):
        for what, rows, places in message:
            for shard, (first, count) in places.items():
                found.setdefault(shard, []).append(Heard(what, rows.slice(first, count), number))
    return found


def messages_of(said: Iterable[Said], shards: int, groups: int) -> list[Message]:
    """What is said to each group, as messages. Cost: see `parts`; and a copy."""
    return [Message(group, _payload(each)) for group, each in enumerate(parts(said, shards, groups)) if each]


def heard_in(payloads: Iterable[bytes]) -> dict[int, list[Heard]]:
    """What payloads of `messages_of` have for each shard. Cost: some 50 microseconds for each part."""
    return heard([*_parts_in(payload)] for payload in payloads)


EXCHANGE = Exchange(messages_of, heard_in)
"""How shards of engines exchange rows."""


def changes_in(given: Iterable[Heard], catalog: Catalog) -> list[Change]:
    """The changes of one message, in their order; of several, which have none, those of a table as one: a row may come
    by one of them, and the row in whose place it is go by another.
    """
    found = [(_change(each, each.what, catalog), each.message) for each in given if isinstance(each.what, OfTable)]
    changes = [change for change, _ in found]
    return changes if len({message for _, message in found}) <= 1 else list(_as_one(changes))


def channels_in(given: Iterable[Heard]) -> dict[str, list[pa.RecordBatch]]:
    """The rows of each channel."""
    found: dict[str, list[pa.RecordBatch]] = {}
    for what, rows, _ in given:
        if isinstance(what, str):
            found.setdefault(what, []).extend(_table(rows).to_batches() if isinstance(rows, pa.Table) else [rows])
    return found


def stream_of(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Buffer:
    """Rows as a stream of Arrow's IPC format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def _change(given: Heard, what: OfTable, catalog: Catalog) -> Change:
    rows = given.rows
    width = rows.num_columns - what.diffs - what.times
    diffs = _numbers(rows.column(width)) if what.diffs else None
    times = _numbers(rows.column(width + what.diffs)) if what.times else None
    whole = rows.select(list(range(width))) if width < rows.num_columns else rows
    return Change(catalog.table(what.table), whole, None, diffs, times, what.mode, what.missing)


def _as_one(changes: Iterable[Change]) -> Iterator[Change]:
    """Those of a table as one. Cost: 10 bytes a row are copied, and no column.

    Some may have the columns of the key alone, since all their rows go: NULL is in the others then, which nobody reads.
    """
    alike: dict[tuple[object, ...], list[Change]] = {}
    for each in sorted(changes, key=lambda each: -each.data.num_columns):  # the columns' order is that of whole rows
        alike.setdefault((each.table.name, each.mode, each.missing, each.times is None), []).append(each)
    for several in alike.values():
        first = several[0]
        diffs = [np.ones(each.data.num_rows, np.int64) if each.diffs is None else each.diffs for each in several]
        times = [each.times for each in several if each.times is not None]
        yield first._replace(
            data=pa.concat_tables([_table(each.data) for each in several], promote_options="default"),
            diffs=None if all(each.diffs is None for each in several) else np.concatenate(diffs),
            times=np.concatenate(times) if times else None,
        )


def _payload(message: Sequence[Part]) -> bytes:
    heads, bodies = list[object](), list[pa.Buffer | bytes]()
    for what, rows, places in message:
        batches, schema = _table(rows).to_batches(), rows.schema.remove_metadata()
        pieces = stream_pieces(schema, batches) if rows.num_rows >= _MANY else [stream_of(schema, batches)]
        length = sum(len(memoryview(piece)) for piece in pieces)
        heads.append([what, [[shard, *place] for shard, place in places.items()], length])
        bodies += [*pieces, bytes(-length % _STEP)]
    head = json.dumps(heads, separators=(",", ":")).encode()
    return b"".join([len(head).to_bytes(_WORD, "little"), head, bytes(-(_WORD + len(head)) % _STEP), *bodies])


def _parts_in(payload: bytes) -> Iterator[Part]:
    buffer = pa.py_buffer(payload)
    at = _WORD + int.from_bytes(payload[:_WORD], "little")
    heads = json.loads(payload[_WORD:at])
    for what, places, length in heads:
        at += -at % _STEP
        with pa.ipc.open_stream(buffer.slice(at, length)) as reader:
            batches = list(reader)
        at += length
        rows = batches[0] if len(batches) == 1 else pa.Table.from_batches(batches)
        of = what if isinstance(what, str) else OfTable(*what)
        yield Part(of, rows, {shard: (first, count) for shard, first, count in places})


def _together(several: Sequence[ArrowRows]) -> ArrowRows:
    """Rows one after the other, in one piece, if Arrow can have them so."""
    if len(several) == 1 and isinstance(several[0], pa.RecordBatch):
        return several[0]
    table = pa.concat_tables([_table(each) for each in several])
    if table.nbytes > _WIDE:
        table = table.cast(pa.schema([field.with_type(_WIDER.get(field.type, field.type)) for field in table.schema]))
    table = table.combine_chunks()
    batches = table.to_batches()
    return batches[0] if len(batches) == 1 else table


def _table(rows: ArrowRows) -> pa.Table:
    return rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])


def _in_one(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _numbers(column: pa.Array | pa.ChunkedArray) -> Ints:
    found: Ints = numbers_in(_in_one(column))
    return found
