"""A core as one session of many has it: settings of its own, and a right to write, or none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from ivm.arguments import Tabular
from ivm.catalog.errors import AccessError
from ivm.catalog.names import temp_of_session
from ivm.durable.payload import Batch
from ivm.engine.transaction import Change, Transaction
from ivm.session.core import Core
from ivm.session.database import Database, core_of
from ivm.session.defining_schemas import drop_temporary
from ivm.session.sequences import Numbers
from ivm.session.settings import Named, Settings, as_it_is
from ivm.session.transactions import Holder, Transactions
from ivm.sql.sequence_words import NEXT, numbers_called

if TYPE_CHECKING:
    import duckdb


class OfSession:
    """What statements of one session work on: all is the core's but what SET, USE and PREPARE say, what is TEMP, and
    who may write.

    It stands where others have a `Core`, whatever kind of one it is of.
    """

    _core: Core
    _refusal: str
    settings: Settings

    def __init__(self, core: Core, refusal: str) -> None:
        """`refusal`: why nothing may be changed; empty if it may."""
        names = replace(core.settings.names, temp=temp_of_session())
        settings = Settings(names, first_zone=core.settings.zone)
        self.__dict__.update(_core=core, settings=settings, _refusal=refusal)
        if refusal:
            self.__dict__.update(external_access=False, numbers=_NoneGiven(core.numbers, refusal))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._core, name, value)

    def check_writable(self) -> None:
        """AccessError if the session, or the database, is only to read."""
        if self._refusal:
            raise AccessError(self._refusal)
        self._core.check_writable()

    def commit(self, changes: list[Change], batch: Batch | None = None, *, settles: bool = True) -> int:
        """See `Core.commit`."""
        self.check_writable()
        return self._core.commit(changes, batch, settles=settles)

    def transaction(self, batch: Batch | None = None, *, settles: bool = True, named: Named = as_it_is) -> Transaction:
        """See `Core.transaction`."""
        self.check_writable()
        return self._core.transaction(batch, settles=settles, named=named)

    def close(self) -> None:
        """Drop what is TEMP: the database is not the session's to close. Cost: nothing, if there is none."""
        core = cast(Core, self)
        drop_temporary(core, core)


class _NoneGiven:
    """The numbers of sequences, for who may give none."""

    def __init__(self, numbers: Numbers, refusal: str) -> None:
        self._numbers, self._refusal = numbers, refusal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._numbers, name)

    def answer(self, duck: duckdb.DuckDBPyConnection, text: str, *, tries: bool = False) -> pa.Table:
        """See `Numbers.answer`; AccessError for a query that calls nextval."""
        if any(call == NEXT for call, _ in numbers_called(text)):
            raise AccessError(self._refusal)
        return self._numbers.answer(duck, text, tries=tries)


def of_session(db: Database, refusal: str = "") -> Database:
    """The database for one session: BEGIN, SET, USE, PREPARE and what is TEMP are its own, by whatever threads it is
    carried out.

    `refusal`: why it may change nothing; empty if it may. To close it drops what is TEMP, and closes nothing. One
    thread at a time uses it.
    """
    core = cast(Core, OfSession(core_of(db), refusal))
    return Database(core, Transactions(core, Holder()))


def works_on(db: Database) -> Core:
    """What statements of a session work on: the core, or the transaction that it has begun. TransactionError if that is
    aborted.
    """
    return core_of(db) if db._transactions.begun is None else db._transactions.core()


def put(db: Database, table: str, rows: Tabular) -> None:
    """Insert rows into a table, in the transaction that is begun on a database; see `Transaction.insert`."""
    core = db._transactions.core()
    core.commit([core.incoming.change(core.settings.names.given(table), rows, "diff")])
