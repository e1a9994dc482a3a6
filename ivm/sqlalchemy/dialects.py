"""The two dialects: they write and read the same, and reach a database in two ways."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any
from uuid import UUID

from sqlalchemy import URL, Connection, Uuid, pool
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.engine import default

import ivm
from ivm.sqlalchemy.compiling import Definitions, Types
from ivm.sqlalchemy.reflecting import MAIN, Reflecting
from ivm.sqlalchemy.separate import Separate

_VERSION = (16, 0)
"""That of Postgres, of which most of what SQLAlchemy writes is understood."""


class IvmPsycopg(Reflecting, PGDialect_psycopg):  # type: ignore[misc]  # it tells in another way
    """`ivm+psycopg://ada@127.0.0.1:5432/shop`: by a server's door of Postgres's protocol."""

    name = "ivm"
    supports_statement_cache = True
    ddl_compiler = Definitions
    type_compiler_cls = Types

    def _get_default_schema_name(self, connection: Connection) -> str:
        return MAIN


class _Uuid(Uuid[Any]):
    """UUIDs, which are texts as they come."""

    def result_processor(self, dialect: Any, coltype: object) -> Callable[[Any], Any] | None:
        """What makes a value of what comes."""
        if not self.as_uuid:
            return None
        return lambda value: None if value is None else UUID(value)


_TYPES = {**PGDialect.colspecs, Uuid: _Uuid}
_ERRORS = {"ConstraintError": "IntegrityError", "UnsupportedError": "NotSupportedError", "Error": "DatabaseError"}
"""What DB-API 2 calls errors, by what they are called here."""


class InProcess(Reflecting, PGDialect):  # type: ignore[misc]  # it tells in another way
    """`ivm:///shop.ivm`, or `ivm://` for a new database in memory: in this process, without a server.

    All connections of an engine are of one database, which is open for as long as one of them is: the pool keeps some
    until `engine.dispose()`.
    """

    name = driver = "ivm"
    supports_statement_cache = True
    default_paramstyle = "qmark"
    colspecs = _TYPES
    dbapi_exception_translation_map = _ERRORS
    ddl_compiler = Definitions
    type_compiler_cls = Types
    poolclass = pool.QueuePool

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)  # type: ignore[no-untyped-call]
        self._lock = threading.Lock()
        self._db: ivm.Database | None = None
        self._open = 0

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """The module of DB-API 2."""
        from ivm import dbapi  # noqa: PLC0415  as SQLAlchemy wants it: when an engine is made

        return dbapi

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        """The pool of an engine."""
        return pool.QueuePool

    def create_connect_args(self, url: URL) -> tuple[tuple[()], dict[str, Any]]:
        """What `connect` is given: the database's directory, if there is one, and what `ivm.connect` takes."""
        return (), {"path": url.database or None, **url.query}

    def connect(self, *none: Any, path: str | None = None, **how: Any) -> Any:
        """A connection of its own, with a transaction of its own, to the one database."""
        with self._lock:
            if self._db is None:
                self._db = ivm.connect(path, **how)
            self._open += 1
            return Separate(self._db, self._closed)

    def _closed(self) -> None:
        with self._lock:
            self._open -= 1
            if not self._open and self._db is not None:
                self._db.close()
                self._db = None

    def initialize(self, connection: Connection) -> None:
        """Find out nothing more than any dialect does."""
        default.DefaultDialect.initialize(self, connection)

    def _get_server_version_info(self, connection: Connection) -> tuple[int, ...]:
        return _VERSION

    def _get_default_schema_name(self, connection: Connection) -> str:
        return MAIN

    def get_isolation_level_values(self, dbapi_connection: Any) -> list[Any]:
        """How much transactions see of others."""
        return ["REPEATABLE READ", "AUTOCOMMIT"]

    def get_default_isolation_level(self, dbapi_connection: Any) -> Any:
        """What holds if nobody says otherwise."""
        return "REPEATABLE READ"

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        """What holds."""
        return "AUTOCOMMIT" if dbapi_connection.autocommit else "REPEATABLE READ"

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        """Have it hold."""
        dbapi_connection.autocommit = level == "AUTOCOMMIT"

    def do_begin(self, dbapi_connection: Any) -> None:
        """Begin a transaction, unless each statement is to commit by itself."""
        if not dbapi_connection.autocommit and not dbapi_connection.in_transaction:
            dbapi_connection.begin()

    def do_rollback(self, dbapi_connection: Any) -> None:
        """End the transaction, if there is one."""
        if dbapi_connection.in_transaction:
            dbapi_connection.rollback()

    def do_commit(self, dbapi_connection: Any) -> None:
        """Commit the transaction, if there is one."""
        if dbapi_connection.in_transaction:
            dbapi_connection.commit()

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Whether the connection is of use."""
        return not dbapi_connection.closed

    def is_disconnect(self, e: Exception, connection: Any, cursor: Any) -> bool:
        """Whether an error says that the database is closed."""
        return connection is not None and bool(connection.closed)
