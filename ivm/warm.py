"""`ivm warm`: has everything compiled that the tables and views of a file will need, before they hold a row.

Which loops a view runs depends on how changes reach it, so the views are tried: over a few made-up rows, that match in
every join and pass every filter, and that come and go. What is met is noted, and compiled when all views were tried.
Not all is met: a batch that has NULLs in some columns and none in others runs a loop of its own, and so does what is
behind a bound that itself changes. That is compiled as without this command, once it is worth it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from time import perf_counter

import pyarrow as pa

from ivm.catalog.errors import Error
from ivm.catalog.schema import Table
from ivm.catalog.types import Kind, SqlType
from ivm.engine.engine import Engine
from ivm.kernels.compiling.folder import private_folder
from ivm.progress import Tell
from ivm.render.scalars.compiler import Compiler, Ticket
from ivm.session.core import Core
from ivm.session.database import Database, core_of
from ivm.session.script import first_word, split
from ivm.trace.columns.arrow import arrow_type

_FIRST, _LATER = (1, 2), ((3,), (4,), (5, 6))
"""Numbers of the made-up rows that views are created over, and of those that come afterwards: even ones have NULLs."""
_ALONE = 9


@dataclass(frozen=True, slots=True)
class Warmed:
    """What was compiled, and where it is kept. `remarks`: what could not be tried, and so may be compiled later."""

    tables: int
    views: int
    loops: int
    compiled: int
    failed: int
    seconds: float
    folder: str
    remarks: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it in a few lines."""
        lines = [
            f"tables: {self.tables}, views: {self.views}, loops: {self.loops}, of which were compiled now: "
            f"{self.compiled} ({self.seconds:.1f} s); kept in {self.folder}"
        ]
        if self.failed:
            lines.append(f"not compiled: {self.failed}, which stay interpreted")
        return "\n".join((*lines, *self.remarks))


class Trial(Compiler):
    """Compiles nothing, but notes what it would: of programs that let every row pass (see `Compiler.trial`)."""

    trial = True

    def __init__(self) -> None:
        super().__init__()
        self.sources: dict[str, None] = {}

    def is_worth(self, calls: int, rows: int) -> bool:
        """Everything that is met."""
        return True

    def order(self, source: str) -> Ticket:
        """A ticket that nobody works on."""
        self.sources[source] = None
        return Ticket(source)


def warm(script: str, tell: Tell, *, external_access: bool = True) -> Warmed:
    """Compile what the CREATE statements of a script need; other statements are left out. Holds nothing afterwards.

    Raises Error if a statement fails, or what is compiled cannot be kept. Cost: seconds for each view that is new to
    this user on this machine, of one processor; else little.
    """
    started = perf_counter()
    folder = private_folder()
    if folder is None:
        raise Error("cannot keep compiled code: there is no directory for it; set IVM_CACHE_DIR to one of your own")
    trial = Trial()
    with Database(Core(Engine(trial, 0), external_access=external_access)) as db:
        tried = _Tried(db)
        statements = [each for each in split(script).all if first_word(each) in ("CREATE", "DROP")]
        for number, statement in enumerate(statements):
            tell("trying views", number, len(statements))
            db.sql(statement)
            tried.fill()
        tried.change()
        catalog = core_of(db).catalog
        tables, views = len(catalog.tables), len(catalog.views)
    compiler = Compiler()
    tickets = [compiler.order(source) for source in trial.sources]
    for number, ticket in enumerate(tickets):
        tell("compiling loops", number, len(tickets))
        ticket.done.wait()
    compiler.close()
    made, failed = sum(each.made for each in tickets), sum(each.failed for each in tickets)
    seconds = perf_counter() - started
    return Warmed(tables, views, len(tickets), made, failed, seconds, str(folder.path), tuple(tried.remarks))


class _Tried:
    """The made-up rows of a database's tables."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._met: list[Table] = []
        self._filled: list[Table] = []
        self.remarks: list[str] = []

    def fill(self) -> None:
        """Give rows to the tables that have none, before views read them."""
        for table in core_of(self._db).catalog.tables:
            if table not in self._met:
                self._met.append(table)
                try:
                    self._db.apply({table.name: _rows(table, _FIRST)})
                except (Error, pa.ArrowException) as error:
                    self.remarks.append(f"table {table.name} was left empty: {error}")
                else:
                    self._filled.append(table)

    def change(self) -> None:
        """Let rows come to each table, and all go again, as far as the tables allow it."""
        for numbers in _LATER:
            for table in self._filled:
                with suppress(Error):  # of a table that says that it does not change
                    self._db.apply({table.name: _rows(table, numbers)})
        for numbers in (*_LATER, _FIRST):
            for table in reversed(self._filled):
                with suppress(Error), self._db.transaction() as tx:
                    tx.delete(table.name, _rows(table, numbers))


def _rows(table: Table, numbers: tuple[int, ...]) -> pa.Table:
    """A row for each number, with the number as its primary key.

    Elsewhere odd rows have one, so that they find each other in joins. Even rows have NULL, or what no primary key has,
    so that they find nothing; but for what must be found by a foreign key.
    """
    bound = {column for key in table.foreign_keys if key.enforced for column in key.columns}
    arrays = []
    for field in table.fields:
        even = None if field.nullable else 1 if field.name in bound else _ALONE
        values = [n if field.name in table.primary_key else 1 if n % 2 else even for n in numbers]
        arrays.append(pa.array([None if n is None else _value(field.type, n) for n in values], arrow_type(field.type)))
    return pa.Table.from_arrays(arrays, names=[field.name for field in table.fields])


def _value(type: SqlType, number: int) -> object:
    """A value that tells the number."""
    if type.is_text:
        return str(number)
    if type.kind is Kind.BLOB:
        return str(number).encode()
    if type.kind is Kind.INTERVAL:
        return pa.MonthDayNano([0, number, 0])
    if type.kind is Kind.ENUM:
        return type.labels[number % len(type.labels)]
    if type.kind is Kind.BOOLEAN:
        return bool(number % 2)
    if type.kind is Kind.DECIMAL:
        return Decimal(number).scaleb(-type.scale)
    return pa.scalar(number, pa.int32() if type.kind is Kind.DATE else pa.int64()).cast(arrow_type(type)).as_py()
