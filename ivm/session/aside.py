"""What is asked beside the database, in a transaction of its own that nobody else sees."""

from __future__ import annotations

import threading
from typing import ClassVar, Generic, Self, TypeVar

from ivm.catalog.errors import InterfaceError
from ivm.results.result import Result
from ivm.session.core import Core
from ivm.session.transactions import Runs, Transactions
from ivm.sql.parameters import Parameters

Its = TypeVar("Its", bound=Transactions)


class Aside(Generic[Its]):
    """Tables and views as they were, or would be: statements over them until it is closed, for any thread."""

    _closed: ClassVar[str]
    """What is said to whom asks when it is closed."""

    def __init__(self, core: Core, transactions: Its, database: Runs) -> None:
        """`database`: whose statements are those of `transactions`."""
        self._core = core
        self._lock = threading.RLock()
        self._transactions = transactions
        self._database: Runs | None = database

    def sql(self, text: str, params: Parameters | None = None, *, dialect: str = "duckdb") -> Result:
        """Run statements as `Database.sql` does, over what there is here. InterfaceError where it is closed."""
        with self._lock:
            return self._open.sql(text, params, dialect=dialect)

    def close(self) -> None:
        """Let go of what is kept. Once is enough."""
        with self._lock:
            self._database = None
            self._transactions.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    @property
    def _open(self) -> Runs:
        if self._database is None:
            raise InterfaceError(self._closed)
        return self._database
