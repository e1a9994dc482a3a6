"""BEGIN, COMMIT and ROLLBACK: of each thread the transaction that it has open on a database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from ivm.catalog.errors import TransactionError
from ivm.catalog.paths import Names
from ivm.engine.installing import Progress
from ivm.results.result import Result
from ivm.session.core import Core
from ivm.session.statements import run_statement
from ivm.sql.connection_statements import Begin, Commit, Load, Rollback
from ivm.sql.parameters import Parameters
from ivm.sql.plain_insert import PlainInsert
from ivm.sql.plain_rows import PlainRows
from ivm.sql.statements import Analyze, Explain, Statement

if TYPE_CHECKING:
    from ivm.session.open_transaction import OpenTransaction
    from ivm.session.pending import Saved


class Runs(Protocol):
    """A database, whose statements work on a transaction."""

    def sql(self, text: str, params: Parameters | None = None, *, dialect: str = "duckdb") -> Result:
        """Run statements."""
        ...


def at_time(core: Core, time: int) -> OpenTransaction:
    """What reads as of a time. BindError if that is not kept."""
    from ivm.session.open_transaction import OpenTransaction  # noqa: PLC0415  DuckDB, which few wait for
    from ivm.session.pending import QUERY  # noqa: PLC0415  as above

    return OpenTransaction(core, read_only=True, time=time, holder=QUERY)


class Begun:
    """A transaction between BEGIN and its end. It sees what was there when its first statement ran."""

    def __init__(self, core: Core, *, read_only: bool, time: int | None = None) -> None:
        """`time`: which a snapshot shows."""
        self._core = core
        self._read_only = read_only
        self._time = time
        self._open: OpenTransaction | None = None
        self.error = ""
        """What has aborted it; empty as long as it can go on."""
        self._savepoints: list[tuple[str, Saved]] = []

    def core(self) -> OpenTransaction:
        """What its statements work on. TransactionError if it is aborted."""
        if self.error:
            raise TransactionError(
                f"the current transaction is aborted, and nothing of it will take effect: {self.error}; write ROLLBACK"
            )
        if self._open is None:
            from ivm.session.open_transaction import OpenTransaction  # noqa: PLC0415  DuckDB, which few wait for

            holder = "transaction" if self._time is None else "snapshot"
            self._open = OpenTransaction(self._core, read_only=self._read_only, time=self._time, holder=holder)
        return self._open

    @property
    def is_open(self) -> bool:
        """Whether it knows by now what it sees, as a statement of it has run."""
        return self._open is not None

    def abort(self, error: BaseException) -> None:
        """It cannot go on: a statement has failed. What it had is let go."""
        self.error = self.error or str(error).partition("\n")[0] or type(error).__name__
        if not self._savepoints:
            self.let_go()

    def save(self, name: str) -> None:
        """Have a savepoint of a name, to which `restore` leads back. Cost: that of the rows changed by now."""
        self._savepoints.append((name, self.core().pending.saved()))

    def release(self, name: str) -> None:
        """Forget a savepoint, and those after it; what was changed since stays. TransactionError if there is none."""
        self.core()
        del self._savepoints[self._place(name) :]

    def restore(self, name: str) -> None:
        """Let go of what was changed since a savepoint, which stays; those after it go. An aborted transaction goes on
        again. TransactionError if there is none, or if other things exist than then.
        """
        place = self._place(name)
        assert self._open is not None, "a savepoint keeps it"
        self._open.pending.restore(self._savepoints[place][1])
        del self._savepoints[place + 1 :]
        self.error = ""

    def _place(self, name: str) -> int:
        """Where the last savepoint of a name stands."""
        found = [place for place, (each, _) in enumerate(self._savepoints) if each == name]
        if not found:
            raise TransactionError(f"there is no savepoint {name!r} in this transaction; SAVEPOINT makes one")
        return found[-1]

    def renew(self) -> None:
        """See what there is by now, unless it has changed something, or has a savepoint."""
        if self._open is not None and not self._savepoints and not self._open.pending.has_changed:
            self._core.settings.path = self._open.settings.path
            self.let_go()

    def let_go(self) -> None:
        """Let go of what it had, and of what was kept for it."""
        if self._open is not None:
            self._open.pending.end()
        self._open = None

    def publish(self) -> None:
        """Let everybody see what it has changed; see `OpenTransaction.publish`."""
        if self.error or self._open is not None:
            self.core().publish()


class Holder:
    """What has been `begun`, if it has."""

    begun: Begun | None = None


class _OfThread(threading.local, Holder):
    pass


class Transactions:
    """Of each thread the transaction that it has open, if it has: what other threads do is not in it."""

    def __init__(self, core: Core, holder: Holder | None = None) -> None:
        """`holder`: of what all threads have open together, where it is not each for itself."""
        self._core = core
        self.of_thread = _OfThread() if holder is None else holder
        """What this thread has `begun`, which each commit asks without a call."""

    @property
    def begun(self) -> Begun | None:
        """That of this thread."""
        return self.of_thread.begun

    @property
    def names(self) -> Names:
        """What names mean that statements of this thread give."""
        begun = self.begun
        return (self._core if begun is None or begun.error else begun.core()).settings.names

    def core(self) -> OpenTransaction:
        """What is begun works on. TransactionError if it is aborted, or nothing is begun."""
        return self._found("go on").core()

    def begin(self, *, read_only: bool = False) -> None:
        """Begin one. TransactionError if there is one, which is aborted then, as in DuckDB."""
        begun = self.begun
        if begun is not None:
            error = TransactionError("cannot start a transaction within a transaction; COMMIT or ROLLBACK first")
            begun.abort(error)
            raise error
        self.of_thread.begun = Begun(self._core, read_only=read_only)

    def commit(self) -> None:
        """Let everybody see what the transaction has changed, at one logical time, or end it with an error: then
        nothing has changed. An aborted one stays, until ROLLBACK.
        """
        begun = self._found("commit")
        try:
            begun.publish()
        finally:
            if not begun.error:
                self.end()

    def rollback(self) -> None:
        """Let go of all that the transaction has changed."""
        self._found("rollback")
        self.end()

    def end(self) -> None:
        """Whatever is begun is over."""
        begun, self.of_thread.begun = self.of_thread.begun, None
        if begun is not None:
            begun.let_go()

    def check_none(self, what: str) -> None:
        """Raise TransactionError if this thread has one, of which `what` would be no part."""
        if self.of_thread.begun is not None:
            raise TransactionError(
                f"cannot call {what}: this thread has begun a transaction, of which it would be no part; COMMIT or "
                "ROLLBACK first, or write INSERT, UPDATE and DELETE"
            )

    def failed(self, error: BaseException) -> None:
        """A statement of this thread has failed: its transaction is aborted, if there is one."""
        if self.begun is not None:
            self.begun.abort(error)

    def run(
        self,
        statements: Sequence[Statement | PlainInsert | PlainRows],
        dialect: str,
        progress: Callable[[Progress], None] | None,
    ) -> Result:
        """Carry out one statement after the other, see `run_statement`; the result is the last one's."""
        result = None
        for statement in statements:
            result = self._run(statement, dialect, progress)
        return Result() if result is None else result

    def _run(
        self,
        statement: Statement | PlainInsert | PlainRows,
        dialect: str,
        progress: Callable[[Progress], None] | None,
    ) -> Result:
        match statement:
            case Begin():
                self.begin(read_only=statement.read_only)
            case Commit():
                self.commit()
            case Rollback():
                self.rollback()
            case _:
                try:
                    return run_statement(self._core_for(statement), statement, dialect, progress)
                except BaseException as error:
                    self.failed(error)
                    raise
        return Result()

    def _core_for(self, statement: Statement | PlainInsert | PlainRows) -> Core:
        """What a statement of this thread works on."""
        if self.begun is None:
            return self._core
        core = self.begun.core()
        is_of_view = isinstance(statement, Analyze) and isinstance(statement.inner, str)
        return self._core if is_of_view or isinstance(statement, Explain | Load) else core

    def _found(self, what: str) -> Begun:
        if self.begun is None:
            raise TransactionError(f"cannot {what}: no transaction is active; each statement has committed by itself")
        return self.begun
