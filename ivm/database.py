"""The database: what a user holds. Every public call is atomic, each statement of a text for itself, from any thread.

Two locks, taken in this order. `_definitions` is held by who creates or drops, for as long as that takes: planning
included, so that what is planned against does not change. `lock` is held by whoever reads or changes the engine's
state: a commit, one chunk of an installation, the moment in which a reader takes hold of what it reads. No one plans,
asks DuckDB or compiles under it, but for the one statement that `change` describes. Nobody who has `lock` waits for
`_definitions`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import pyarrow as pa

from catalog.catalog import Catalog
from catalog.errors import BindError, ConstraintError
from catalog.names import key
from catalog.schema import Table
from ivm.adhoc import run_query
from ivm.arguments import callback, rows_by_table, sql_text, view_names
from ivm.duck import UnknownNameError, with_hugeints
from ivm.engine import Engine, Progress, changes_to_arrow
from ivm.explain import explain_text, explained
from ivm.nesting import nested_statements
from ivm.oracle import Text, Verified, compare, recompute
from ivm.render.scalars.program import Compiler
from ivm.result import Result
from ivm.snapshot import Snapshot, snapshot
from ivm.statements import DEFINITIONS, Ask, run_statement, statements_of
from ivm.subscription import Subscription
from ivm.trace.column import Ints
from ivm.trace.delta import delta_of
from ivm.trace.ingest import Intake, ingest
from ivm.trace.time import LAST
from ivm.trace.turns import Turns
from ivm.transaction import Change, Transaction
from ivm.view import View
from sql.bind import bind, registered
from sql.parameters import Parameters, filled
from sql.syntax import Syntax

MOST_DESCRIBED = 30
"""So many registered views, the nearest, does EXPLAIN say what became of: each is planned by itself for that."""


class Database:
    """An engine for standing SQL queries, in memory. Make one with `ivm.connect()`."""

    def __init__(
        self,
        compiler: Compiler | None,
        history: int,
        *,
        sharing: bool = True,
        memory_limit: int | None = None,
        external_access: bool = False,
    ) -> None:
        self.catalog = Catalog()
        self.external_access = external_access
        self.engine = Engine(compiler, history, sharing=sharing, memory_limit=memory_limit)
        self.lock = Turns()
        self._definitions = threading.RLock()
        self._progress: Callable[[Progress], None] | None = None
        self._subscriptions: list[Subscription] = []
        self._intakes: dict[str, Intake] = {}

    @property
    def time(self) -> int:
        """The logical time of the last commit; 0 before the first."""
        return self.engine.time

    def sql(
        self,
        text: str,
        params: Parameters | None = None,
        *,
        dialect: str = "duckdb",
        progress: Callable[[Progress], None] | None = None,
    ) -> Result:
        """Run one or more statements; the result is the last one's.

        CREATE TABLE, CREATE [MATERIALIZED] VIEW, DROP, INSERT, DELETE, UPDATE, EXPLAIN, and any SELECT, which DuckDB
        runs over the tables, views and `ivm_*` relations. `params` are the values of ?, $1 and $name in the text; in a
        view's text they stand as literals (see `sql.parameters`). A text in another `dialect` that sqlglot reads is
        translated to DuckDB's. Raises ParseError, BindError, UnsupportedError, TypeMismatchError, ConstraintError,
        NumericError, or AccessError for a text that reads files or the network in a database without
        `external_access`; then the statement has changed nothing.

        Each statement is atomic, and sees what was committed before it; other threads commit between two, and while
        DuckDB answers. A SELECT answers as of the moment at which it began. INSERT, UPDATE and DELETE change what they
        would at the moment of their commit.

        A maintained view is filled in chunks of rows; other threads commit and read in between, and do not see it
        before it is whole. Statements that create or drop wait for each other. `progress` is called after each chunk,
        from this thread; it may read and commit too. If it raises, the view is not created.
        """
        result = Result()
        callback(progress, "progress")
        with nested_statements():
            statements = statements_of(sql_text(filled(sql_text(text), params, dialect)), dialect)
            defines = any(isinstance(each, DEFINITIONS) for each in statements)
            with self._defining(progress) if defines else nullcontext():
                for statement in statements:
                    result = run_statement(self, statement, dialect)
        return result

    @contextmanager
    def _defining(self, progress: Callable[[Progress], None] | None) -> Iterator[None]:
        """The only one to create and drop while the block runs; entered before the lock, which installations leave."""
        with self._definitions:
            if self.engine.is_installing:
                raise BindError(
                    "cannot create or drop anything while this thread creates a view: what is given as progress may "
                    "read and commit; do the rest after the view is there"
                )
            self._progress = progress
            try:
                yield
            finally:
                self._progress = None

    def transaction(self) -> Transaction:
        """Changes at one logical time, all or nothing; use as a context manager."""
        return Transaction(self._check, self._commit)

    def apply(self, changes: Mapping[str, Any]) -> int:
        """Commit one physical batch; returns its last logical time.

        `changes` maps table names to rows as `Transaction.insert` takes them, with two optional columns: `_time`, the
        logical time of each change (int64, later than the last commit; without it all have the next time), and `_diff`
        (int64, +1 inserts, -1 deletes). In a table with a primary key a delete finds its row by the key, whatever its
        other columns say; equal rows of one time that contradict each other count by their sum. Every view changes
        exactly as if each time had been committed alone.
        """
        present = self.time
        checked = [self._checked_change(name, data) for name, data in rows_by_table(changes).items()]
        with self.lock:
            if self.time != present:
                for change in checked:
                    self._check_times(change.table, change.times)
            return self._commit(checked)

    def view(self, name: str) -> View:
        """A maintained view, to be read any number of times."""
        with self.lock:
            found = self.catalog.view(name)
            if not found.maintained:
                raise BindError(
                    f"cannot read view {found.name}: it is registered, not maintained; "
                    f"query it with SELECT, or create it as MATERIALIZED"
                )
            return View(self.engine.views[found.name], self.engine.dictionary, self._readable, self.lock)

    def subscribe(self, view: str, *, snapshot: bool = False) -> Subscription:
        """The changes of a view from now on, after its present rows (as +1) if `snapshot`."""
        with self.lock:
            definition = self.catalog.view(view)
            installed = self.engine.views[self.view(view).name]
            columns, diffs = installed.trace.rows(None)
            present = delta_of(columns, self.time, diffs, len(diffs))
            table = changes_to_arrow(definition, present, self.engine.dictionary)
            subscription = Subscription(definition.name, table.slice(0, 0), self._unsubscribe)
            if snapshot:
                subscription.push(table)
            self._subscriptions.append(subscription)
            return subscription

    def verify(self, views: Sequence[str] | None = None) -> list[Verified]:
        """Compare views (all maintained ones by default) with DuckDB's recomputation from the tables.

        Raises VerificationError with differing rows. Cost: DuckDB runs every query over the whole tables.
        """
        with self.lock:
            asked = list(self.engine.views) if views is None else view_names(views)
            names = [self.view(name).name for name in asked]
            tables = {name: (store.reading(), store.table.fields) for name, store in self.engine.tables.items()}
            found = {name: self.engine.views[name].reading(self.engine.dictionary) for name in names}
            sql = self.engine.oracle_sql
            texts = [Text(view.name, sql[view.name], view.uses, view.maintained) for view in self.catalog.views]
        expected = recompute(
            {name: with_hugeints(read(), fields) for name, (read, fields) in tables.items()}, texts, names
        )
        return [compare(name, found[name](), expected[name]) for name in names]

    def wait_compiled(self, timeout: float | None = None) -> None:
        """Block until every kernel that installed views wait for is compiled, or `timeout` seconds have passed."""
        if self.engine.renderer.compiler is not None:
            self.engine.renderer.compiler.wait(timeout)

    def query(self, text: str, names: Sequence[str]) -> pa.Table:
        """Run a SELECT with DuckDB; `names` are the relations it mentions."""
        return self._answer(text, names, self._seen(names))

    def change(self, names: Sequence[str], collect: Callable[[Transaction, Ask], int]) -> int:
        """Commit what `collect` puts into the transaction, which may ask SELECTs over `names`; returns what it returns.

        It is called without the lock. If what it read has changed when the turn to commit comes, it is called once
        more, with the lock, so that no change of others is lost.
        """
        tx, seen = self.transaction(), self._seen(names)
        result = collect(tx, lambda text: self._answer(text, names, seen))
        with self.lock, tx:
            if not seen.is_current(self.catalog, self.engine):
                tx.forget()
                again = self._seen(names)
                result = collect(tx, lambda text: self._answer(text, names, again))
        return result

    def explain(
        self, text: str, dialect: str = "duckdb", origin: tuple[int, int] = (1, 1), syntax: Syntax | None = None
    ) -> str:
        """The EXPLAIN text of a SELECT; `origin` is where it begins in what the user wrote. `syntax`: see `bind`."""
        with self.lock:
            catalog, existing = self.catalog.fixed(), self.engine.existing().fixed()
        bound = bind(text, catalog, dialect, origin, syntax)
        part = _part_of(bound.uses, catalog)
        views = {name: registered(catalog, catalog.view(name)) for name in part[-MOST_DESCRIBED:]}
        query = explained(bound.relation, views, existing, catalog, len(part) - len(views))
        with self.lock:
            return explain_text(self.engine, query)

    def pause(self, progress: Callable[[], Progress]) -> None:
        """Between two chunks of an installation: report, and let others in."""
        if self._progress is None:
            self.lock.let_others_in()
            return
        now = progress()
        with self.lock.aside():
            self._progress(now)

    def close_subscriptions(self, view: str) -> None:
        """End the subscriptions of a view that is about to be dropped."""
        for subscription in [s for s in self._subscriptions if s.view == view]:
            subscription.close()

    def _seen(self, names: Sequence[str]) -> Snapshot:
        with self.lock:
            return snapshot(names, self.catalog, self.engine)

    def _answer(self, text: str, names: Sequence[str], seen: Snapshot) -> pa.Table:
        try:
            return run_query(text, names, seen, external_access=self.external_access)
        except UnknownNameError:
            for name in names:
                if key(name) not in seen.stored:
                    self.catalog.lookup(name)  # says it better, with the names that are close
            raise

    def _check(self, name: str, data: Any, keys_only: bool) -> tuple[Table, pa.Table]:
        table = self.catalog.table(name)
        if keys_only and table.primary_key:
            return table, ingest(data, table.fields, f"table {table.name}", columns=table.primary_key)
        return table, self._intake(table).rows(data)

    def _checked_change(self, name: str, data: Any) -> Change:
        table = self.catalog.table(name)
        rows, times, diffs = self._intake(table).changes(data)
        self._check_times(table, times)
        return Change(table, rows, diffs, times)

    def _check_times(self, table: Table, times: Ints | None) -> None:
        if times is not None and len(times) and int(times.min()) <= self.time:
            raise ConstraintError(
                f"cannot apply changes to table {table.name}: _time {int(times.min())} is not later than the last "
                f"commit's time {self.time}; give later times, or leave the column out"
            )
        if times is not None and len(times) and int(times.max()) > LAST:
            raise ConstraintError(
                f"cannot apply changes to table {table.name}: _time {int(times.max())} is later than {LAST} (2^62), "
                "the latest there is, so that commits after it still find times of 64 bits; give earlier times"
            )

    def _intake(self, table: Table) -> Intake:
        known = self._intakes.get(table.name)
        if known is None or known.fields is not table.fields:
            known = self._intakes[table.name] = Intake(table.fields, f"table {table.name}")
        return known

    def _commit(self, changes: list[Change]) -> int:
        with self.lock:
            time = self.engine.commit(changes)
            for subscription in self._subscriptions:
                table = self.engine.changes_of(subscription.view)
                if table is not None:
                    subscription.push(table)
            self.engine.forget_changes()
            return time

    def _readable(self) -> tuple[int, int]:
        return self.engine.since, self.engine.time

    def _unsubscribe(self, subscription: Subscription) -> None:
        with self.lock:
            if subscription in self._subscriptions:
                self._subscriptions.remove(subscription)


def _part_of(names: Sequence[str], catalog: Catalog) -> list[str]:
    """The views among `names`, and those that they read in turn, that are not maintained: texts within a text."""
    reached = set(names)
    for view in reversed(catalog.views):
        if view.name in reached and not view.maintained:
            reached.update(view.uses)
    return [view.name for view in catalog.views if view.name in reached and not view.maintained]
