"""The driver: it knows what there is and where it is, and leads all shards through each commit; it keeps no row.

It stands where a database has its engine. A commit takes effect when all shards are ready: from then on each of them
keeps it, whatever is interrupted; before, each of them undoes it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter, perf_counter_ns
from types import MappingProxyType

import pyarrow as pa

from catalog.errors import NumericError
from catalog.schema import View as Definition
from ivm.analysis.tables import tables_of
from ivm.cluster.reading import ShardedContents, ShardedView, changes_of
from ivm.cluster.routing import arrived, routed
from ivm.cluster.shard import Sent, Shard
from ivm.cluster.tables import ShardedTables
from ivm.distribute.distribute import Distributed, distribute
from ivm.distribute.exchange import Channel, Channels
from ivm.distribute.placement import Replicated
from ivm.durable.payload import Batch
from ivm.installing import Pause, put_or_drop
from ivm.render.scalars.compiler import Compiler
from ivm.subscription import Listeners, Subscription
from ivm.tables import Declared
from ivm.trace.dictionary import TextDictionary
from ivm.trace.helpers import Helpers
from ivm.trace.turns import Aside, at_once
from ivm.transaction import Change, last_time
from ivm.transform.pipeline import optimize
from sql.ir.relation import Relation

_COMMITS = 10_000
_NONE: Mapping[str, float] = MappingProxyType({})
Boxes = list[dict[str, list[pa.RecordBatch]]]
"""Of each shard what has been sent to it, by channel."""


@dataclass(frozen=True, slots=True)
class PlannedView:
    """A view before it is installed: its fragments, what it reads, and how long planning took."""

    distributed: Distributed
    channels: Channels
    tables: frozenset[str]
    sizes: Mapping[str, float]
    millis: float


@dataclass(slots=True)
class _Decided:
    """A commit for which all shards are ready."""

    time: int
    updates: int
    started: int
    told: Sequence[tuple[Subscription, pa.Table]]
    batch: Batch | None


class Driver:
    """Tables and views over shards, at one logical time; used as an `Engine` is, by the holder of a database's lock."""

    journal = None
    is_whole = False

    def __init__(self, shards: Sequence[Shard], history: int, helpers: Helpers) -> None:
        self.shards = shards
        self.helpers = helpers
        self.dictionary = TextDictionary()
        self.tables = ShardedTables(shards)
        self.views: dict[str, ShardedView] = {}
        self.oracle_sql: dict[str, str] = {}
        self.channels = Channels()
        self.commits: deque[tuple[int, int, float]] = deque(maxlen=_COMMITS)
        self.batches: dict[str, int] = {}
        self.sent: Counter[str] = Counter()
        """How many updates each channel has carried."""
        self.listeners = Listeners()
        self._history = history
        self._decided: _Decided | None = None
        self._stepping = False

    @property
    def time(self) -> int:
        """The logical time of the last commit; 0 before the first."""
        return self.shards[0].time

    @property
    def since(self) -> int:
        """The earliest time that can still be read."""
        return max(each.since for each in self.shards)

    @property
    def is_installing(self) -> bool:
        """Whether a view is on its way in."""
        return False

    def sizes(self) -> dict[str, float]:
        """The rows of each table and, roughly, of each maintained view."""
        rows: dict[str, float] = {name: float(table.count) for name, table in self.tables.items()}
        return rows | {name: float(view.count_roughly()) for name, view in self.views.items()}

    def planned(self, relation: Relation, sizes: Mapping[str, float] = _NONE) -> PlannedView:
        """How a view would be distributed. Needs no lock, as long as nobody creates or drops anything."""
        started, channels = perf_counter(), self.channels.copy()
        known, values = self.tables.estimates(self.sizes() | dict(sizes))
        placed = {name: (table.placement, 1) for name, table in self.tables.items()}
        placed |= {name: (view.placement, view.level) for name, view in self.views.items()}
        found = distribute(optimize(relation), placed, known, values, channels)
        tables = frozenset(tables_of(relation))
        used = {name: known[name] for name in tables}
        return PlannedView(found, channels, tables, used, (perf_counter() - started) * 1e3)

    def installed(
        self, definition: Definition, planned: PlannedView, pause: Pause, aside: Aside = at_once
    ) -> ShardedView:
        """A view that is maintained, which nobody sees before `put`; on any error nothing is left behind.

        Level by level: the fragments of one are filled, and their rows sent to where those of the next are.
        """
        started, found = perf_counter(), planned.distributed
        sizes = dict(planned.sizes) | {each.name: each.rows for each in planned.channels.by_name.values()}
        try:
            for channel in found.channels:
                self._connect(channel, sizes)
            parts = [shard.view_of(definition, found.relation, sizes) for shard in self.shards]
        except BaseException:
            self._arrived_all()
            self._tidy(self.channels)
            raise
        self._arrived_all()
        millis = planned.millis + (perf_counter() - started) * 1e3
        return ShardedView(definition, found, planned.tables, planned.sizes, parts, planned.channels, millis)

    def _connect(self, channel: Channel, sizes: Mapping[str, float]) -> None:
        """Maintain a fragment, and send all of its rows."""
        boxes: Boxes = [{} for _ in self.shards]
        for shard in self.shards:
            shard.open(channel, channel.level + 1)
            shard.send(channel, sizes)
        for number, shard in enumerate(self.shards):
            if number == 0 or not isinstance(channel.placement, Replicated):
                for delta in shard.sent(channel.name):
                    self._post(boxes, shard, {channel.name: delta}, channel)
        types = [field.type for field in channel.relation.schema]
        for shard, box in zip(self.shards, boxes, strict=True):
            rows = arrived(box.get(channel.name, ()), types, shard.dictionary)
            shard.arrive(channel.name, () if rows is None else (rows,))

    def put(self, name: str, installed: ShardedView | None, oracle_sql: str | None) -> None:
        """The view of a name is this one from now on; see `Engine.put`. It may be interrupted, and called again."""
        for number, shard in enumerate(self.shards):
            shard.put(name, None if installed is None else installed.parts[number], oracle_sql)
        put_or_drop(self.views, name, installed)
        put_or_drop(self.oracle_sql, name, oracle_sql)
        self._tidy(self.channels if installed is None else installed.channels)

    def put_table(self, name: str, parts: Sequence[Declared] | None) -> None:
        """The table of a name is this one from now on; see `Engine.put_table`."""
        self.tables.put(name, parts)
        last = max(shard.time for shard in self.shards)
        for shard in self.shards:
            shard.reach(last)

    def commit(self, changes: Sequence[Change], batch: Batch | None = None, time: int = 0, trial: bool = False) -> int:
        """Apply all changes, or none; see `Engine.commit`."""
        started = perf_counter_ns()
        time, are_apart = last_time(changes, max(self.time + 1, time))
        parts: list[list[Change]] = [[] for _ in self.shards]
        for change in changes:
            for number, part in self.tables.parts(change):
                parts[number].append(part)
        try:
            self._stepping = True
            self._step(parts, time, are_apart and bool(self.listeners))
            told = self.listeners.told(self._changes) if self.listeners else ()
            for shard in self.shards:
                shard.ready()
            updates = sum(change.data.num_rows for change in changes)
            self._decided = None if trial else _Decided(time, updates, started, told, batch)
        finally:
            self.settle()
        return time

    def settle(self) -> None:
        """Make the last commit final, or undo it; see `Engine.settle`."""
        if not self._stepping:
            return
        decided = self._decided
        if decided is None:
            for shard in self.shards:
                shard.undo()
            self._stepping = False
            return
        for shard in self.shards:
            shard.keep()
        if decided.batch is not None:
            self.batches[decided.batch[0]] = decided.batch[1]
        for subscription, table in decided.told:
            subscription.push(table, decided.time)
        if not self.commits or self.commits[-1][0] != decided.time:
            self.commits.append((decided.time, decided.updates, (perf_counter_ns() - decided.started) / 1e6))
        self._decided, self._stepping = None, False

    def tidy_texts(self) -> None:
        """After a commit: see `Engine.tidy_texts`."""
        for shard in self.shards:
            shard.tidy_texts()

    def sweep(self) -> None:
        """Let go of all that no view needs."""
        self._tidy(self.channels)

    @property
    def compilers(self) -> Sequence[Compiler]:
        """What compiles the loops of views; nothing where they are interpreted."""
        return tuple({id(each): each for shard in self.shards for each in shard.compilers}.values())

    def contents(self, view: str, as_of: int | None = None) -> ShardedContents:
        """The rows of a view at present, or as of a time that is kept, whatever happens later."""
        return self.views[view].contents(self.shards, as_of)

    def snapshot(self, view: str) -> pa.Table:
        """The present rows of a view as changes at the present time."""
        return self.views[view].snapshot(self.shards, self.time)

    def close(self) -> None:
        """End what compiles, and the threads that help."""
        for compiler in self.compilers:
            compiler.close()
        self.helpers.close()

    def _step(self, parts: Sequence[Sequence[Change]], time: int, are_apart: bool) -> None:
        boxes: Boxes = [{} for _ in self.shards]
        last = max((each.level + 1 for each in self.channels.by_name.values()), default=1)
        for level in range(1, last + 1):
            arriving, boxes = boxes, [{} for _ in self.shards]
            for number, shard in enumerate(self.shards):
                try:
                    if level == 1:
                        sent = shard.begin(parts[number], time, are_apart)
                    else:
                        sent = shard.go_on(level, self._arrived(shard, arriving[number]))
                except NumericError as error:
                    names = ", ".join(self._views_of(shard.failed()))
                    raise NumericError(f"cannot commit: view {names}: {error}; nothing was changed") from error
                self._post(boxes, shard, sent)

    def _arrived(self, shard: Shard, box: Mapping[str, Sequence[pa.RecordBatch]]) -> Sent:
        found = {}
        for name, batches in box.items():
            types = [field.type for field in self.channels.by_name[name].relation.schema]
            delta = arrived(batches, types, shard.dictionary)
            if delta is not None:
                found[name] = delta
        return found

    def _post(self, boxes: Boxes, shard: Shard, sent: Sent, channel: Channel | None = None) -> None:
        for name, delta in sent.items():
            each = self.channels.by_name[name] if channel is None else channel
            if isinstance(each.placement, Replicated) and shard is not self.shards[0]:
                continue
            for to, batch in routed(delta, each.relation.schema, each.to, len(self.shards), shard.dictionary):
                boxes[to].setdefault(name, []).append(batch)
                self.sent[name] += batch.num_rows

    def _changes(self, view: str) -> pa.Table | None:
        return changes_of(self.views[view], self.shards)

    def _views_of(self, names: Sequence[str]) -> list[str]:
        """The views that need what is called so, views and channels."""
        found = {name for name in names if name in self.views}
        for name, view in self.views.items():
            if not found.isdisjoint((name,)) or any(each.name in names for each in view.distributed.channels):
                found.add(name)
        return sorted(found)

    def _arrived_all(self) -> None:
        """Nobody needs the rows any more that were sent to fill what is new."""
        for shard in self.shards:
            for name in shard.arriving:
                shard.arrive(name, ())

    def _tidy(self, channels: Channels) -> None:
        """Let go of the channels that no view needs."""
        needed = channels.needed(view.distributed.relation for view in self.views.values())
        self.channels = Channels(needed.values())
        for shard in self.shards:
            shard.forget([name for name in (*shard.arriving, *shard.leaving) if name not in needed])
