"""A maintained view as its reader sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ivm.arguments import whole_number
from ivm.catalog.errors import BindError, InterfaceError
from ivm.catalog.schema import View as Definition
from ivm.dataflow.node import Node
from ivm.engine.lasting import LastingLog, earliest
from ivm.engine.sorting import first_by, sort_table
from ivm.plan.node import Plan
from ivm.plan.renamed import Renaming
from ivm.results.cells import visible
from ivm.results.result import MOST_COLUMNS, REPR_ROWS, Rows, frame_of, polars_of, tuples_of
from ivm.results.view_changes import changes_to_arrow, seen_changes, view_changes
from ivm.trace.columns.arrow import arrow_type, to_arrow
from ivm.trace.columns.column import Column, Ints, concat, empty_column
from ivm.trace.columns.stand_ins import with_huge
from ivm.trace.delta import delta_of
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.texts import Strings
from ivm.trace.turns import Turns
from ivm.trace.view_log import Sealed

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from ivm.subscriptions.live import Live
    from ivm.subscriptions.subscription import Subscription


@dataclass(frozen=True, slots=True)
class Contents:
    """What a view holds at one moment, whatever happens later. `len` is the number of rows.

    `found` gives the distinct rows and how often each counts, which takes the view's consolidation where it changed
    since it was last read; no lock is needed. Their columns are those of the definition, the hidden ones too, which
    sort the rows and are not given away. Nobody writes to them any more.
    """

    definition: Definition
    found: Callable[[], tuple[Sequence[Column], Ints]]
    strings: Strings

    def __len__(self) -> int:
        return int(self.found()[1].sum())

    def arrow(self) -> pa.Table:
        """Each row as often as it counts, in the definition's order. Cost: all rows, and their sort."""
        return in_order(self.rows(), self.definition)

    def rows(self) -> pa.Table:
        """Each row as often as it counts, with the hidden columns, in no order."""
        columns, diffs = self.found()
        if len(diffs) and bool((diffs != 1).any()):
            repeated = np.repeat(np.arange(len(diffs)), diffs)
            columns = [column.take(repeated) for column in columns]
        fields = self.definition.columns
        arrays = [to_arrow(c, f.type, self.strings) for c, f in zip(columns, fields, strict=True)]
        table = pa.Table.from_arrays(arrays, names=[f.name for f in fields])
        return with_huge(table, [f.type for f in fields])

    def changes(self, time: int) -> pa.Table:
        """The rows as changes at a time."""
        columns, diffs = self.found()
        present = delta_of(columns, time, diffs, len(diffs))
        if self.definition.hidden:
            present = seen_changes(self.definition, present) or present
        return changes_to_arrow(self.definition.schema, present, self.strings)

    def no_changes(self) -> pa.Table:
        """No changes, in the columns that they would have."""
        none = [empty_column(field.type.physical) for field in self.definition.columns], np.empty(0, np.int64)
        return Contents(self.definition, lambda: none, self.strings).changes(0)

    def head(self, rows: int) -> pa.Table:
        """The first rows of `arrow()`. Cost: a pass over the columns that decide, none where there is no order."""
        columns, diffs = self.found()
        if len(diffs) <= rows:
            return self.arrow().slice(0, rows)

        def values(column: int, rows: Ints) -> pa.Array | pa.ChunkedArray:
            return to_arrow(columns[column].take(rows), self.definition.columns[column].type, self.strings)

        first = first_by(self.definition.order, len(columns), len(diffs), rows, values)
        few = [column.take(first) for column in columns], diffs[first]
        return Contents(self.definition, lambda: few, self.strings).arrow().slice(0, rows)


@dataclass(frozen=True, slots=True)
class Installed:
    """A maintained view in the engine: its definition, plan and tables, its last node and its contents.

    `sizes`: the rows that the tables and views which it reads had when it was planned.
    """

    definition: Definition
    plan: Plan
    tables: frozenset[str]
    sizes: Mapping[str, float]
    node: Node
    log: LastingLog
    installed_ms: float

    def called(self, definition: Definition, renaming: Renaming) -> Installed:
        """The same view of this definition, which reads what has other names by these."""
        names = renaming.names
        tables = frozenset(names.get(name, name) for name in self.tables)
        sizes = {names.get(name, name): rows for name, rows in self.sizes.items()}
        return replace(self, definition=definition, plan=renaming.plan(self.plan), tables=tables, sizes=sizes)

    def contents(self, dictionary: TextDictionary) -> Contents:
        """The present rows, whatever happens later."""
        return self.shown(self.log.sealed, dictionary.now())

    def changes_from(self, old: Installed, time: int, dictionary: TextDictionary) -> pa.Table | None:
        """What leads from the rows of a view of the same columns to those of this one, at a time; None: nothing does.

        Cost: the rows of both.
        """
        (there, more), (gone, fewer) = self.log.sealed.rows(None), old.log.sealed.rows(None)
        columns = [concat([gone[i], there[i]]) for i in range(len(self.definition.schema))]
        return view_changes(self.definition, delta_of(columns, time, np.concatenate([-fewer, more])), dictionary)

    def shown(self, sealed: Sealed, strings: Strings, as_of: int | None = None) -> Contents:
        """What the log holds as it was sealed, when `strings` were those of its codes."""
        return Contents(self.definition, partial(sealed.rows, as_of), strings)

    def changed(self, sealed: Sealed, strings: Strings, after: int, until: int) -> pa.Table:
        """What the log has of changes between two times that are kept; see `shown` and `View.changes`."""
        columns, times, diffs = sealed.updates.part(0, sealed.length)
        rows = np.flatnonzero((times > after) & (times <= until))
        delta = delta_of([column.take(rows) for column in columns], times[rows], diffs[rows], len(rows))
        return changes_to_arrow(
            self.definition.schema, seen_changes(self.definition, delta) or delta.slice(0, 0), strings
        )


def in_order(rows: pa.Table, definition: Definition) -> pa.Table:
    """The rows of a view, hidden columns included, as its readers see them."""
    ordered = sort_table(rows, definition.order)
    return ordered.select(range(len(definition.schema))) if definition.hidden else ordered


class View(Rows):
    """Reads the maintained view of a name. Every read shows the last commit, whole, unless `as_of` asks for an earlier
    time.

    So it has no position: `fetchone` is the first row at present, again at each call, and `fetchmany` the first rows.
    Iterate to read all rows as of one moment one by one.

    When another view has taken the place of that name (CREATE OR REPLACE), that one is read from then on. While none
    has it that is maintained, all reads raise ViewDroppedError.
    """

    def __init__(
        self,
        name: str,
        installed: Callable[[str], Installed],
        dictionary: Callable[[], TextDictionary],
        readable: Callable[[], tuple[int, int]],
        lock: Turns,
    ) -> None:
        """`installed`: the view of a name, at present, and `dictionary` that of its texts."""
        self._name = name
        self._of_name = installed
        self._dictionary = dictionary
        self._readable = readable
        self._lock = lock
        self.listened: Callable[..., Subscription] | None = None
        """What subscribes to a view by its name, for who was given this by a database."""

    @property
    def name(self) -> str:
        """The view's name."""
        return self._name

    @property
    def _installed(self) -> Installed:
        """The view at present."""
        self._lock.check_open()
        return self._of_name(self._name)

    @property
    def _title(self) -> str:
        return f"view {visible(self.name)}"

    @property
    def sql(self) -> str:
        """The SELECT that defines it."""
        return self._installed.definition.sql

    @property
    def schema(self) -> pa.Schema:
        """Names and Arrow types of the columns."""
        fields = self._installed.definition.schema
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
        after = whole_number(after, "after")
        until = self._readable()[1] if until is None else whole_number(until, "until")
        installed, strings, sealed = self._as_sealed(until)
        self._check_known(after, installed, sealed)
        return installed.changed(sealed, strings, after, until)

    def _contents(self, as_of: int | None = None) -> Contents:
        if as_of is not None:
            as_of = whole_number(as_of, "as_of")
        installed, strings, sealed = self._as_sealed(as_of)
        return installed.shown(sealed, strings, as_of)

    def _as_sealed(self, as_of: int | None) -> tuple[Installed, Strings, Sealed]:
        """The view, its log as it is now, in which a time can be read, and the texts of its codes."""
        self._lock.check_open()
        strings, (installed, sealed) = self._dictionary().now(), self._sealed()
        while strings is not (known := self._dictionary().now()):  # codes may have been given out again meanwhile
            strings, (installed, sealed) = known, self._sealed()
        if as_of is not None:
            self._check_known(as_of, installed, sealed)
        return installed, strings, sealed

    def _sealed(self) -> tuple[Installed, Sealed]:
        """What was sealed last, without the lock; but no part of a commit of which other views show nothing yet."""
        installed = self._installed
        sealed = installed.log.sealed
        if sealed.last > self._readable()[1]:
            with self._lock:
                installed = self._installed
                sealed = installed.log.sealed
            self._readable()  # once that is certain
        return installed, sealed

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
