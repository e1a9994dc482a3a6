"""What a database has below it, whether its rows are here, at shards, or those that a transaction sees.

There are three: `ivm.engine.engine.Engine`, the driver of shards, and what a transaction has changed so far. Whoever
calls has the database's lock, but where it says that none is needed.

How a view is planned, what it is once it is installed, and what has it rendered, is each backend's own affair: what one
method gives, of no type that is said here, is for another method of the same backend alone.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Mapping, Sequence, Set
from os import PathLike
from typing import Any, Protocol, overload

import pyarrow as pa

from ivm.called import Functions
from ivm.catalog.altering import Altered
from ivm.catalog.catalog import Catalog
from ivm.catalog.schema import Table
from ivm.catalog.schema import View as Definition
from ivm.durable.payload import Batch, Defining
from ivm.engine.installing import Pause
from ivm.engine.past import Past
from ivm.engine.transaction import Change
from ivm.engine.under_way import Also
from ivm.engine.view import Installed
from ivm.plan.renamed import Renaming
from ivm.render.scalars.compiler import Compiler
from ivm.sql.ir.relation import Relation
from ivm.subscriptions.audience import Told
from ivm.subscriptions.listeners import Listeners
from ivm.subscriptions.names import Named
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.helpers import Helpers
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.turns import Aside, Turns

Reading = Callable[[], pa.Table]
"""Makes an Arrow table of rows that nobody writes to any more; needs no lock."""
Section = tuple[str, str]
"""A title and a text of what EXPLAIN says."""


NewView = tuple[Any, str | None]
"""A view as `installed` gives it, or None, and the SQL by which DuckDB knows it; None: there is none by that name."""


class StoredTable(Protocol):
    """A table with its rows, wherever they are."""

    table: Table

    @property
    def last_time(self) -> int:
        """The time of its last change."""

    @property
    def count(self) -> int:
        """How many rows there are."""

    def nulls(self, column: int) -> int:
        """In how many rows a column is NULL."""

    def reading(self, as_of: int | None = None) -> Reading:
        """What makes an Arrow table of the rows there are, or were at a time that is kept."""


class StoredTables(Protocol):
    """All tables by name; and tables as they are to be, for `Backend.put_table`, of which nobody sees anything before.

    See `ivm.engine.tables.Tables`.
    """

    def __getitem__(self, name: str, /) -> StoredTable: ...

    def __contains__(self, name: object, /) -> bool: ...

    @overload
    def get(self, name: str, default: None = None, /) -> StoredTable | None: ...

    @overload
    def get(self, name: str, default: Any, /) -> Any: ...

    def items(self) -> ItemsView[str, StoredTable]:
        """The names, each with its table."""

    def made(self, table: Table, rows: ArrowRows | None = None, time: int = 0) -> Any:
        """A new table, with `rows` that have been checked, as of `time`."""

    def altered(self, change: Altered, values: Sequence[pa.Scalar]) -> Any:
        """The table there is as it is to be, with its rows, which hold these values in columns that are new."""

    def indexed(self, table: Table) -> Any:
        """The table there is, with the indexes that `table` has."""

    def referring(self, catalog: Catalog, declared: Any) -> Mapping[str, Any]:
        """The other tables of `catalog` whose foreign keys are checked against a table that is to be another."""


class Maintained(Protocol):
    """A view that is maintained: its definition, and the tables and views that it reads."""

    @property
    def definition(self) -> Definition:
        """What it is."""

    @property
    def tables(self) -> frozenset[str]:
        """What it reads."""

    def of(self, definition: Definition) -> Any:
        """The view as it is, of this definition."""


class ViewRows(Protocol):
    """What a view holds at one moment, whatever happens later; needs no lock. `len` is the number of rows."""

    @property
    def definition(self) -> Definition:
        """Of the view."""

    def __len__(self) -> int: ...

    def arrow(self) -> pa.Table:
        """Each row as often as it counts, in the definition's order."""

    def head(self, rows: int) -> pa.Table:
        """The first rows of `arrow()`."""

    def changes(self, time: int) -> pa.Table:
        """The rows as changes at a time."""

    def no_changes(self) -> pa.Table:
        """No changes, in the columns that they would have."""


class Writes(Protocol):
    """What writes down what exists, and what changes: what it gives is for its own `keep`; see `Journal`."""

    def define(self, to: Defining) -> Any:
        """That something else exists."""

    def transaction(self, to: Defining, changes: Sequence[Change]) -> Any:
        """A commit, and that something else exists from then on, with tables that begin without rows."""

    def keep(self, written: Any) -> None:
        """It is decided. It may be interrupted, and called again. StorageError: it is not to take effect."""

    def take_back(self) -> None:
        """It is not to take effect."""

    def settle(self) -> None:
        """Return when all that is kept survives a loss of power, if commits wait for that."""

    def certain(self) -> None:
        """The same, for who has seen it."""

    def finish(self) -> int:
        """All is in files; the last record. InterfaceError where it cannot be copied."""

    def copy(self, path: str | PathLike[str], record: int) -> None:
        """Copy the files up to a record."""

    def close(self) -> None:
        """Let the files go."""


class Commits(Protocol):
    """What a commit goes to, which the clock is brought up to date with."""

    @property
    def tables(self) -> StoredTables:
        """All tables."""

    def commit(self, changes: Sequence[Change], batch: Batch | None = None, *, also: Also | None = None) -> int:
        """Apply all changes, or none if any of them fails; returns the commit's last logical time.

        `batch`: which of which source they are. `also` takes effect with it. Whoever calls has entered by `settle`.
        Raises ConstraintError, NumericError or StorageError, after which everything is as it was. Cost: that of the
        changes and of what follows from them.
        """


class Backend(Commits, Protocol):
    """Tables and views at one logical time, with what a database does to them."""

    dictionary: TextDictionary
    """The texts of rows that are here."""
    helpers: Helpers
    listeners: Listeners
    past: Past
    oracle_sql: dict[str, str]
    """The SQL by which DuckDB knows each view."""

    @property
    def time(self) -> int:
        """The logical time of the last commit; 0 before the first. Needs no lock."""

    @property
    def since(self) -> int:
        """The earliest time that can still be read. Needs no lock."""

    @property
    def views(self) -> Mapping[str, Maintained]:
        """Those that are maintained."""

    @property
    def journal(self) -> Writes | None:
        """What writes down commits, where they outlive the process."""

    @property
    def batches(self) -> Mapping[str, int]:
        """The number of the last batch of each source that numbers its batches."""

    @property
    def compilers(self) -> Sequence[Compiler]:
        """What compiles the loops of views in this process; nothing where they are interpreted, or elsewhere."""

    @property
    def recursion_limit(self) -> int:
        """How many rounds a loop may take, where it says nothing itself."""

    @property
    def is_installing(self) -> bool:
        """Whether a view is on its way in."""

    @property
    def is_remote(self) -> bool:
        """Whether all rows are in other processes, and in files of theirs."""

    @property
    def keeps_unnamed(self) -> bool:
        """Whether views that were made for who listens by a name last as long as the name, also on disk."""

    @property
    def plans_again(self) -> bool:
        """Whether a view whose text has changed is filled again, though it means the same."""

    def begin_with(self, functions: Functions, present: Callable[[], int]) -> None:
        """These are the application's functions, and `present` tells what time it is."""

    # What exists.

    def check_new(self, entry: Table | Definition) -> None:
        """UnsupportedError for a table or view that cannot be here, before it is made or planned."""

    def moves(self, change: Altered) -> bool:
        """Whether rows would be elsewhere if a table were altered so."""

    def planned(self, relation: Relation, sizes: Mapping[str, float] = ..., /) -> Any:
        """How a view would be maintained, for `installed`. Needs no lock, as long as nobody creates or drops anything.

        `sizes`: of what it reads, where these are to be others than they are.
        """

    def installed(
        self, definition: Definition, planned: Any, pause: Pause, aside: Aside = ..., renderer: Any = None
    ) -> Any:
        """A view that is maintained, as planned, which nobody sees before `put`, which is to come before any commit.

        On any error nothing is left behind. `pause` is called after each bit, with what tells how far it is; others
        commit and read then, and while `aside` does what it is given. `renderer`: see `beside`; it has the view then.
        """

    def beside(self, tables: Mapping[str, Any], views: Set[str]) -> Any:
        """What renders views that are to take the place of others, and reads these `tables` in place of those of their
        names, and none of what reads those, nor what reads `views`, though they are there.
        """

    def renamed(self, renaming: Renaming) -> Any:
        """What renders all there is, by other names; None where views are filled again for that."""

    def put(self, name: str, installed: Any, oracle_sql: str | None) -> None:
        """The view of a name is this one from now on; see `put_all`."""

    def put_all(self, views: Mapping[str, NewView], renderer: Any = None) -> None:
        """The views of these names are these from now on.

        `renderer`: in which they were installed `beside` the others. It may be interrupted, and called again.
        """

    def put_table(self, name: str, declared: Any) -> None:
        """The table of a name is this one from now on; None: there is none. It may be interrupted, and called again."""

    def sweep(self) -> None:
        """Let go of all that no view needs, and install nothing any more. It may be interrupted, and called again."""

    # What changes.

    def check(self, changes: Sequence[Change]) -> Sequence[Told]:
        """Raise what a commit of these would raise, and what would be told of it here; nothing is changed.

        Cost: that of the commit, and of undoing it.
        """

    def settle(self) -> None:
        """Make the last commit final and tell who listens, or undo it, if that is not done: it was interrupted.

        Whoever enters calls it. It may be interrupted too, and is then called again.
        """

    @property
    def texts_owed(self) -> int:
        """How many pieces of freeing texts are owed. Needs no lock."""

    def tidy_texts(self) -> int:
        """After a commit: do a piece of that; how many more are owed."""

    def close(self) -> None:
        """End what works for this."""

    # What there is.

    def sizes(self) -> Mapping[str, float]:
        """The rows of tables and, roughly, of maintained views."""

    def has_rows(self, view: Definition) -> bool:
        """Whether the rows of a view are there to be read; of any other its query is answered. Needs no lock."""

    def contents(self, view: str, as_of: int | None = None) -> ViewRows:
        """The rows of a maintained view, at present or as of a time that is kept."""

    def between(self, view: str, after: int, until: int) -> pa.Table:
        """What has changed in a maintained view between two times that are kept; see `View.changes`."""

    def whole_table(self, name: str) -> TableStore | None:
        """A table, if it is there and all of its rows are here. Needs no lock."""

    def whole_view(self, name: str) -> Installed | None:
        """A maintained view, if it is there and all of its rows are here. Needs no lock."""

    def known_since(self, view: str) -> int:
        """The earliest time since which it is known what has changed in a maintained view."""

    def hold(self, view: str, names: tuple[Named, ...]) -> None:
        """Keep what of a maintained view these names have not acknowledged, from now on. StorageError."""

    def some_rows(
        self, table: Table, keys: Sequence[tuple[int, ...]], rows: pa.Table, as_of: int | None = None
    ) -> tuple[TableStore, TextDictionary]:
        """A store that has, among others, all rows of a table that meet some of `rows` on a key, and its dictionary.

        `rows` have the table's columns; only those of keys are looked at. `as_of`: where not all rows are here, those
        that there were at a time.
        """

    def difference(self, view: str, successor: Any) -> Callable[[], pa.Table | None]:
        """What gives the changes from a view to the one that takes its place, of the same columns; None: it is equal.

        To be called once that has happened, as often as one likes.
        """

    def held(self) -> list[object]:
        """The nodes and tables that are here: who has them keeps what they have."""

    def relations(self) -> Mapping[str, Callable[[], Reading]]:
        """What takes hold of each `ivm_*` relation as it is, by its name."""

    def explained(
        self, relation: Relation, below: Mapping[str, Relation], names: Callable[[str], tuple[str, ...]], lock: Turns
    ) -> Sequence[Section]:
        """What EXPLAIN says of how a relation would be maintained; the caller has no lock.

        `below`: the registered views that it reads, by their names. `names`: the columns of a table or view.
        """
