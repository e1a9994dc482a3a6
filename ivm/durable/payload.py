"""What the records of a database's log say: the changes of a commit, or of what exists.

A payload is the length of its head (4 bytes, the low one first), the head as JSON, zeros up to a multiple of 8, and
streams of rows, as many bytes each as the head says, all padded likewise.

The head of a COMMIT: `time`, its last logical time; `commits`, those that it is made of, which is one where commits
wait for the disk: of each its last time, and the source and the number of the batch that it was, or null; `changes`,
each with its `table`, `mode`, what to do with deletes of `missing` rows, and the `bytes` of its stream. The stream has
the columns of the table, or of its key alone where all rows go; behind them `_diff` if `diffs` says so (else all are
+1), and `_time` if `times` does (else it is the commit's).

The head of a DEFINITION: `time` as it is afterwards; `names`, those of all tables and views in their order; `tables`
and `views`, those that are new or have changed, see `ivm.catalog.plain`; `types`, all that have names;
`macros` and `sequences`, all there are, which may be missing; and `made`, for each
table that is new, also in place of one of its name, the `table` and the `bytes` of the stream of its first rows;
`altered`, which may be missing, for each table that keeps its rows in other columns or under another name, the `table`,
what it `was` called, and `taken`, for each column the place that it had, or null for one that is new, in which rows
that are there have its default; where it is among `made`, too, its rows are written anew, at no new time.

The head of a TRANSACTION is that of a DEFINITION and that of a COMMIT in one: its changes come when all is there that
is new, and tables that are new begin without rows.

An ALTERATION is either of these with tables `altered`: releases that know nothing of that would read it wrongly, and
refuse what is of a kind that they do not know. Earlier ones wrote a DEFINITION in its place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ivm.catalog.altering import Altered
from ivm.catalog.catalog import Catalog
from ivm.catalog.names import key
from ivm.catalog.plain import (
    macro_of,
    plain_macro,
    plain_sequence,
    plain_table,
    plain_type,
    plain_view,
    sequence_of,
    table_of,
    type_of,
    view_of,
)
from ivm.catalog.schema import Table
from ivm.durable.streams import Streams, read_stream
from ivm.engine.transaction import Change
from ivm.trace.columns.column import Ints
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.rows.table_store import Missing, Mode

COMMIT, DEFINITION, TRANSACTION, ALTERATION = 1, 2, 3, 4
KINDS = frozenset((COMMIT, DEFINITION, TRANSACTION, ALTERATION))
_JSON = json.JSONEncoder(separators=(",", ":"))
_STEP = 8
_WORD = 4
Pieces = list["bytes | memoryview"]
Batch = tuple[str, int]


class Given(NamedTuple):
    """One change of a commit, as it is logged; see `ivm.engine.transaction.Change`."""

    table: str
    rows: ArrowRows
    diffs: Ints | None
    times: Ints | None
    mode: Mode
    missing: Missing


class Commit(NamedTuple):
    """What a commit changed, its last logical time, and of each of those that were made one its last time and batch."""

    given: Sequence[Given]
    time: int
    made: Sequence[tuple[int, Batch | None]]

    @classmethod
    def of(cls, changes: Sequence[Change], time: int, batch: Batch | None) -> Commit:
        """A single commit."""
        given = [Given(each.table.name, each.data, each.diffs, each.times, each.mode, each.missing) for each in changes]
        return cls(given, time, ((time, batch),))


class Defining(NamedTuple):
    """A change of what exists: from what to what, at a logical time, with tables that are `made` and the rows that they
    begin with, also in place of one of the name, and others that are `altered` and keep theirs.
    """

    old: Catalog
    new: Catalog
    time: int
    made: Mapping[str, ArrowRows | None]
    altered: Sequence[Altered] = ()

    def lasting(self) -> Defining:
        """The same without anything that is temporary."""
        kept = self.new.lasting()
        made = {name: rows for name, rows in self.made.items() if kept.find(name) is not None}
        altered = [each for each in self.altered if not each.table.temporary]
        return Defining(self.old.lasting(), kept, self.time, made, altered)


def commit_payload(commit: Commit, streams: Streams) -> Pieces:
    """What a commit's record says. Cost: 30 microseconds and a copy of the rows."""
    head, bodies = _committed(commit, streams)
    return [*_head(head), *bodies]


def transaction_payload(to: Defining, commit: Commit, streams: Streams) -> Pieces:
    """What the record of a commit says with which other things come to exist; tables begin without rows."""
    head, bodies = _committed(commit, streams)
    none = [{"table": name, "bytes": 0} for name in to.made]
    return [*_head(head | {"made": none} | altered_head(to.altered) | definition_of(to.new, to.old)), *bodies]


def altered_head(altered: Sequence[Altered]) -> dict[str, Any]:
    """What a head says of tables that keep their rows; `read_altered` reads it."""
    kept = [{"table": each.table.name, "was": each.old.name, "taken": each.taken} for each in altered]
    return {"altered": kept} if kept else {}


def _committed(commit: Commit, streams: Streams) -> tuple[dict[str, Any], Pieces]:
    """The head of a commit, and its streams."""
    heads, bodies = [], Pieces()
    for given in commit.given:
        pieces = streams.pieces(given.table, given.rows, given.diffs, given.times)
        length = _add(bodies, pieces)
        said = {"table": given.table, "mode": given.mode, "missing": given.missing, "bytes": length}
        heads.append(said | {"diffs": given.diffs is not None, "times": given.times is not None})
    return {"time": commit.time, "commits": commit.made, "changes": heads}, bodies


def definition_payload(to: Defining, streams: Streams) -> Pieces:
    """What the record of a change of what exists says."""
    bodies, heads = Pieces(), []
    for name, rows in to.made.items():
        pieces = [] if rows is None else streams.pieces(name, rows, None, None)
        heads.append({"table": name, "bytes": _add(bodies, pieces)})
    head = {"time": to.time, "made": heads} | altered_head(to.altered) | definition_of(to.new, to.old)
    return [*_head(head), *bodies]


def definition_of(new: Catalog, old: Catalog | None = None) -> dict[str, Any]:
    """What exists, as plain values: all names and types, and the tables and views that `old` does not have."""
    before = {} if old is None else old.content
    changed = [entry for name, entry in new.content.items() if before.get(name) is not entry]
    return {
        "names": [entry.name for entry in new.content.values()],
        "tables": [plain_table(entry) for entry in changed if isinstance(entry, Table)],
        "views": [plain_view(entry) for entry in changed if not isinstance(entry, Table)],
        "types": {name: plain_type(type_) for name, type_ in new.named_types()},
        "macros": [plain_macro(macro) for macro in new.macros.values()],
        "sequences": [plain_sequence(each) for each in new.sequences.values()],
        "schemas": list(new.schemas),
        "comments": [[entry.name, column, text] for entry, column, text in new.comments],
    }


def catalog_of(head: Mapping[str, Any], old: Catalog | None = None) -> Catalog:
    """The catalog that `definition_of` wrote down, what it does not have taken from `old`."""
    entries = {} if old is None else dict(old.content)
    entries |= {key(table["name"]): table_of(table) for table in head["tables"]}
    entries |= {key(view["name"]): view_of(view) for view in head["views"]}
    catalog = Catalog()
    if old is not None:
        catalog.functions = old.functions
    for name, type_ in head["types"].items():
        catalog.add_type(name, type_of(type_))
    for plain in head.get("macros", ()):  # which earlier releases did not know
        catalog.add_macro(macro_of(plain))
    for plain in head.get("sequences", ()):
        catalog.add_sequence(sequence_of(plain))
    for name in head.get("schemas", ()):  # nor these
        catalog.add_schema(name)
    catalog.content = {key(name): entries[key(name)] for name in head["names"]}
    for name, column, text in head.get("comments", ()):
        catalog.comment(name, column, text)
    return catalog


def read_head(payload: pa.Buffer) -> tuple[dict[str, Any], int]:
    """The head of a payload, and where its streams begin."""
    length = int.from_bytes(payload.slice(0, _WORD).to_pybytes(), "little")
    head: dict[str, Any] = json.loads(payload.slice(_WORD, length).to_pybytes())
    return head, _padded(_WORD + length)


def read_commit(head: dict[str, Any], payload: pa.Buffer, at: int) -> Commit:
    """A commit. Its rows lie where the payload does."""
    given = []
    for each, stream in _streams(head["changes"], payload, at):
        rows, diffs, times = read_stream(stream, each["diffs"], each["times"])
        given.append(Given(each["table"], rows, diffs, times, each["mode"], each["missing"]))
    made = [(time, None if batch is None else (batch[0], batch[1])) for time, batch in head["commits"]]
    return Commit(given, head["time"], made)


def until(commit: Commit, time: int) -> Commit:
    """Those of the commits that were made one which are not after a logical time; that is one at least."""
    made = [each for each in commit.made if each[0] <= time]
    last = made[-1][0]
    kept = []
    for given in commit.given:
        times = np.full(given.rows.num_rows, commit.time, np.int64) if given.times is None else given.times
        mask = times <= last
        diffs = None if given.diffs is None else given.diffs[mask]
        kept.append(given._replace(rows=given.rows.filter(pa.array(mask)), diffs=diffs, times=times[mask]))
    return Commit([given for given in kept if given.rows.num_rows], last, made)


def read_made(head: dict[str, Any], payload: pa.Buffer, at: int) -> dict[str, pa.Table | None]:
    """The new tables, each with its first rows, or None."""
    made = _streams(head["made"], payload, at)
    return {each["table"]: read_stream(stream)[0] if each["bytes"] else None for each, stream in made}


def read_altered(head: Mapping[str, Any], old: Catalog, new: Catalog) -> list[Altered]:
    """The tables that keep their rows, as they were and as they are."""
    found = head.get("altered", ())  # which earlier releases did not know
    return [Altered(old.table(each["was"]), new.table(each["table"]), tuple(each["taken"])) for each in found]


def _streams(
    heads: Iterable[dict[str, Any]], payload: pa.Buffer, at: int
) -> Iterator[tuple[dict[str, Any], pa.Buffer]]:
    for each in heads:
        yield each, payload.slice(at, each["bytes"])
        at = _padded(at + each["bytes"])


def _head(head: dict[str, Any]) -> Pieces:
    text = _JSON.encode(head).encode()
    length = _WORD + len(text)
    return [len(text).to_bytes(_WORD, "little"), text, bytes(_padded(length) - length)]


def _add(bodies: Pieces, pieces: Sequence[pa.Buffer | bytes]) -> int:
    """Put a stream behind others; the bytes of it."""
    found = [memoryview(piece) for piece in pieces]
    length = sum(len(piece) for piece in found)
    bodies += [*found, bytes(-length % _STEP)]
    return length


def _padded(length: int) -> int:
    return length + -length % _STEP
