"""Loads what SELECTs answer from where their rows are: these go from shard to shard, and none passes by the driver."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from ivm.catalog.errors import ClusterError, Error, StorageError
from ivm.catalog.names import quoted
from ivm.catalog.schema import Table
from ivm.cluster.driver.driver import Driver
from ivm.cluster.planning.planning import planned_over
from ivm.cluster.protocol.questions import Question
from ivm.cluster.protocol.selection import Reads, Selection
from ivm.cluster.protocol.terms import Failure, Unlike
from ivm.distribute.placement import Replicated
from ivm.durable.payload import Batch
from ivm.engine.transaction import Change
from ivm.engine.under_way import Also
from ivm.session.core import Core
from ivm.session.serving import Form
from ivm.session.subscribed_queries import unnamed_view

if TYPE_CHECKING:
    from ivm.cluster.queries.own_queries import OwnQuery

_told = logging.getLogger("ivm")
MANY = 1 << 20
"""From so many rows on that a query reads shards exchange them; the driver has sooner joined fewer."""
Load = Callable[[Table, Any], int | None]
"""Puts rows that the transport has into a table; how many. None: they are to come in another way."""


class Loader:
    """See `ivm.session.serving.Loads`.

    Cost: that of a commit, and that of asking the shards twice how many rows there are.
    """

    def __init__(self, core: Core, driver: Driver) -> None:
        self.core, self.driver = core, driver

    def insert(self, table: Table, query: str, form: Form, *, ignores: bool = False) -> int | None:
        """See `ivm.session.serving.Loads`. What is ignored must be at the shard where the row is that it would meet."""
        columns = self.columns_of(query)
        if columns is None:
            return None
        names, text = form(columns, query)
        if ignores:
            from ivm.cluster.queries.own_queries import unmet_texts  # noqa: PLC0415  DuckDB, which not all need

            unmet = unmet_texts(table, query, text, names, self.core.catalog.fixed())
            if unmet is None:
                return None
            query, text = unmet
        count = self.load(table, query, text, self._commit)
        if count is not None or ignores:
            return count
        return self._load_exchanged(table, query, lambda text: form(columns, text)[1], self._commit)

    def create(self, table: Table, query: str, create: Callable[[], None]) -> int | None:
        """See `ivm.session.serving.Loads`."""

        def begin(table: Table, rows: Any) -> int:
            self.driver.beginnings = {table.name: rows}
            try:
                create()
            finally:
                self.driver.beginnings = {}
            return self._count(table)

        count = self.load(table, query, query, begin)
        return self._load_exchanged(table, query, lambda text: text, begin) if count is None else count

    def told(self, query: str, form: str) -> pa.Table | None:
        """See `ivm.session.serving.Loads`."""
        found = self._own(query, form)
        return None if found is None else found.told

    def write(self, query: str, options: str, folder: str, format: str) -> int | None:
        """See `ivm.session.serving.Loads`. Others wait meanwhile."""
        found = self._placed(query, query)
        if found is None:
            return None
        file = {"options": options, "folder": folder, "format": format}
        given = json.dumps({"query": found.reads.plain(), "file": file})
        with self.core.lock:
            if not found.is_current():
                return None
            said = pa.concat_tables(self.driver.ask(Question("write", given=given)))
        failures = [Failure(*json.loads(each)) for each in said["failure"].to_pylist() if each is not None]
        unlike = next((each for each in failures if each.kind == Unlike.__name__), None)
        if unlike is not None:
            _told.warning("cannot write files by all shards: %s; so the driver writes them", unlike.message)
            return None
        for each in failures:
            raise each.error()
        return sum(said["rows"].to_pylist())

    def columns_of(self, query: str) -> Sequence[str] | None:
        """The names of the columns of a query whose rows are elsewhere; None for any other."""
        found = self._own(query)
        return None if found is None else found.columns

    def load(self, table: Table, query: str, text: str, load: Load) -> int | None:
        """What `load` gives, to which the rows of a text are given, which are the table's, and of which each is made of
        one of the `query` in it; None if they are to come in another way. It is called with the lock.
        """
        found = self._placed(query, text)
        if found is None:
            return None
        with self.core.lock:
            return load(table, Selection(table, found.reads)) if found.is_current() else None

    def _load_exchanged(self, table: Table, query: str, form: Callable[[str], str], load: Load) -> int | None:
        """As `load`, of a query for which shards exchange rows: those of a view of it, which is there meanwhile.

        None also where so few rows are read that they are as soon joined by the driver. Cost: that of the view.
        """
        if not self._is_worth_a_view(query):
            return None
        with ExitStack() as meanwhile:
            try:
                view = meanwhile.enter_context(unnamed_view(self.core, query))
            except (ClusterError, StorageError):
                raise
            except Error:  # which is about a view: whoever answers the query says what is wrong with it
                return None
            text = f"SELECT * FROM {quoted(view)}"
            return self.load(table, text, form(text), load)

    def _is_worth_a_view(self, query: str) -> bool:
        """Whether a query with joins or groups reads many rows, in other processes, and a view has the very same."""
        found = self._own(query) if self.driver.is_remote else None
        if found is None or not found.joined:
            return False
        from ivm.cluster.queries.own_queries import relation_of  # noqa: PLC0415  as above

        with self.core.lock:
            rows = self.driver.sizes()
        names = [each.name for each in found.read.values()]
        return sum(rows[name] for name in names) >= MANY and relation_of(query, self.core.catalog.fixed()) is not None

    def _own(self, query: str, form: str = "") -> OwnQuery | None:
        """A query as one that each shard can answer from its own rows, with what a `form` tells of its columns."""
        from ivm.cluster.queries.own_queries import own_query  # noqa: PLC0415  DuckDB, which not all need

        with self.core.lock:
            catalog, texts = self.core.catalog.fixed(), dict(self.driver.oracle_sql)
        return own_query(query, catalog, texts, form)

    def _placed(self, query: str, text: str) -> _Placed | None:
        """What shards do to answer a text each from its own rows; None if that is not the answer. Of each row of the
        `query` in it, the text makes one.
        """
        found, driver = self._own(text), self.driver
        if found is None:
            return None
        transport, placement = driver.transport, None
        if found.joined:
            from ivm.cluster.queries.own_queries import relation_of  # noqa: PLC0415  as above

            relation = relation_of(query, self.core.catalog.fixed())
            if relation is None:
                return None
            with self.core.lock:
                known = driver.tables.estimates(driver.sizes())
                placed, channels, transport = driver.placed(), driver.channels.copy(), driver.transport
            planned = planned_over(relation, placed, known, channels, transport.shards).view
            if planned.distributed.channels:
                return None
            placement = planned.placement

        def is_current() -> bool:
            return found.is_of(self.core.catalog) and driver.transport is transport

        return _Placed(found.reads(text, once=isinstance(placement, Replicated)), is_current)

    def _commit(self, table: Table, rows: Any) -> int | None:
        """Commit rows that the transport has; how many. None if the table is another by now."""
        core, driver = self.core, self.driver
        if core.catalog.find(table.name) is not table:
            return None
        before = driver.tables[table.name].count
        core.clock.commit(_Bringing(driver, {table.name: rows}), [], None)
        return self._count(table) - before

    def _count(self, table: Table) -> int:
        """How many rows a table has now. ClusterError, which says that they are there, if shards cannot tell."""
        try:
            return self.driver.tables[table.name].count
        except Error as error:
            raise ClusterError(
                f"all rows were loaded into table {table.name}, but cannot be counted now: {error}; do not load them "
                "again"
            ) from error


class _Placed(NamedTuple):
    """What shards do to answer a query, and whether that is so yet, as far as what it reads is what it was."""

    reads: Reads
    is_current: Callable[[], bool]


class _Bringing:
    """What it commits brings rows that the transport has, too; see `ivm.engine.backend.Commits`."""

    def __init__(self, driver: Driver, frames: dict[str, Any]) -> None:
        self.tables = driver.tables
        self._driver, self._frames = driver, frames

    def commit(self, changes: Sequence[Change], batch: Batch | None = None, *, also: Also | None = None) -> int:
        """See `Driver.commit_frames`; nothing is defined with it."""
        return self._driver.commit_frames(self._frames, "insert", batch, changes=changes)
