"""A maintained view as its reader sees it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from ivm.arguments import whole_number
from ivm.catalog.errors import BindError, InterfaceError, ViewDroppedError
from ivm.catalog.schema import View as Definition
from ivm.engine.backend import Backend, ViewRows
from ivm.engine.lasting import earliest
from ivm.engine.view import Installed
from ivm.results.cells import visible
from ivm.results.result import MOST_COLUMNS, REPR_ROWS, Rows, frame_of, polars_of, tuples_of
from ivm.trace.columns.arrow import arrow_type
from ivm.trace.columns.stand_ins import with_huge
from ivm.trace.text.texts import Strings
from ivm.trace.turns import Turns
from ivm.trace.view_log import Sealed

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from ivm.subscriptions.live import Live
    from ivm.subscriptions.subscription import Subscription

T = TypeVar("T")


class View(Rows):
    """Reads the maintained view of a name. Every read shows the last commit, whole, unless `as_of` asks for an earlier
    time.

    So it has no position: `fetchone` is the first row at present, again at each call, and `fetchmany` the first rows.
    Iterate to read all rows as of one moment one by one.

    When another view has taken the place of that name (CREATE OR REPLACE), that one is read from then on. While none
    has it that is maintained, all reads raise ViewDroppedError.
    """

    def __init__(
        self, name: str, engine: Callable[[], Backend], readable: Callable[[], tuple[int, int]], lock: Turns
    ) -> None:
        """`engine`: what has the view, at present. `readable`: the first and the last time that can be read."""
        self._name = name
        self._engine = engine
        self._readable = readable
        self._lock = lock
        self.listened: Callable[..., Subscription] | None = None
        """What subscribes to a view by its name, for who was given this by a database."""

    @property
    def name(self) -> str:
        """The view's name."""
        return self._name

    @property
    def _definition(self) -> Definition:
        """The view at present. ViewDroppedError if there is none."""
        return self._there(self._engine().views.get(self._name)).definition

    def _there(self, found: T | None) -> T:
        self._lock.check_open()
        if found is None:
            raise ViewDroppedError(
                f"cannot read view {self._name}: it was dropped, or replaced by one that is not MATERIALIZED; SHOW "
                "TABLES lists what there is"
            )
        return found

    @property
    def _title(self) -> str:
        return f"view {visible(self.name)}"

    @property
    def sql(self) -> str:
        """The SELECT that defines it."""
        return self._definition.sql

    @property
    def schema(self) -> pa.Schema:
        """Names and Arrow types of the columns."""
        fields = self._definition.schema
        names = [field.name for field in fields]
        empty = pa.Table.from_arrays([pa.nulls(0, arrow_type(field.type)) for field in fields], names=names)
        return with_huge(empty, [field.type for field in fields]).schema

    def __len__(self) -> int:
        """How many rows there are. Cost: the view's consolidation, where it changed since it was last read."""
        return len(self._contents())

    def arrow(self, as_of: int | None = None) -> pa.Table:
        """The rows as an Arrow table; `as_of` a logical time within the kept history.

        They come in the view's ORDER BY, ties by all columns, ascending, NULLs last: a function of the rows.

        Raises BindError for a time that is not kept any more or not reached yet. Cost: the view's size, and its
        consolidation where it changed since it was last read.
        """
        return self._contents(as_of).arrow()

    def changes(self, after: int, until: int | None = None) -> pa.Table:
        """What changed after one logical time, up to another one or the last commit: the columns, `_time` and `_diff`.

        They are as a subscription tells them: one row for each row and time whose multiplicity changed, in the order of
        the times. Whoever has the view as of `after` and applies them has it as of `until`. Raises BindError unless
        both lie within the kept history. Cost: a pass over the times of the updates that are kept, and what is given.
        """
        if self._engine().whole_view(self._name) is None:
            with self._lock:
                since = self._engine().known_since(self._definition.name)
                return self._engine().between(self._name, *self._between(after, until, since))
        after = whole_number(after, "after")
        until = self._readable()[1] if until is None else whole_number(until, "until")
        installed, strings, sealed = self._as_sealed(until)
        self._check_known(after, installed, sealed)
        return installed.changed(sealed, strings, after, until)

    def _between(self, after: int, until: int | None, since: int) -> tuple[int, int]:
        """Two times of which both can be read, `since` a time. BindError."""
        until = self._readable()[1] if until is None else whole_number(until, "until")
        after = whole_number(after, "after")
        for each in (after, until):
            self._check_readable(each, since)
        return after, until

    def _contents(self, as_of: int | None = None) -> ViewRows:
        if as_of is not None:
            as_of = whole_number(as_of, "as_of")
        if self._engine().whole_view(self._name) is None:  # its rows are elsewhere, or it is not there
            with self._lock:
                if as_of is not None:
                    self._check_readable(as_of, self._readable()[0])
                return self._engine().contents(self._definition.name, as_of)
        installed, strings, sealed = self._as_sealed(as_of)
        return installed.shown(sealed, strings, as_of)

    def _as_sealed(self, as_of: int | None) -> tuple[Installed, Strings, Sealed]:
        """The view, its log as it is now, in which a time can be read, and the texts of its codes."""
        self._lock.check_open()
        strings, (installed, sealed) = self._strings(), self._sealed()
        while strings is not (known := self._strings()):  # codes may have been given out again meanwhile
            strings, (installed, sealed) = known, self._sealed()
        if as_of is not None:
            self._check_known(as_of, installed, sealed)
        return installed, strings, sealed

    def _strings(self) -> Strings:
        return self._engine().dictionary.now()

    def _sealed(self) -> tuple[Installed, Sealed]:
        """What was sealed last, without the lock; but no part of a commit of which other views show nothing yet."""
        installed = self._whole()
        sealed = installed.log.sealed
        if sealed.last > self._readable()[1]:
            with self._lock:
                installed = self._whole()
                sealed = installed.log.sealed
            self._readable()  # once that is certain
        return installed, sealed

    def _whole(self) -> Installed:
        return self._there(self._engine().whole_view(self._name))

    def _check_known(self, as_of: int, installed: Installed, sealed: Sealed) -> None:
        """BindError for a time that is not there yet, or that the log as it was sealed has let go of."""
        self._check_readable(as_of, max(sealed.since, earliest(installed.log, *self._readable())))

    def _check_readable(self, as_of: int, since: int) -> None:
        present = self._readable()[1]
        if not since <= as_of <= present:
            raise BindError(
                f"cannot read view {self.name} as of time {as_of}: times from {since} to {present} can be read; "
                "connect with a larger `history` to keep more of the past"
            )

    def df(self, as_of: int | None = None) -> pd.DataFrame:
        """The rows as a pandas DataFrame."""
        return frame_of(self.arrow(as_of))

    def pl(self, as_of: int | None = None) -> pl.DataFrame:
        """The rows as a polars DataFrame (polars must be installed)."""
        return polars_of(self.arrow(as_of))

    def live(self, rows: int = REPR_ROWS, *, every: int | str | timedelta = "200ms") -> Live:
        """Show its first rows in a notebook, and draw them again whenever it has changed, at most once in `every`.

        What this returns ends that by `close`; so do the end of the database and of the view. With anywidget
        (`ivm-engine[notebook]`) it is a widget, which lights up what is new. InterfaceError where no notebook runs.
        Cost: a thread; for each time that it is drawn, that of `head`.
        """
        from ivm.results.boxes import html  # noqa: PLC0415  what draws, which few programs need
        from ivm.results.cells import head_of  # noqa: PLC0415  as above
        from ivm.subscriptions.live import Live  # noqa: PLC0415  as above

        count, listened = whole_number(rows, "rows"), self.listened
        if listened is None:
            raise InterfaceError(f"cannot show view {self.name} as it changes; take it by view() of the database")
        return Live(
            lambda: html(head_of(*self._first(count), MOST_COLUMNS), self._title),
            partial(listened, self.name, every=every),
        )

    def fetchall(self, as_of: int | None = None) -> list[tuple[Any, ...]]:
        """The rows as Python tuples."""
        return tuples_of(self.arrow(as_of))

    def fetchone(self) -> tuple[Any, ...] | None:
        """The first row at present, as a Python tuple; None if there is none."""
        return next(iter(self.fetchmany(1)), None)

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """The first `size` rows at present, as Python tuples, or as many as there are."""
        return tuples_of(self._first(whole_number(size, "size"))[0])

    def _first(self, rows: int) -> tuple[pa.Table, int]:
        contents = self._contents()
        return contents.head(rows), len(contents)
