"""A database over shards, with the face of the one that people know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike

from ivm.arguments import at_least_one, callback
from ivm.catalog.catalog import Catalog
from ivm.catalog.names import key
from ivm.catalog.schema import Table
from ivm.cluster.driver.coming import Coming
from ivm.cluster.driver.driver import Driver
from ivm.cluster.driver.loader import Loader
from ivm.cluster.driver.named import names_in
from ivm.cluster.driver.rescaling import rescale, take_over, telling
from ivm.cluster.driver.tables import NewTable
from ivm.cluster.driver.transport import InProcess, share_functions
from ivm.cluster.files.ledger import Ledger
from ivm.cluster.planning.planning import Gone, is_kept
from ivm.cluster.planning.reading import ShardedView
from ivm.cluster.protocol import orders
from ivm.cluster.protocol.placing import placement_of
from ivm.cluster.shard.resident import Resident
from ivm.durable.opening import seen
from ivm.durable.restore import bound_again
from ivm.engine.engine import Engine
from ivm.engine.installing import Progress
from ivm.render.scalars.compiler import Compiler
from ivm.session.core import Core
from ivm.session.database import Database
from ivm.subscriptions.names import Named
from ivm.trace.helpers import Helpers


class ShardedCore(Core):
    """What a database over shards is made of."""

    def __init__(self, driver: Driver, *, external_access: bool) -> None:
        super().__init__(driver, external_access=external_access)
        self.driver = driver
        self.comes_with = Coming
        self.loads = Loader(self, driver)
        self.keep_names()

    def keep_names(self) -> None:
        """Publish what the names of subscriptions acknowledge, from now on."""
        driver = self.driver

        def write(now: Callable[[], Mapping[str, Named]], become: Callable[[], None]) -> None:
            with self.lock:
                driver.tell_names(now())
                become()

        driver.listeners.names.write_by(write)


class ShardedDatabase(Database):
    """A database over shards."""

    def rescale(self, shards: int, *, progress: Callable[[Progress], None] | None = None) -> None:
        """Spread the same tables and views over another number of shards.

        All stays as it is: the logical time, who listens, the batches of sources; times before cannot be read any more.
        Others wait meanwhile. On any error nothing has changed; where StorageError leaves that open, as it may of a
        commit, whoever opens the database anew sees. `progress` is called from this thread with the rows of each table
        that have been brought, as of a view of its name, then with each view that is filled; it may not use the
        database, and if it raises, nothing has changed. Cost: that of reading all tables and filling all views, and the
        memory of both for that time.
        """
        count, core = at_least_one(shards, "shards"), self._open
        callback(progress, "progress")
        assert isinstance(core, ShardedCore), "it is made of one"
        rescale(core, core.driver, count, telling(core, progress))

    def restore(self, path: str | PathLike[str], *, progress: Callable[[Progress], None] | None = None) -> None:
        """Be what the database in a directory is, in one piece, whoever has that open: its tables and views, its
        logical time, the batches of its sources. Times before cannot be read; the directory stays as it is.

        InterfaceError if there is anything already. On any error nothing has changed; see `rescale`. `progress`
        likewise, and before with the bytes of the log that were read, as of a view without a name. Cost: that of
        opening the directory but for its views, of loading its rows, which pass through this process, and of filling
        all views. Memory here: for what was committed since the last checkpoint, the indexes of primary keys, and some
        64 MiB of rows at a time; but all rows at once of tables that refer to each other, or to themselves, by foreign
        keys that are checked.
        """
        core = self._open
        callback(progress, "progress")
        assert isinstance(core, ShardedCore), "it is made of one"
        tell = telling(core, progress)
        new = partial(Core, Engine(None, 0), external_access=False)
        source = seen(new, path, tell, follow=False, fills=False)
        try:
            take_over(core, core.driver, source, tell)
        finally:
            source.close()


def reopen(core: ShardedCore, definitions: Sequence[bytes], names: bytes) -> None:
    """Let a database that has just been made know what was defined before it, and acknowledged, as orders have said; no
    shard is asked.
    """
    driver, catalog = core.driver, Catalog()
    driver.listeners.names.begin(names_in(names))
    for text in definitions:
        definition = orders.read(text)
        assert isinstance(definition, orders.Definition), "a commit defines nothing"
        before, catalog = catalog, definition.catalog(catalog)
        _put_again(driver, before, catalog, definition)
    core.catalog.become(catalog)
    core.keep_names()


def _put_again(driver: Driver, before: Catalog, catalog: Catalog, definition: orders.Definition) -> None:
    """What was defined once."""
    beside = driver.beside({}, frozenset(definition.anew))
    anew = {key(name) for name in definition.anew}
    new = [entry for n, entry in catalog.content.items() if before.content.get(n) is not entry or n in anew]
    beside.placed |= {each.name: (placement_of(each), 1) for each in new if isinstance(each, Table)}
    views = dict[str, tuple[ShardedView | None, str | None]]()
    for entry in new:
        if not isinstance(entry, Table):
            bound, there = bound_again(entry, catalog), driver.views.get(entry.name)
            if entry.maintained and is_kept(entry, before, definition.anew):
                assert there is not None, "it was there"
                views[entry.name] = there.of(entry), bound.oracle_sql
            else:
                made = beside.plan(entry, bound.relation, definition.sizes) if entry.maintained else None
                views[entry.name] = made, bound.oracle_sql
    guarding = beside.guard(before, catalog, driver.guards, definition.made, lambda: definition.sizes)
    driver.guard(guarding)
    gone = Gone.between(before, catalog)
    for name in gone.tables:
        driver.put_table(name, None)
    for name in gone.views:
        driver.put(name, None, None)
    for name in guarding:  # those that are new are among them
        driver.put_table(name, NewTable(catalog.table(name)))
    driver.put_all(views, beside)
    driver.sweep()


def in_process(shards: int, history: int, compile: str, sharing: bool, external_access: bool) -> Database:
    """A database over so many shards in this process, in memory."""
    compiler = None if compile == "off" else Compiler(wait=compile == "wait")
    residents = [Resident(number, shards, compiler, history, sharing=sharing) for number in range(shards)]
    driver = Driver(InProcess(residents), Ledger(), Helpers(1), history)
    core = ShardedCore(driver, external_access=external_access)
    share_functions(residents, core.functions)
    return ShardedDatabase(core)
