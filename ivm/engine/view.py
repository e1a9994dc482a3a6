"""A maintained view where all of its rows are here, or a part of one, and what it holds at a moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from ivm.catalog.schema import View as Definition
from ivm.dataflow.node import Node
from ivm.engine.lasting import LastingLog
from ivm.engine.sorting import first_by, sort_table
from ivm.plan.node import Plan
from ivm.plan.renamed import Renaming
from ivm.results.view_changes import changes_to_arrow, seen_changes, view_changes
from ivm.trace.columns.arrow import to_arrow
from ivm.trace.columns.column import Column, Ints, concat, empty_column
from ivm.trace.columns.stand_ins import with_huge
from ivm.trace.delta import delta_of
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.texts import Strings
from ivm.trace.view_log import Sealed


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

    def of(self, definition: Definition) -> Installed:
        """The view as it is, of this definition."""
        return replace(self, definition=definition)

    def contents(self, dictionary: TextDictionary, as_of: int | None = None) -> Contents:
        """The present rows, or those as of a time that is kept, whatever happens later."""
        return self.shown(self.log.sealed, dictionary.now(), as_of)

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
