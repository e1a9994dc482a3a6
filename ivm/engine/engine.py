"""The engine below the interface: the commit that carries changes through tables and views, and what is asked of them.

It is the backend of a database whose rows are all here; see `ivm.engine.backend`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter_ns

import pyarrow as pa

from ivm.called import Functions
from ivm.catalog.altering import Altered
from ivm.catalog.errors import NumericError, StorageError
from ivm.catalog.schema import Table
from ivm.catalog.schema import View as Definition
from ivm.durable.journal import Journal
from ivm.durable.payload import Batch
from ivm.engine.applying import applied
from ivm.engine.backend import Reading, Section
from ivm.engine.explained import explained
from ivm.engine.installing import renamed
from ivm.engine.lasting import known_since
from ivm.engine.part import Part
from ivm.engine.past import History
from ivm.engine.relations import RELATIONS
from ivm.engine.tables import Declared
from ivm.engine.transaction import Change, last_time
from ivm.engine.under_way import NO_DELTAS, Also, UnderWay
from ivm.engine.view import Contents, Installed
from ivm.plan.renamed import Renaming
from ivm.render.renderer import Renderer
from ivm.render.scalars.compiler import Compiler
from ivm.sql.ir.relation import Relation
from ivm.subscriptions.audience import Told
from ivm.subscriptions.names import Named
from ivm.subscriptions.piece import Piece, seen_piece
from ivm.trace.helpers import Errands, Helpers
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import BEGINNING
from ivm.trace.turns import Turns


class Engine(Part):
    """Tables and views at one logical time. The database holds a lock around every call, but where none is needed.

    A commit is begun, which takes it through a level of the dataflow, and stepped through further levels, where it has
    several; then it is decided by one store of an attribute, and settled, which makes it final. Before it is decided,
    to settle undoes it.
    """

    is_remote, keeps_unnamed, plans_again = False, True, False

    def __init__(
        self, compiler: Compiler | None, history: History, *, sharing: bool = True, memory_limit: int | None = None,
        helpers: Helpers | None = None,
    ) -> None:  # fmt: skip
        super().__init__(compiler, history, sharing=sharing, memory_limit=memory_limit, helpers=helpers)
        self._decided: UnderWay | None = None
        self._errands = Errands(self.helpers, self.renderer.graph.marks.lessons)
        self.journal: Journal | None = None
        """What writes down the commits of a database that outlives its process."""
        self.batches: dict[str, int] = {}
        """The number of the last batch of each source that numbers its batches."""

    @property
    def recursion_limit(self) -> int:
        """How many rounds a loop may take, where it says nothing itself."""
        return self.renderer.recursion_limit

    @recursion_limit.setter
    def recursion_limit(self, rounds: int) -> None:
        self.renderer.recursion_limit = rounds

    def begin_with(self, functions: Functions, present: Callable[[], int]) -> None:
        """See `Backend.begin_with`."""
        self.renderer.functions, self.past.present = functions, present

    def check_new(self, entry: Table | Definition) -> None:
        """See `Backend.check_new`: all can be here."""

    def moves(self, change: Altered) -> bool:
        """See `Backend.moves`: no row does."""
        return False

    def put_table(self, name: str, declared: Declared | None) -> None:
        """The table of a name is this one from now on, and its rows are those of a commit; None: there is none.

        It may be interrupted, and called again.
        """
        self.tables.put(name, declared)
        store = self.tables.get(name)
        if store is not None and store.last_time > self.time:
            self._decided = UnderWay(store.last_time, self.since, store.count, perf_counter_ns())
            self.settle()

    def renamed(self, renaming: Renaming) -> Renderer:
        """See `Backend.renamed`."""
        return renamed(self.renderer, renaming)

    def commit(
        self, changes: Sequence[Change], batch: Batch | None = None, time: int = 0, trial: list[Told] | None = None,
        also: Also | None = None,
    ) -> int:  # fmt: skip
        """See `Commits.commit`. The time is at least `time`. A `trial` gets what would be told, and is undone and not
        written down.
        """
        started, journal = perf_counter_ns(), self.journal if trial is None else None
        time, are_apart = last_time(changes, max(self.renderer.graph.time + 1, time))
        are_apart = are_apart and self._tells_times_apart(changes)
        try:
            if journal is not None and also is None:
                journal.begin(changes, time, batch)
            with self._errands:
                commit = self._begun(changes, time, are_apart)
                if self.listeners and (views := self._changed()):
                    commit.told = self.listeners.told(partial(self._changes, time, are_apart), views)
                if self._errands.out:
                    self._errands.finish()
            commit.batch, commit.started, commit.deltas = batch, started, NO_DELTAS
            if also is not None:
                commit.put, commit.work = also.written(changes, time), also.work
            elif journal is not None:
                commit.put = journal.commit(changes, time, batch)
            self._decided = commit if trial is None else None
            if trial is not None:
                trial += [(those, piece.apart()) for those, piece in commit.told]
        except NumericError as error:
            raise type(error)(
                f"cannot commit: view {', '.join(self.failed())}: {error}; nothing was changed"
            ) from error
        except SystemError as error:  # so numba passes on what is raised while it makes Python's objects of a result
            raise error.__cause__ or error from None
        finally:
            try:
                self._settle()
            except BaseException:  # it may be interrupted, and readers, who wait for nobody, are to see what came of it
                self.settle()
                raise
        return time

    def check(self, changes: Sequence[Change]) -> Sequence[Told]:
        """See `Backend.check`."""
        told = list[Told]()
        self.commit(changes, trial=told)
        return told

    def failed(self) -> tuple[str, ...]:
        """The views that need the node which the last step did not get over."""
        return self.users_of_nodes().get(id(self.renderer.graph.last), ())

    def settle(self) -> None:
        """See `Backend.settle`."""
        if self._decided is None and not self.renderer.graph.marks and not self._errands.out:
            if self.journal is not None and self.journal.is_pending:
                self.journal.take_back()
            return
        self._settle()

    def has_rows(self, view: Definition) -> bool:
        """See `Backend.has_rows`."""
        return view.maintained

    def contents(self, view: str, as_of: int | None = None) -> Contents:
        """The rows of a view at present, or as of a time that is kept, whatever happens later."""
        return self.views[view].contents(self.dictionary, as_of)

    def whole_table(self, name: str) -> TableStore | None:
        """See `Backend.whole_table`."""
        return self.tables.get(name)

    def whole_view(self, name: str) -> Installed | None:
        """See `Backend.whole_view`."""
        return self.views.get(name)

    def known_since(self, view: str) -> int:
        """See `Backend.known_since`."""
        return known_since(self.views[view], self.since, self.time)

    def hold(self, view: str, names: tuple[Named, ...]) -> None:
        """See `Backend.hold`."""
        self.views[view].log.hold(names)

    def between(self, view: str, after: int, until: int) -> pa.Table:
        """See `Backend.between`."""
        installed = self.views[view]
        return installed.changed(installed.log.sealed, self.dictionary.now(), after, until)

    def some_rows(
        self, table: Table, keys: Sequence[tuple[int, ...]], rows: pa.Table, as_of: int | None = None
    ) -> tuple[TableStore, TextDictionary]:
        """See `Backend.some_rows`: they are all of the table's. Cost: none."""
        return self.tables[table.name], self.dictionary

    def difference(self, view: str, successor: Installed) -> Callable[[], pa.Table | None]:
        """See `Backend.difference`."""
        found = successor.changes_from(self.views[view], self.time, self.dictionary)
        return lambda: found

    def held(self) -> list[object]:
        """See `Backend.held`."""
        return [*self.renderer.graph.nodes, *self.tables.values()]

    def relations(self) -> Mapping[str, Callable[[], Reading]]:
        """See `Backend.relations`."""
        return {name: partial(read, self) for name, read in RELATIONS.items()}

    def explained(
        self, relation: Relation, below: Mapping[str, Relation], names: Callable[[str], tuple[str, ...]], lock: Turns
    ) -> Sequence[Section]:
        """See `Backend.explained`."""
        return explained(self, relation, below, names, lock)

    def close(self) -> None:
        """End what compiles, and the threads that help."""
        for compiler in self.compilers:
            compiler.close()
        self.helpers.close()

    def _begun(self, changes: Sequence[Change], time: int, are_apart: bool) -> UnderWay:
        """A commit after its first level, which can still fail, or be undone. `are_apart`: whether somebody asks what
        holds at each of the times that rows have.
        """
        marks, commit = self.renderer.graph.marks, UnderWay(time, self._kept_since(time))
        earliest = BEGINNING if are_apart else commit.since
        deltas, commit.updates = applied(self.tables, marks, changes, time, earliest, self._readers_of)
        if self.tables.constrained:
            self.tables.check(deltas, marks)
        if given := self.renderer.given(deltas):
            commit.deltas = self.renderer.graph.step(given)
        return commit

    def _kept_since(self, time: int) -> int:
        """The earliest time that is to be readable once there is a commit at `time`."""
        past, installation = self.past, self.renderer.graph.installation
        since = past.since(time)
        if past.still_read:
            since = past.still_kept(since)
        return since if installation is None else min(since, installation.since)

    def _changed(self) -> list[str]:
        """The views that the commit under way changes."""
        return [self._ends[state] for state in self.renderer.graph.marks if state in self._ends]

    def _changes(self, time: int, are_apart: bool, view: str) -> Piece | None:
        installed = self.views[view]
        return seen_piece(installed.definition, installed.log, time, self.dictionary.now(), are_apart=are_apart)

    def _settle(self) -> None:
        if self._errands.out:
            self._errands.wait()
        graph, decided = self.renderer.graph, self._decided
        if decided is None:
            graph.rollback()
            if self.journal is not None:
                self.journal.take_back()
            return
        if decided.put is not None and self.journal is not None:
            try:
                self.journal.keep(decided.put)
            except StorageError:  # so it has not happened, and nobody has seen it
                self._decided = None
                raise
        if decided.batch is not None:
            self.batches[decided.batch[0]] = decided.batch[1]
        graph.seal(decided.time, decided.since)
        if decided.told or self.listeners:  # else nobody asks
            self.listeners.tell(decided.told, decided.time)
        if decided.work is not None:
            decided.work()
        self.past.note(decided.time, decided.since, decided.updates, decided.started)
        self._decided = None

    def _readers_of(self, table: str) -> list[str]:
        """The maintained views that read a table."""
        return [view for view, each in self.views.items() if table in each.tables]

    def _tells_times_apart(self, changes: Sequence[Change]) -> bool:
        """Whether who listens, a view that lasts, or a constraint of its tables, asks for each of a commit's times."""
        if self.listeners or self.listeners.names or self.past.others:
            return True
        tables = self.tables
        return bool(tables.constrained) and tables.tell_times_apart({change.table.name for change in changes})
