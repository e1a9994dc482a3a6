"""What would be, if something were changed: a transaction that ends with nothing changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import pyarrow as pa

from ivm.arguments import Tabular, one_of, rows_by_table
from ivm.catalog.errors import TransactionError, UnsupportedError
from ivm.session.aside import Aside
from ivm.session.core import Core
from ivm.session.publishing import changes_of
from ivm.session.subscribed_queries import Heard
from ivm.session.subscribing import subscribe
from ivm.session.transactions import Holder, Transactions
from ivm.subscriptions.wish import Wish
from ivm.trace.rows.table_store import Mode


class WhatIf(Aside["Imagined"]):
    """A database as it would be with some changes, which nobody else sees, and which are gone when it is closed.

    It begins with what there was when it was first asked for something, however others change that meanwhile. Use as a
    context manager, or call `close`. Any thread may use it, one after the other. Cost: what there was is kept, so
    memory grows with what others change.

    COMMIT is refused; ROLLBACK lets go of changes. A view that the changes reach is computed by DuckDB. After a
    statement that fails only ROLLBACK is possible.
    """

    _closed = "cannot ask what would be: this was closed; begin anew with db.what_if()"

    def apply(self, changes: Mapping[str, Tabular], *, mode: Mode = "diff") -> None:
        """Change tables as `Database.apply` does, all at one time. Raises as that, and then has changed nothing."""
        one_of(mode, get_args(Mode), "mode")
        with self._lock:
            self._open  # noqa: B018  which raises where it is closed
            core = self._transactions.core()
            named = core.settings.names.given
            given = [core.incoming.change(named(name), rows, mode) for name, rows in rows_by_table(changes).items()]
            if any(change.times is not None for change in given):
                raise UnsupportedError(
                    "cannot apply rows of several times to what would be; leave out the column _time"
                )
            core.commit(given)

    def changes(self, view: str) -> pa.Table:
        """What the changes would change in a maintained view, as a subscription tells it: columns, `_time`, `_diff`.

        Raises what their commit would raise: ConstraintError, NumericError, or TransactionError if others have changed
        the same rows meanwhile. Cost: that of the commit, and of undoing it; not that of the view.
        """
        with self._lock:
            self._open  # noqa: B018
            return _told(self._core, self._transactions, view)


class Imagined(Transactions):
    """One transaction, for whatever thread, which does not end."""

    def __init__(self, core: Core) -> None:
        super().__init__(core, Holder())
        self.begin()

    def commit(self) -> None:
        """TransactionError."""
        raise TransactionError("cannot commit what would be; make the changes on the database itself")

    def rollback(self) -> None:
        """Begin anew."""
        super().rollback()
        self.begin()


def _told(core: Core, transactions: Transactions, view: str) -> pa.Table:
    pending = transactions.core().pending
    if pending.defines:
        raise UnsupportedError(
            f"cannot tell changes of view {view}: something was created, altered or dropped too; read what would be by "
            "sql, or change rows alone"
        )
    of = Heard(core.settings.names.given(view))
    with core.lock, subscribe(core, of, Wish(), snapshot=False, from_time=None) as asked:
        if core.engine.whole_view(asked.view) is None:
            raise UnsupportedError(f"cannot tell changes of view {view} over shards; read what would be by sql")
        changes = changes_of(core, pending)
        told = core.engine.check(changes) if changes else ()
        return next((piece.table for listened, piece in told if asked in listened.each()), asked.fetch())
