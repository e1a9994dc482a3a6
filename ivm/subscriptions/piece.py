"""Changes that wait to be taken: columns as they were computed, of which whoever takes them makes an Arrow table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from ivm.catalog.schema import Schema
from ivm.catalog.schema import View as Definition
from ivm.results.view_changes import changes_to_arrow, seen_changes
from ivm.trace.delta import Delta, concat_deltas, delta_of
from ivm.trace.text.texts import Strings
from ivm.trace.view_log import ViewLog


@dataclass(frozen=True, slots=True)
class Computed:
    """Changes in columns of their own, which nobody writes to, and the texts of their codes."""

    schema: Schema
    delta: Delta
    strings: Strings


@dataclass(slots=True)
class Piece:
    """Changes of a view, the last of them at `time`, as what was computed or as a table: columns, `_time` and `_diff`.

    Of several that are told, a commit makes no table: who takes it first does, for all who are told.
    """

    time: int
    computed: Computed | None = None
    made: pa.Table | None = field(default=None, repr=False)

    @property
    def rows(self) -> int:
        """How many changes there are."""
        return len(self.table) if self.computed is None else len(self.computed.delta)

    @property
    def table(self) -> pa.Table:
        """The changes as a table. Cost: that of making it, the first time."""
        if self.made is None:
            self.made = _table_of(self.computed)
        return self.made


def seen_piece(definition: Definition, log: ViewLog, time: int, strings: Strings, *, are_apart: bool) -> Piece | None:
    """What a commit up to `time` has added to the log of a view, as its readers see it; None if nothing changes.

    `are_apart`: whether there may be changes of earlier times, too. Cost: a copy, and its consolidation.
    """
    columns, times, diffs = log.sealed.updates.part(log.sealed.length, log.mark())
    seen = seen_changes(definition, delta_of(columns, times if are_apart else time, diffs).copied())
    if seen is None:
        return None
    return Piece(time, Computed(definition.schema, seen.first(len(definition.schema)), strings))


def piece_of(table: pa.Table, time: int) -> Piece:
    """Changes that are a table already."""
    return Piece(time, made=table)


def together(pieces: Sequence[Piece]) -> Computed | None:
    """What was computed of several pieces, one after the other; None where codes of some are not those of others."""
    first = pieces[0].computed
    if first is None:
        return None
    parts = [each.computed.delta for each in pieces if each.computed and each.computed.strings is first.strings]
    whole = concat_deltas(parts) if len(parts) == len(pieces) else None
    return None if whole is None else Computed(first.schema, whole, first.strings)


def joined(pieces: Sequence[Piece]) -> pa.Table:
    """All changes of some pieces, one or more, in one table."""
    if len(pieces) == 1:
        return pieces[0].table
    computed = together(pieces)
    return pa.concat_tables([each.table for each in pieces]) if computed is None else _table_of(computed)


def _table_of(computed: Computed | None) -> pa.Table:
    assert computed is not None, "what is no table was computed"
    return changes_to_arrow(computed.schema, computed.delta, computed.strings)
