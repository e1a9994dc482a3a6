"""The part's view of itself: the relations ivm_views, ivm_arrangements, ivm_dataflow, ivm_commits and their like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from ivm.dataflow.loop import Iterate
from ivm.dataflow.node import Node
from ivm.deliveries.target import Delivered
from ivm.engine.backend import Reading
from ivm.engine.described_nodes import described_nodes
from ivm.engine.part import Part
from ivm.engine.past import Past, StillRead
from ivm.kernels.memory.allocator import resident_bytes
from ivm.operators.operator import StateSize
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.node import Plan
from ivm.plan.text import costs, remarks
from ivm.results.result import table_of
from ivm.subscriptions.listeners import Listeners

TEXT, NUMBER, REAL = pa.string(), pa.int64(), pa.float64()
MOMENT = pa.timestamp("us", "UTC")
_PROCESS = "interpreter, libraries, compiled kernels, memory freed and kept, data of the caller"


@dataclass(frozen=True, slots=True)
class State:
    """One piece of state: what it holds, by which key, how large it is, and the views that need it."""

    arrangement: str
    collection: str
    key: str
    kind: str
    size: StateSize
    views: tuple[str, ...]


def states(part: Part) -> list[State]:
    """All memory: tables, indexes over them, text, derived arrangements, operators' own state, views' contents, and
    what else the process holds.

    Groups that joins look up are listed under their key as well, without rows and bytes: those are the reduce's. So are
    primary keys', which count for the table.
    """
    users, text = part.users_of_nodes(), StateSize(bytes=part.text_bytes())
    found: list[State] = []
    for name, store in part.tables.items():
        feeds = part.renderer.sources.get(name, {}).values()
        readers = dict.fromkeys(view for feed in feeds for view in users.get(id(feed), ()))
        key = ", ".join(store.table.primary_key)
        found.append(State(name, name, key, "table", store.size(), tuple(sorted(readers))))
    for store, index in part.unread():  # such as those that checking foreign keys takes
        key = ", ".join(store.table.fields[c].name for c in index.key)
        found.append(State(f"{store.table.name}({key})", store.table.name, key, "index", index.size(), ()))
    found.append(State("text", "every distinct text, and what functions made of it", "", "text", text, ()))
    for plan, node in part.rendered():
        size = node.operator.size()
        if size != StateSize() or isinstance(plan, ArrangementPlan):
            found.append(_state(part, plan, node, users))
    for name, installed in part.views.items():
        node = installed.node
        found.append(State(f"view {name}", name, "", "derived", node.operator.size(), users.get(id(node), ())))
    other = max(resident_bytes() - sum(state.size.bytes for state in found), 0)
    return [*found, State("process", _PROCESS, "", "process", StateSize(bytes=other), ())]


def column_names(part: Part, name: str) -> tuple[str, ...]:
    """The column names of a table, an installed view, or of what other shards send."""
    if name in part.tables:
        return tuple(field.name for field in part.tables[name].table.fields)
    view = part.views.get(name)
    return tuple(field.name for field in (part.channels[name] if view is None else view.definition.columns))


def _state(part: Part, plan: Plan | ArrangementPlan, node: Node, users: dict[int, tuple[str, ...]]) -> State:
    names = partial(column_names, part)
    views = users.get(id(node), ())
    if isinstance(plan, ArrangementPlan):
        columns = plan.collection.names(names)
        key = ", ".join(columns[c] for c in plan.key)
        collection = plan.collection.short_text()
        return State(plan.text(names), collection, key, plan.kind, node.operator.size(), views)
    text = plan.short_text()
    return State(text, text, "", plan.state_kind or "derived", node.operator.size(), views)


def _views(part: Part) -> Reading:
    """Whose rows are counted when it is read: that takes the consolidation of those that have changed since."""
    sizes: dict[str, tuple[int, int]] = {}
    for state in states(part):
        for view in state.views:
            rows, size = sizes.get(view, (0, 0))
            sizes[view] = (rows + state.size.rows, size + state.size.bytes)
    found = []
    for each in part.views.values():
        name, slow = each.definition.name, costs(each.plan)
        notes = "; ".join((*slow, *remarks(each.plan)))
        own = each.log.size().bytes, *sizes.get(name, (0, 0)), not slow, each.installed_ms, notes
        found.append(((name, each.definition.sql), each.log.sealed, (*own, each.definition.zone)))
    return lambda: table_of(
        ((*named, len(sealed.rows(None)[1]), *own) for named, sealed, own in found),
        view=TEXT, sql=TEXT, rows=NUMBER, bytes=NUMBER, state_rows=NUMBER, state_bytes=NUMBER,
        incremental=pa.bool_(), installed_ms=REAL, notes=TEXT, time_zone=TEXT,
    )  # fmt: skip


def _arrangements(part: Part) -> Reading:
    rows = [
        (s.arrangement, s.collection, s.key, s.kind, s.size.rows, s.size.entries, s.size.bytes, s.views)
        for s in states(part)
    ]
    return lambda: table_of(
        rows, arrangement=TEXT, collection=TEXT, key=TEXT, kind=TEXT, rows=NUMBER, entries=NUMBER, bytes=NUMBER,
        views=pa.list_(TEXT),
    )  # fmt: skip


def _operators(part: Part) -> Reading:
    users, rows = part.users_of_nodes(), []
    for node in part.renderer.graph.nodes:
        loop = node.operator if isinstance(node.operator, Iterate) else None
        rounds = "" if loop is None else f", {loop.passed} rounds run, {loop.longest} for one time at most"
        counted = [_counted(node, rounds)]
        counted += () if loop is None else [_counted(each, " in a loop") for each in loop.within]
        rows += [(view, *each) for view in users.get(id(node), ()) for each in counted]
    columns = {"updates_in": NUMBER, "updates_out": NUMBER, "visited": NUMBER, "millis": REAL}
    return lambda: table_of(rows, view=TEXT, operator=TEXT, **columns)


def _counted(node: Node, more: str) -> tuple[str, int, int, int, float]:
    """What a node is called and has done."""
    return node.label + more, node.updates_in, node.updates_out, node.operator.visited, node.nanoseconds / 1e6


def _dataflow(part: Part) -> Reading:
    rows = described_nodes(part, partial(column_names, part))
    names = pa.list_(TEXT)
    return lambda: table_of(
        rows, node=TEXT, within=TEXT, operator=TEXT, what=TEXT, reads=names, looks_up=names, views=names,
        updates_in=NUMBER, updates_out=NUMBER, visited=NUMBER, millis=REAL, rows=NUMBER, bytes=NUMBER,
    )  # fmt: skip


def _commits(part: Part) -> Reading:
    return commits_of(part.past)


def commits_of(past: Past) -> Reading:
    """The last commits."""
    commits = tuple(past.commits)
    return lambda: table_of(commits, time=NUMBER, updates=NUMBER, millis=REAL, at=MOMENT)


def _snapshots(part: Part) -> Reading:
    return snapshots_of(part.past.still_read.each())


def snapshots_of(held: Iterable[StillRead]) -> Reading:
    """Who keeps what there was at which time."""
    rows = [(each.time, each.holder, each.thread, each.begun) for each in held]
    return lambda: table_of(rows, time=NUMBER, holder=TEXT, thread=TEXT, since=MOMENT)


def subscriptions_of(listeners: Listeners, time: int) -> Reading:
    """Who listens to what, how far they have come, what waits for them; what those have acknowledged who have names,
    and how many commits they are behind, when the last one has this time.
    """
    names = listeners.names.each()
    acknowledged = {name: (name, named.time, time - max(named.time, 0)) for name, named in names}
    there = listeners.of()
    rows = [
        (each.view, None if each.chosen is None else str(each.chosen), each.wish.form, each.up_to(), *each.waiting,
         each.wish.limit, each.wish.when_full, each.ended, *acknowledged.get(each.name, (None, None, None)))
        for each in there
    ]  # fmt: skip
    listening = {each.name for each in there}
    rows += [
        (named.view, named.chosen or None, None, named.time, 0, 0, None, None, "nobody listens", *acknowledged[name])
        for name, named in names if name not in listening
    ]  # fmt: skip
    counts = {"time": NUMBER, "commits": NUMBER, "rows": NUMBER, "most": NUMBER}
    return lambda: table_of(
        rows, view=TEXT, chosen=TEXT, form=TEXT, **counts, when_full=TEXT, ended=TEXT, name=TEXT, acknowledged=NUMBER,
        behind=NUMBER,
    )  # fmt: skip


def _deliveries(part: Part) -> Reading:
    return deliveries_of(part.listeners.delivered, part.time)


def deliveries_of(delivered: Iterable[Delivered], time: int) -> Reading:
    """How far deliveries are, when the last commit has this time."""
    rows = [
        (at.view, at.to, at.form, at.time, max(time - at.time, 0), at.rows, at.state, at.failures, at.error)
        for at in delivered
    ]
    return lambda: table_of(
        rows, view=TEXT, to=TEXT, form=TEXT, time=NUMBER, behind=NUMBER, rows=NUMBER, state=TEXT, failures=NUMBER,
        error=TEXT,
    )  # fmt: skip


RELATIONS: Mapping[str, Callable[[Part], Reading]] = {
    "ivm_views": _views,
    "ivm_arrangements": _arrangements,
    "ivm_operators": _operators,
    "ivm_dataflow": _dataflow,
    "ivm_commits": _commits,
    "ivm_deliveries": _deliveries,
    "ivm_snapshots": _snapshots,
    "ivm_subscriptions": lambda part: subscriptions_of(part.listeners, part.time),
}
"""What takes hold of each introspection relation as it is, by its name; who has the rows made of that needs no lock."""
