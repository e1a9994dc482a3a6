"""What there is over shards: where tables and views are, and what all shards say of them. No row is here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from types import MappingProxyType

import pyarrow as pa

from ivm.called import Functions
from ivm.catalog.altering import Altered
from ivm.catalog.errors import UnsupportedError
from ivm.catalog.schema import Table, View
from ivm.cluster.driver.tables import ShardedTables
from ivm.cluster.driver.transport import Transport
from ivm.cluster.files.ledger import Ledger
from ivm.cluster.planning.planning import planned_over
from ivm.cluster.planning.reading import PlannedView, ShardedContents, ShardedView, summed_sizes, whole_changes
from ivm.cluster.protocol.placing import placement_of
from ivm.cluster.protocol.questions import Question
from ivm.dataflow.loop import MOST_ROUNDS
from ivm.distribute.exchange import Channels
from ivm.distribute.placement import Placement
from ivm.engine.not_whole import NotWhole
from ivm.engine.past import Past
from ivm.results.difference import replaced
from ivm.sql.ir.relation import Relation
from ivm.subscriptions.listeners import Listeners
from ivm.trace.text.dictionary import TextDictionary

_NONE: Mapping[str, float] = MappingProxyType({})


class Shards(NotWhole):
    """Tables and views over shards, as of a published version."""

    keeps_unnamed, plans_again, recursion_limit = True, True, MOST_ROUNDS

    def __init__(self, transport: Transport, ledger: Ledger, history: int) -> None:
        self.transport = transport
        self.ledger = ledger
        self.dictionary = TextDictionary()
        self.version = replace(ledger.newest(), again=False)
        self.tables = ShardedTables(self.ask, self.sizes, transport.shards)
        self.views: dict[str, ShardedView] = {}
        self.guards: dict[str, dict[str, ShardedView]] = {}
        """What checks constraints between shards, by the table, and by its name; see `ivm.cluster.planning.guards`."""
        self.oracle_sql: dict[str, str] = {}
        self.channels = Channels()
        self.listeners = Listeners()
        self.past = Past(history)
        self.past.begin_at(self.time)
        self._sizes: tuple[str, dict[str, float]] | None = None

    @property
    def time(self) -> int:
        """The logical time of the last commit; 0 before the first."""
        return self.version.time

    @property
    def since(self) -> int:
        """The earliest time that can still be read."""
        return self.past.since(self.time)

    @property
    def batches(self) -> Mapping[str, int]:
        """The number of the last batch of each source that numbers its batches."""
        return self.version.batches

    @property
    def is_remote(self) -> bool:
        """See `Backend.is_remote`."""
        return self.transport.is_remote

    def begin_with(self, functions: Functions, present: Callable[[], int]) -> None:
        """See `Backend.begin_with`; shards of this process are given the functions by who makes them."""
        self.past.present = present

    def ask(self, question: Question) -> Sequence[pa.Table]:
        """What each shard answers now. StorageError if another driver has gone on; see `Ledger.watched`."""
        return self.transport.ask(self.ledger.watched(self.version), question)

    def sizes(self) -> dict[str, float]:
        """The rows of each table and, roughly, of each maintained view. Cost: all shards are asked, once a version."""
        if self._sizes is None or self._sizes[0] != self.version.id:
            self._sizes = self.version.id, summed_sizes(self.ask(Question("sizes")))
        return self._sizes[1]

    def check_new(self, entry: Table | View) -> None:
        """See `Backend.check_new`: shards must be able to check a key, and no view has a history of its own."""
        if isinstance(entry, Table):
            self.tables.made(entry)
        elif entry.history:
            raise UnsupportedError(
                f"cannot create view {entry.name!r} with a history of its own over shards; connect with `history` for "
                "all"
            )

    def moves(self, change: Altered) -> bool:
        """Whether a row goes to another shard by the columns that the table is to have."""
        old, new = placement_of(change.old), placement_of(change.table)
        return new != old.moved(lambda c: change.taken.index(c) if c in change.taken else None)

    def planned(self, relation: Relation, sizes: Mapping[str, float] = _NONE) -> PlannedView:
        """How a view would be distributed. Needs no lock, as long as nobody creates or drops anything."""
        sizes = self.tables.estimates(self.sizes() | dict(sizes))
        return planned_over(relation, self.placed(), sizes, self.channels.copy(), self.transport.shards)

    def placed(self) -> dict[str, tuple[Placement, int]]:
        """Where all tables and views are, and the level at which they have changed."""
        return self.tables.placed() | {name: (view.placement, view.level) for name, view in self.views.items()}

    def maintained(self) -> Iterator[tuple[str, ShardedView]]:
        """Views and guards, by name."""
        return chain(self.views.items(), *(each.items() for each in self.guards.values()))

    def has_rows(self, view: View) -> bool:
        """See `Backend.has_rows`."""
        return view.maintained

    def contents(self, view: str, as_of: int | None = None) -> ShardedContents:
        """The rows of a view at present, or as of a time that is kept, whatever happens later."""
        return ShardedContents(self.views[view].definition, self.ask(Question("view", view, as_of)))

    def between(self, view: str, after: int, until: int) -> pa.Table:
        """See `Backend.between`. BindError also where a shard was loaded since `after`, and does not know."""
        parts = self.ask(Question("history", view, until, after=after))
        whole = whole_changes(parts, self.views[view])
        return parts[0] if whole is None else whole

    def known_since(self, view: str) -> int:
        """See `Backend.known_since`: that of the shard that knows least."""
        return max(each["since"][0].as_py() for each in self.ask(Question("since", view)))

    def difference(self, view: str, successor: ShardedView) -> Callable[[], pa.Table | None]:
        """See `Backend.difference`. The rows of the successor are not there before its definition is published."""
        before, name = self.contents(view), successor.definition.name
        return cache(lambda: replaced(before.changes(self.time), self.contents(name).changes(self.time)))
