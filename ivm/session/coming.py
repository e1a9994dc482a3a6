"""What comes to exist with the commit of a transaction: tables, and views that are filled for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import pyarrow as pa

from ivm.catalog.altering import Altered
from ivm.catalog.errors import ConstraintError, TransactionError
from ivm.catalog.schema import Table, View
from ivm.durable.payload import Defining
from ivm.engine.backend import Maintained, NewView
from ivm.engine.transaction import Change
from ivm.intake.incoming import default_values
from ivm.session.core import Core
from ivm.session.pending import Pending
from ivm.session.succession import succession


class Coming(ABC):
    """What comes to exist with a commit: made, and nobody sees it. The caller has both locks.

    `catalog`: what is to exist. `tables`: those that are new, or begin anew. `altered`: those that keep their rows.
    `views`: what is put in place of those of their names. `renamed`: what views of before are called now, if it is
    something else. `kept`: the views that stay filled, though their definitions are others.
    """

    def __init__(self, core: Core, pending: Pending) -> None:
        self.core, self.pending = core, pending
        self.catalog = pending.catalog.fixed()
        old = core.catalog.content
        here = self.catalog.content
        self.altered = pending.altered()
        altered = {id(each.table) for each in self.altered} | {id(each.old) for each in self.altered}
        new = [entry for name, entry in here.items() if old.get(name) is not entry]
        gone = [entry for name, entry in old.items() if here.get(name) is not entry]
        self._new, self.gone = ([each for each in part if id(each) not in altered] for part in (new, gone))
        self.tables = [entry for entry in self._new if isinstance(entry, Table)]
        self.views: dict[str, NewView] = {view.name: (None, None) for view in self.gone if isinstance(view, View)}
        self.renamed: dict[str, str] = {}
        self.kept: set[str] = set()
        self.renderer: Any = None
        """See `Backend.beside`."""

    @abstractmethod
    def prepare(self) -> None:
        """Do what can be done while others commit; what they change is looked at afterwards."""

    @abstractmethod
    def fill(self) -> None:
        """Make the tables, and fill the views, each after those that it reads. Changes of the commit reach them."""

    @abstractmethod
    def give_up(self) -> None:
        """Leave nothing behind, unless it has happened."""

    @abstractmethod
    def stays(self, view: str, installed: Maintained | None) -> bool:
        """Whether who listens to a view of before goes on with `installed` as if nothing were."""

    def check_tables(self) -> None:
        """TransactionError if others have changed rows of which the transaction has promised something."""
        for each in self.altered:
            if _promises(each, default_values(each.table, each.new)) and self._has_changed(each.table):
                raise TransactionError(
                    f"cannot commit: a column of table {each.table.name} is NOT NULL from now on, and others have "
                    "changed the table since the transaction began. Nothing was changed; run it again"
                )
        for table in self.tables:
            self.pending.tables[table.name].check_alone()

    def check_static(self, changes: Sequence[Change]) -> None:
        """ConstraintError if a table that is static is given rows, and a view comes that reads it."""
        for change in changes:
            readers = [v.name for v in self.catalog.dependents(change.table.name) if v.name in self.views]
            if change.table.static and readers:
                raise ConstraintError(
                    f"cannot commit: table {change.table.name} is declared static, and the transaction gives it rows "
                    f"and has view {', '.join(sorted(readers))} read it; COMMIT the rows before the view is created"
                )

    def changed_views(self, anew: Iterable[str], *, whole: bool) -> list[View]:
        """The views that are new, or others, each after those that it reads, where those that read these tables are
        to be filled again. `whole`: others of them may stay filled under other names.
        """
        reading = {view.name for name in anew for view in self.catalog.dependents(name)}
        new = [view for view in self.catalog.views if view in self._new or view.name in reading]
        for view in new:
            was = self.pending.was(view)
            if was is not None and was.name != view.name:
                self.renamed[was.name] = view.name
                if not whole:
                    reading |= {view.name, *(each.name for each in self.catalog.dependents(view.name))}
        self.kept = {view.name for view in new if self.pending.is_kept(view) and view.name not in reading}
        return [view for view in self.catalog.views if view in new or view.name in reading]

    def written(self, changes: Sequence[Change], time: int) -> Any:
        """What the journal has of it, and of the changes with which it comes to exist."""
        core, made = self.core, {table.name: None for table in self.tables}
        journal = core.engine.journal
        if journal is None:
            return None
        return journal.transaction(Defining(core.catalog, self.catalog, time, made, self.altered), changes)

    def work(self) -> Callable[[], None]:
        """What lets it exist, when the changes are final."""
        core, told = self.core, self.told()
        there = {table.name for table in self.catalog.tables}
        gone = [table.name for table in core.catalog.tables if table.name not in there]

        def work() -> None:
            tell = told()  # before the views are others
            for name in gone:
                core.engine.put_table(name, None)
            for was, name in self.renamed.items():
                core.engine.listeners.rename(was, name)
            self.put()
            core.numbers.become(self.pending.numbers)  # before anybody finds them
            core.catalog.become(self.catalog)
            tell()

        return work

    def put(self) -> None:
        """Let the views and tables be what they are to be. It may be interrupted, and called again."""
        self.core.engine.put_all(self.views, self.renderer)

    def told(self) -> Callable[[], Callable[[], None]]:
        """What finds out, when the changes are final, what those are to be told who listen."""
        return cache(partial(succession, self.core, self.catalog, self.followed()))

    def followed(self) -> Mapping[str, Maintained | None]:
        """Of each view that there was before what takes its place, unless it stays."""
        found = dict[str, Maintained | None]()
        for view in self.core.catalog.views:
            name = self.renamed.get(view.name, view.name)
            installed, _ = self.views.get(name, (None, None))
            if name in self.views and not self.stays(view.name, installed):
                found[view.name] = installed
        return found

    def _has_changed(self, table: Table) -> bool:
        return self.pending.tables[table.name].has_changed


def _promises(change: Altered, values: Sequence[pa.Scalar]) -> bool:
    """Whether a column has no NULL from now on though rows that are there might have."""
    given = iter(values)
    for field, was in zip(change.table.fields, change.taken, strict=True):
        may_be_null = not next(given).is_valid if was is None else change.old.fields[was].nullable
        if may_be_null and not field.nullable:
            return True
    return False
