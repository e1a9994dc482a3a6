"""COMMIT: what a transaction has changed becomes one commit of the database, and what it has defined exists with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ivm.catalog.clock import CLOCK
from ivm.catalog.errors import ConstraintError, TransactionError
from ivm.engine.transaction import Change
from ivm.engine.under_way import Also
from ivm.intake.ingest import Intake
from ivm.session.before import check_same
from ivm.session.coming import Coming
from ivm.session.coming_whole import ComingWhole
from ivm.session.core import Core
from ivm.session.freeing import dropping
from ivm.session.pending import Pending
from ivm.session.sequences import last_numbers


def publish(core: Core, pending: Pending) -> None:
    """Commit all changes, at one logical time, or nothing.

    Raises what a commit and what creating a view raises, and TransactionError if others were first: they have changed
    what the transaction has changed, or what its changes rest upon. Views that are new are filled meanwhile; others
    wait for that where tables are others by then, and over shards. Cost: that of the commit, and of what is created.
    """
    if not pending.defines:
        with core.lock:
            changes = changes_of(core, pending)
            if changes:
                _committed(core, pending, partial(core.commit, changes, settles=False))
        return
    with core.definitions:
        core.check_writable()
        core.begin_defining(None)
        with dropping(core), core.lock:
            if not pending.goes_on():
                raise TransactionError(
                    "cannot commit: the transaction creates or drops something, and others have done so since it "
                    "began. Nothing was changed; run it again"
                )
            new: Coming = (core.comes_with or ComingWhole)(core, pending)
            try:
                new.prepare()
                changes = changes_of(core, pending)
                new.fill()
                new.check_static(changes)
                also = Also(new.written, new.work(), bool(new.catalog.users_of(CLOCK.name)))
                _committed(core, pending, partial(core.clock.commit, core.engine, changes, None, also))
            except BaseException:
                new.give_up()
                raise


def _committed(core: Core, pending: Pending, commit: Callable[[], int]) -> None:
    try:
        commit()
    except ConstraintError as error:
        others = [name for name, table in pending.tables.items() if table.has_changed]
        if not others:
            raise
        raise TransactionError(
            f"cannot commit: {error}. Others have changed {', '.join(others)} since the transaction began, and were "
            "first; run it again"
        ) from error


def changes_of(core: Core, pending: Pending) -> list[Change]:
    """What differs, checked against what others have changed. The caller has the lock."""
    due = pending.numbers.due()
    given = [last_numbers(due)] if due else []
    for name, (rows, diffs) in pending.changes().items():
        pending.tables[name].check_first(rows, diffs)
        table = pending.tables[name].table
        if not pending.tables[name].is_new:
            check_same(core, pending.tables[name].change.old, pending.as_of)
        # Rows that go may be from before a column was NOT NULL; those that come have been checked.
        fields = tuple(replace(field, nullable=True) for field in table.fields)
        stored, addresses = Intake(fields, f"table {name}", table.primary_key).rows(rows)
        given.append(Change(table, stored, addresses, None if (diffs > 0).all() else diffs))
    return given
