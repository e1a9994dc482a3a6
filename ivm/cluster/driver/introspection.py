"""What `ivm_*` relations show of a database over shards: what each shard says of itself, with its number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from ivm.cluster.driver.shards import Shards
from ivm.cluster.protocol.questions import Question
from ivm.engine.backend import Reading
from ivm.engine.relations import NUMBER, REAL, TEXT, commits_of, deliveries_of, snapshots_of, subscriptions_of
from ivm.results.result import table_of

_SUMMED = ("rows", "bytes", "state_rows", "state_bytes")


def _of_shards(name: str, shards: Shards) -> pa.Table:
    """The rows of all shards, the shard's number first."""
    found = []
    for number, rows in enumerate(shards.ask(Question("relation", name))):
        found.append(rows.add_column(0, pa.field("shard", NUMBER), pa.array([number] * rows.num_rows, NUMBER)))
    return pa.concat_tables(found)


def _views(shards: Shards) -> pa.Table:
    """A row for each view, with the rows and bytes of all shards together."""
    whole = _of_shards("ivm_views", shards)
    found = []
    for name, view in shards.views.items():
        rows = whole.filter(pc.equal(whole.column("view"), name))
        one = rows.slice(0, 1).to_pylist()[0]
        summed = {column: pc.sum(rows.column(column)).as_py() for column in _SUMMED} | {
            "rows": len(shards.contents(name))
        }
        incremental = all(rows.column("incremental").to_pylist())
        notes = "; ".join(dict.fromkeys(note for note in rows.column("notes").to_pylist() if note))
        found.append(
            (name, one["sql"], *(summed[c] for c in _SUMMED), incremental, view.installed_ms, notes, one["time_zone"])
        )
    return table_of(
        found, view=TEXT, sql=TEXT, rows=NUMBER, bytes=NUMBER, state_rows=NUMBER, state_bytes=NUMBER,
        incremental=pa.bool_(), installed_ms=REAL, notes=TEXT, time_zone=TEXT,
    )  # fmt: skip


def _exchanges(shards: Shards) -> pa.Table:
    """A row for each channel: the level after which it is sent, how, how much has been, and who needs it."""
    found, came = [], _of_shards("ivm_operators", shards)
    for channel in shards.channels.by_name.values():
        names = [field.name for field in channel.relation.schema]
        views = [
            name for name, view in shards.maintained() if any(c.name == channel.name for c in view.distributed.channels)
        ]
        own = came.filter(pc.equal(came.column("operator"), f"view {channel.name}"))
        own = own.filter(pc.equal(own.column("view"), views[0]))  # of those that share it, it is listed under each
        sent = pc.sum(own.column("updates_in")).as_py() or 0
        found.append((channel.name, channel.level, channel.to.text(names), channel.rows, sent, sorted(views)))
    return table_of(
        found, exchange=TEXT, level=NUMBER, placement=TEXT, expected=REAL, updates=NUMBER, views=pa.list_(TEXT)
    )


def _commits(shards: Shards) -> pa.Table:
    return commits_of(shards.past)()


def _at_once(rows: Callable[[Shards], pa.Table], shards: Shards) -> Reading:
    """Shards say what is so now, so they are asked now."""
    found = rows(shards)
    return lambda: found


SHARDED: Mapping[str, Callable[[Shards], Reading]] = {
    "ivm_views": partial(_at_once, _views),
    "ivm_arrangements": partial(_at_once, partial(_of_shards, "ivm_arrangements")),
    "ivm_operators": partial(_at_once, partial(_of_shards, "ivm_operators")),
    "ivm_dataflow": partial(_at_once, partial(_of_shards, "ivm_dataflow")),
    "ivm_commits": partial(_at_once, _commits),
    "ivm_deliveries": lambda shards: deliveries_of(shards.listeners.delivered, shards.time),
    "ivm_snapshots": lambda shards: snapshots_of(()),
    "ivm_subscriptions": lambda shards: subscriptions_of(shards.listeners, shards.time),
    "ivm_exchanges": partial(_at_once, _exchanges),
}
"""What takes hold of each as it is, by its name."""
