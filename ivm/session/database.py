"""What a user holds: thin, over the core and the functions that work on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING

from ivm.arguments import batch_of, callback, moment, sql_text
from ivm.catalog.errors import Error, InterfaceError
from ivm.engine.installing import Progress
from ivm.engine.reader import View
from ivm.engine.transaction import Transaction
from ivm.results.result import Result
from ivm.session.core import Core
from ivm.session.cursor import Cursor
from ivm.session.defining import DEFINITIONS
from ivm.session.explain import explain
from ivm.session.introspection import TableInfo, ViewInfo, tables, views
from ivm.session.plain_inserts import insert_row, insert_values
from ivm.session.row_statements import change_row
from ivm.session.statements import (
    in_steps,
    make_room,
    nested_too_deeply,
    renamed,
    statements_of,
)
from ivm.session.ticking import tick
from ivm.session.transactions import Transactions, at_time
from ivm.session.with_changes import WithChanges
from ivm.session.with_deliveries import WithDeliveries
from ivm.session.with_functions import WithFunctions
from ivm.session.with_moments import WithMoments
from ivm.session.with_subscriptions import WithSubscriptions
from ivm.sql.macros import with_macros
from ivm.sql.parameters import Parameters, filled

if TYPE_CHECKING:
    from ivm.session.oracle import Verified


class Database(WithFunctions, WithChanges, WithMoments, WithSubscriptions, WithDeliveries):
    """An engine for standing SQL queries, in memory. Make one with `ivm.connect()`.

    Any thread may call anything. Every call is atomic: it takes effect whole, or raises and has changed nothing; of a
    text of several statements each for itself. A view is exactly up to date when the call that changed a table returns.

    As a context manager it is closed when the block ends. It is a connection too, as DB-API 2 (PEP 249) has it, see
    `ivm.dbapi`: each statement commits by itself, but for those of a thread between BEGIN and COMMIT.
    """

    def __init__(self, core: Core, transactions: Transactions | None = None) -> None:
        self._core = core
        core.at = partial(at_time, core)
        self._transactions = transactions or Transactions(core)

    @property
    def time(self) -> int:
        """The logical time of the last commit; 0 before the first."""
        return self._open.readable()[1]

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._core.lock.closed

    @property
    def _open(self) -> Core:
        """The core, if it can still be used; raises InterfaceError otherwise, and in a function that it calls."""
        core = self._core
        if core.lock.refusal:
            core.lock.check_open()
        if core.lock.within:
            core.lock.check_outside()
        return core

    def sql(
        self,
        text: str,
        params: Parameters | None = None,
        *,
        dialect: str = "duckdb",
        progress: Callable[[Progress], None] | None = None,
    ) -> Result:
        """Run one or more statements; the result is the last one's.

        CREATE [OR REPLACE] TABLE [AS], CREATE [OR REPLACE] [MATERIALIZED] VIEW, CREATE INDEX, CREATE TYPE, CREATE
        MACRO, CREATE SCHEMA, COMMENT ON, DROP [CASCADE], INSERT [OR REPLACE | OR IGNORE | ON CONFLICT], UPDATE, DELETE,
        MERGE, TRUNCATE, each of these with RETURNING, COPY, BEGIN, COMMIT, ROLLBACK (see `begin`), CHECKPOINT, USE,
        SET, PREPARE, EXECUTE, SHOW, DESCRIBE, SUMMARIZE, EXPLAIN [ANALYZE], and any SELECT, which DuckDB runs over the
        tables, views and `ivm_*` relations, unless it only chooses rows of one (see `ivm.session.row_statements`).
        `params` are the values of ?, $1 and $name in the text; in a view's text they stand as literals (see
        `ivm.sql.parameters`). A text in another `dialect` that sqlglot reads is translated to DuckDB's. Raises
        ParseError, BindError, UnsupportedError, TypeMismatchError, ConstraintError, NumericError, or AccessError for a
        text that reads or writes files or the network in a database without `external_access`; then the statement has
        changed nothing.

        Each statement is atomic, and sees what was committed before it (in a transaction see `begin`); other threads
        commit between two, and while DuckDB answers. A SELECT answers as of the moment at which it began. INSERT,
        UPDATE, DELETE and MERGE change what they would at the moment of their commit.

        A maintained view is filled in chunks of rows; other threads commit and read in between, and do not see it
        before it is whole. Statements that create or drop wait for each other. `progress` is called after each chunk,
        from this thread; it may read and commit too. If it raises, the view is not created. COPY from a file calls it
        too, with the table's name as that of the view, and commits once when all is read.
        """
        core, transactions = self._open, self._transactions
        callback(progress, "progress")
        try:
            text = sql_text(text)
            if dialect == "duckdb":
                done = self._done(text, params)
                if done is not None:
                    return done
            written = filled(text, params, dialect)
            if written is not text:
                sql_text(written)
                done = self._done(written, None) if dialect == "duckdb" else None
                if done is not None:
                    return done
            make_room()
            result = Result()
            for step in in_steps(written, dialect, transactions.names):
                result = self._run(step, dialect, progress)
            return result
        except RecursionError:
            raise nested_too_deeply() from None
        except Error as error:
            core.settings.names.tell(error)
            raise
        finally:
            core.certain()  # errors tell of what there is, too

    def _done(self, text: str, params: Parameters | None) -> Result | None:
        """What an INSERT of values has done, or an UPDATE or DELETE of one row by its key, written as most are; None,
        and nothing has changed, for any other text.
        """
        begun = self._transactions.begun
        if begun is None:
            core = self._core
        elif begun.error:
            return None
        else:
            core = begun.core()
        try:
            if params is not None:
                return insert_values(core, text, params)
            done = insert_row(core, text)
            return change_row(core, text) if done is None else done
        except BaseException as error:
            self._transactions.failed(error)
            raise

    def _run(self, text: str, dialect: str, progress: Callable[[Progress], None] | None) -> Result:
        core, transactions = self._core, self._transactions
        statements = statements_of(text, dialect, transactions.names)
        if not any(isinstance(each, DEFINITIONS) for each in statements):
            return transactions.run(statements, dialect, progress)
        with core.definitions:
            core.check_writable()
            core.begin_defining(progress)
            return transactions.run(statements, dialect, progress)

    def execute(self, sql: str, params: Parameters | None = None) -> Cursor:
        """Run one or more statements as `sql` does; a cursor at the first row of the last one's."""
        return self.cursor().execute(sql, params)

    def executemany(self, sql: str, params: Iterable[Parameters]) -> Cursor:
        """Run one statement for each set of parameters; see `Cursor.executemany`."""
        return self.cursor().executemany(sql, params)

    def cursor(self) -> Cursor:
        """What runs statements and fetches their rows, as DB-API 2 has it."""
        self._core.lock.check_open()
        return Cursor(self)

    def begin(self) -> Database:
        """Begin a transaction of this thread, as BEGIN does: what the thread's statements change until `commit` takes
        effect at one logical time, or never.

        Statements between see what those before them did, and of others what there was when the first of them ran;
        nobody else sees anything. What else is called here (`view`, `time`, `verify`, ..) tells of what is committed. A
        statement that fails aborts the transaction: only `rollback` is possible then. TransactionError if this thread
        has begun one. Cost: what there was is kept meanwhile, so memory grows with what others change.
        """
        self._core.lock.check_open()
        self._transactions.begin()
        return self

    def commit(self) -> Database:
        """Let everybody see what the transaction of this thread has changed, as one commit. Where there is none nothing
        happens, since each statement has committed when it returned.

        TransactionError if the transaction is aborted, or if others were first: since it began they have changed a row
        that it changes, or put one where it puts one. Then, and if anything else fails, nothing has changed, and the
        transaction is over; one that was aborted waits for `rollback`.
        """
        core = self._open
        try:
            if self._transactions.begun is not None:
                self._transactions.commit()
        finally:
            core.certain()
        return self

    def rollback(self) -> Database:
        """Let go of what the transaction of this thread has changed; TransactionError where there is none."""
        self._core.lock.check_open()
        self._transactions.rollback()
        return self

    @property
    def in_transaction(self) -> bool:
        """Whether this thread has begun a transaction that has not ended."""
        return self._transactions.begun is not None

    def _over(self, transactions: Transactions) -> Database:
        return Database(self._core, transactions)

    def transaction(self, *, batch: tuple[str, int] | None = None) -> Transaction:
        """Changes of any tables at one logical time, all or nothing; `batch` as in `apply`.

            with db.transaction() as tx:
                tx.insert("sale", rows)
                tx.delete("stock", keys)

        commits at the end of the block; or call `commit` or `rollback` of what this returns.
        """
        core = self._open
        self._transactions.check_none("db.transaction()")
        return core.transaction(None if batch is None else batch_of(batch), named=core.settings.names.given)

    def tick(self, at: datetime | str | None = None) -> int:
        """Let time pass for views that compare with now(); returns the logical time of the last commit.

        Rows that enter or leave them by now do so in a commit of its own; every other commit moves them too. Without
        `at` it is as late as the system's clock says. `at` (a datetime, or an ISO text; UTC if it names no zone) says
        how late it is, for all of now() in the database, until the next tick: for tests, and to replay what was.
        Time never falls: InterfaceError for `at` before the time there is; a system's clock that goes backwards is
        waited for. Nothing is committed where no view reads the clock, or no time has passed.
        """
        core = self._open
        self._transactions.check_none("db.tick")
        given = None if at is None else moment(at, "at")
        core.check_writable()
        with core.lock:
            core.clock.give(core.engine, given)
        return tick(core)

    def refresh(self) -> int:
        """Of a database that was opened with `follow`: have all that is committed by now; the time of the last commit.

        StorageError if the log cannot be followed any more; InterfaceError where nothing is followed.
        """
        core = self._open
        if core.follows is None:
            raise InterfaceError("cannot refresh: this follows nobody; connect with read_only=True and follow=True")
        return core.follows.refresh()

    def view(self, name: str) -> View:
        """A maintained view, to be read any number of times, each time as of the last commit.

        Raises BindError for a name that is unknown, or of a view that is not maintained.
        """
        core = self._open
        found = core.view(core.settings.names.given(name))
        found.listened = self.subscribe
        return found

    def tables(self) -> list[TableInfo]:
        """The tables there are, in the order of their creation: names, columns, rows."""
        return tables(self._open)

    def views(self) -> list[ViewInfo]:
        """The views there are, in the order of their creation: names, columns, SQL, rows.

        Cost: the consolidation of maintained views that have changed since they were read.
        """
        return views(self._open)

    def verify(self, views: Sequence[str] | None = None) -> list[Verified]:
        """Compare views (all maintained ones by default) with DuckDB's recomputation from the tables.

        Raises VerificationError with differing rows. Where DuckDB raises on the way, because it computes what the query
        does not ask for, and does so again with NULL for it, `unchecked` of what is returned says why. Cost: DuckDB
        runs every query over the whole tables.
        """
        from ivm.session.oracle import verify  # noqa: PLC0415  DuckDB, which takes a while to import

        return verify(self._open, views)

    def backup(self, path: str | PathLike[str]) -> None:
        """Copy a database in a directory, as it is now, to another one, which is to be opened like the first.

        Others commit meanwhile. StorageError if `path` is there already, other than as an empty directory, or if the
        copy cannot be made; nothing is left of it then. InterfaceError for a database in memory, or one that is only
        read. Cost: reads and writes the files.
        """
        self._open.backup(path)

    def wait_compiled(self, timeout: float | None = None) -> None:
        """Have every kernel compiled that installed views were interpreted without, and block until that is done.

        It blocks for `timeout` seconds at most. Kernels of which little was asked are compiled too.
        """
        for compiler in self._open.engine.compilers:
            with self._core.lock:
                compiler.order_all()
            compiler.wait(timeout)

    def explain(self, text: str, *, dialect: str = "duckdb") -> str:
        """What EXPLAIN says of a SELECT, as one text. Raises as `sql` does."""
        core = self._open
        text = with_macros(sql_text(text), core.settings.names, dialect)
        names = core.settings.names
        return names.told(explain(core, renamed(text, names, dialect), dialect))

    def close(self) -> None:
        """Let tables and views go, and end the subscriptions; calls that are under way come to an end first.

        With the last database of the process that is closed, the process that compiles for them ends. Whatever is used
        afterwards, views and transactions too, raises InterfaceError; subscriptions still give what they hold. To close
        again does nothing. In a process that was forked, of a database that it has no part in, it raises that, too;
        leaving a `with` block does not.
        """
        if self._core.is_left:
            self._core.lock.check_open()
        self._core.close()

    def __enter__(self) -> Database:
        self._core.lock.check_open()
        return self

    def __exit__(self, *raised: object) -> None:
        self._core.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<ivm.Database, closed>"
        catalog = self._core.catalog
        return f"<ivm.Database, {len(catalog.tables)} tables, {len(catalog.views)} views, time {self.time}>"


def core_of(db: Database) -> Core:
    """What a database is made of: for tests, measurements and the command line. No part of the interface."""
    return db._core
