"""Several reads as of one time, whatever is committed meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from ivm.catalog.errors import BindError, InterfaceError, TransactionError
from ivm.engine.backend import ViewRows
from ivm.engine.reader import View
from ivm.session.aside import Aside
from ivm.session.core import Core
from ivm.session.open_transaction import OpenTransaction
from ivm.session.transactions import Begun, Holder, Runs, Transactions

_CLOSED = "cannot read this snapshot: it is closed; take another one with db.snapshot()"


class Snapshot(Aside["Fixed"]):
    """Tables and views as of one time, to be read only: now() is when that was committed. `ivm_snapshots` tells who
    holds it. Use as a context manager, or call `close`. Any thread may use it, one after the other.

    What there was then is kept meanwhile, so memory grows with what others change. TransactionError for a statement
    that would change something, and for a table or view that was dropped or replaced since the snapshot was taken, or
    whose past is not known so far back.
    """

    _closed = _CLOSED

    def __init__(self, core: Core, transactions: Fixed, database: Runs) -> None:
        """See `Aside`."""
        super().__init__(core, transactions, database)
        self.time = transactions.core().pending.time

    def view(self, name: str) -> View:
        """A maintained view, each of whose reads shows what it was. Raises as `Database.view`."""
        with self._lock, self._core.lock:
            self._open  # noqa: B018  which raises where it is closed
            core = self._core
            name = core.maintained(core.settings.names.given(name)).definition.name
            return _View(core, name, self.time, lambda: self._contents(name))

    def __repr__(self) -> str:
        return f"<ivm.Snapshot, {'closed' if self._database is None else f'time {self.time}'}>"

    def _contents(self, view: str) -> ViewRows:
        with self._lock:
            self._open  # noqa: B018
            return self._transactions.core().pending.contents(view)


class Fixed(Transactions):
    """One transaction that only reads, as of one time, for whatever thread, which does not end."""

    def __init__(self, core: Core, time: int | None) -> None:
        super().__init__(core, Holder())
        with core.lock:  # or others commit between the moment and what keeps it
            self.of_thread.begun = Begun(core, read_only=True, time=core.engine.time if time is None else time)
            self.core()

    def core(self) -> OpenTransaction:
        """What is read. InterfaceError where it was closed."""
        if self.begun is None:
            raise InterfaceError(_CLOSED)
        return self.begun.core()

    def failed(self, error: BaseException) -> None:
        """A statement that fails changes nothing."""

    def begin(self, *, read_only: bool = False) -> None:
        """TransactionError."""
        raise TransactionError("cannot begin a transaction in a snapshot, which is one; begin it on the database")

    def commit(self) -> None:
        """TransactionError."""
        raise TransactionError("cannot commit a snapshot, which changes nothing; close it")

    def rollback(self) -> None:
        """TransactionError."""
        raise TransactionError("cannot roll a snapshot back, which changes nothing; close it")


class _View(View):
    """Reads a maintained view as of the time of a snapshot."""

    def __init__(self, core: Core, name: str, time: int, contents: Callable[[], ViewRows]) -> None:
        super().__init__(name, lambda: core.engine, lambda: (time, time), core.lock)
        self._before = contents

    def _contents(self, as_of: int | None = None) -> ViewRows:
        if as_of is not None:
            self._check_readable(as_of, 0)
        return self._before()

    def _check_readable(self, as_of: int, since: int) -> None:
        if as_of != self._readable()[0]:
            raise BindError(
                f"cannot read view {self.name} as of time {as_of}: this is a snapshot of time {self._readable()[0]}; "
                "ask the database's own view"
            )
