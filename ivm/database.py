"""What a user holds. Every public call is atomic, each statement of a text for itself, from any thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from ivm.arguments import callback, rows_by_table, sql_text
from ivm.core import Core
from ivm.engine import Engine, Progress
from ivm.explain import explain
from ivm.incoming import check_times
from ivm.nesting import nested_statements
from ivm.oracle import Verified, verify
from ivm.render.scalars.program import Compiler
from ivm.result import Result
from ivm.statements import DEFINITIONS, run_statement, statements_of
from ivm.subscription import Subscription
from ivm.transaction import Transaction
from ivm.view import View
from sql.parameters import Parameters, filled


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
        engine = Engine(compiler, history, sharing=sharing, memory_limit=memory_limit)
        self._core = Core(engine, external_access=external_access)

    @property
    def time(self) -> int:
        """The logical time of the last commit; 0 before the first."""
        return self._core.engine.time

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
            with self._core.defining(progress) if defines else nullcontext():
                for statement in statements:
                    result = run_statement(self._core, statement, dialect)
        return result

    def transaction(self) -> Transaction:
        """Changes at one logical time, all or nothing; use as a context manager."""
        return self._core.transaction()

    def apply(self, changes: Mapping[str, Any]) -> int:
        """Commit one physical batch; returns its last logical time.

        `changes` maps table names to rows as `Transaction.insert` takes them, with two optional columns: `_time`, the
        logical time of each change (int64, later than the last commit; without it all have the next time), and `_diff`
        (int64, +1 inserts, -1 deletes). In a table with a primary key a delete finds its row by the key, whatever its
        other columns say; equal rows of one time that contradict each other count by their sum. Every view changes
        exactly as if each time had been committed alone.
        """
        core, present = self._core, self.time
        checked = [core.incoming.change(name, data, present) for name, data in rows_by_table(changes).items()]
        with core.lock:
            if self.time != present:
                for change in checked:
                    check_times(change.table, change.times, self.time)
            return core.commit(checked)

    def view(self, name: str) -> View:
        """A maintained view, to be read any number of times."""
        core = self._core
        with core.lock:
            return View(core.maintained(name), core.engine.dictionary, core.readable, core.lock)

    def subscribe(self, view: str, *, snapshot: bool = False) -> Subscription:
        """The changes of a view from now on, after its present rows (as +1) if `snapshot`."""
        return self._core.subscribe(view, snapshot)

    def verify(self, views: Sequence[str] | None = None) -> list[Verified]:
        """Compare views (all maintained ones by default) with DuckDB's recomputation from the tables.

        Raises VerificationError with differing rows. Cost: DuckDB runs every query over the whole tables.
        """
        return verify(self._core, views)

    def wait_compiled(self, timeout: float | None = None) -> None:
        """Block until every kernel that installed views wait for is compiled, or `timeout` seconds have passed."""
        if self._core.engine.renderer.compiler is not None:
            self._core.engine.renderer.compiler.wait(timeout)

    def explain(self, text: str, *, dialect: str = "duckdb") -> str:
        """What EXPLAIN says of a SELECT, as one text. Raises as `sql` does."""
        return explain(self._core, sql_text(text), dialect)


def core_of(db: Database) -> Core:
    """What a database is made of: for tests, measurements and the command line. No part of the interface."""
    return db._core
