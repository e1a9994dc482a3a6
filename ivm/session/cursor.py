"""Cursors: statements and their rows one after the other, as DB-API 2 (PEP 249) has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from ivm.arguments import sql_text
from ivm.catalog.errors import InterfaceError
from ivm.results.result import Result
from ivm.sql.parameters import Parameters, filled_for_all

Row = tuple[Any, ...]
"""A row's values as Python has them: int, float, Decimal, str, bool, date, datetime, list, None."""

Description = tuple[str, str, None, None, None, None, None]
"""A column as DB-API 2 describes it: its name and its SQL type, such as 'DECIMAL(9,2)'; the rest is not said."""


class Connection(Protocol):
    """What DB-API 2 calls a connection, as far as a cursor needs it: a database."""

    def sql(self, text: str, params: Parameters | None = None) -> Result:
        """Run statements; what the last one answers."""
        ...


class Cursor:
    """Runs statements, and gives out the rows of the last one; made by `Database.cursor` and `Database.execute`.

    Each statement is a commit of its own, but for those between BEGIN and COMMIT, by whatever cursor of the connection
    the thread runs them. A SELECT's rows are those of the moment at which it ran. One thread at a time may use one.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        """How many rows `fetchmany` gives if it is not told."""
        self._result: Result | None = None
        self._count = -1
        self._closed = False

    def execute(self, sql: str, params: Parameters | None = None) -> Cursor:
        """Run one or more statements; then this cursor is at the first row of the last one's. See `Database.sql`."""
        self._check_open()
        self._result, self._count = None, -1
        self._result = self.connection.sql(sql, params)
        self._count = self._result.rowcount
        return self

    def executemany(self, sql: str, params: Iterable[Parameters]) -> Cursor:
        """Run one statement for each set of parameters; `rowcount` is the sum, and there are no rows to fetch.

        INSERT .. VALUES of one row is one commit for all of them, all or nothing; any other is a commit each. For many
        rows `Transaction.insert`, which takes whole columns, is a hundred times as fast.
        """
        self._check_open()
        self._result, self._count = None, -1
        changed = sum(max(self.connection.sql(text).rowcount, 0) for text in filled_for_all(sql_text(sql), params))
        self._count = changed
        return self

    @property
    def description(self) -> list[Description] | None:
        """The columns of the rows that can be fetched; None if there are none."""
        return None if self._result is None or not self._result.columns else self._result.description

    @property
    def rowcount(self) -> int:
        """How many rows the last statement changed, or found; -1 for one that does neither."""
        return self._count

    def fetchone(self) -> Row | None:
        """The next row; None after the last."""
        return self._rows().fetchone()

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next `size` (else `arraysize`) rows, or as many as are left."""
        return self._rows().fetchmany(self.arraysize if size is None else size)

    def fetchall(self) -> list[Row]:
        """The rows that are left."""
        return self._rows().fetchall()

    def __iter__(self) -> Iterator[Row]:
        """The rows that are left, one by one."""
        return iter(self.fetchone, None)

    def setinputsizes(self, sizes: object) -> None:
        """Nothing: DB-API 2 wants it to be here."""

    def setoutputsize(self, size: object, column: object = None) -> None:
        """Nothing: DB-API 2 wants it to be here."""

    def close(self) -> None:
        """Let the rows go; the cursor is of no use any more."""
        self._result, self._count, self._closed = None, -1, True

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _rows(self) -> Result:
        self._check_open()
        if self._result is None:
            raise InterfaceError("cannot fetch: nothing was executed that has rows; call execute with a SELECT first")
        return self._result

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("cannot use this cursor: it is closed; make another with db.cursor()")
