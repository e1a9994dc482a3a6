"""Changes that wait to be taken: updates as a log has them, of which whoever takes them makes an Arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from ivm.catalog.schema import Schema
from ivm.catalog.schema import View as Definition
from ivm.catalog.types import SqlType
from ivm.results.view_changes import changes_to_arrow, types_of
from ivm.trace.concatenation import concat_deltas
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta, delta_of
from ivm.trace.text.texts import Strings
from ivm.trace.updates import Updates
from ivm.trace.view_log import ViewLog


@dataclass(frozen=True, slots=True)
class Computed:
    """Changes in columns that nobody writes to, and the texts of their codes. `is_net`: they are consolidated."""

    schema: Schema
    delta: Delta
    strings: Strings
    is_net: bool = True

    def net(self) -> Computed:
        """The same, consolidated, in memory of its own. Cost: one access of a hash table a row, unless it is so."""
        if self.is_net:
            return self
        found = consolidate(self.delta, types_of(self.schema)) or self.delta.slice(0, 0)
        return replace(self, delta=found.copied() if found is self.delta else found.gathered(), is_net=True)


@dataclass(slots=True)
class Appended:
    """What a commit has added to a log: those of its `updates` from `begin` to `end`. The first columns are seen.

    It holds all of these updates, also when the log has others instead. Without a `log` they are there for who waits.
    `time`: of all of them; None if each has its own.
    """

    log: ViewLog | None
    updates: Updates
    begin: int
    end: int
    time: int | None
    schema: Schema
    strings: Strings

    def to(self, end: int) -> Computed:
        """The changes from these on to an `end`."""
        columns, times, diffs = self.updates.part(self.begin, end)
        time = times if self.time is None or end != self.end else self.time
        delta = delta_of(columns[: len(self.schema)], time, diffs, end - self.begin)
        return Computed(self.schema, delta, self.strings, is_net=False)


@dataclass(slots=True)
class Piece:
    """Changes of a view, the last of them at `time`, as what was computed or as a table: columns, `_time` and `_diff`.

    Of several that are told, a commit makes no table, and consolidates nothing: who takes it first does, for all who
    are told. Each puts what it makes here by one store, so any number of threads may.
    """

    time: int
    given: Computed | Appended | None = None
    made: pa.Table | None = field(default=None, repr=False)

    @property
    def computed(self) -> Computed | None:
        """The changes, consolidated; None for those that were a table from the beginning."""
        given = self.given
        if isinstance(given, Appended):
            given = self.given = given.to(given.end).net()
        return given

    @property
    def log(self) -> Updates | None:
        """The updates that a log has now and that it holds all of; None if it holds none, or the log has others."""
        given = self.given
        if not isinstance(given, Appended) or given.log is None:
            return None
        return given.updates if given.updates is given.log.sealed.updates else None

    def apart(self) -> Piece:
        """Itself, which holds no log any more. Cost: see `Computed.net`."""
        self.computed  # noqa: B018  which is put in the place of what holds one
        return self

    @property
    def rows(self) -> int:
        """How many changes there are; none, where a commit has taken back what it did. Cost: see `Computed.net`."""
        if self.made is not None or (computed := self.computed) is None:
            return len(self.table)
        return len(computed.delta)

    @property
    def most(self) -> int:
        """How many changes there are at most."""
        given = self.given
        return given.end - given.begin if isinstance(given, Appended) else self.rows

    @property
    def table(self) -> pa.Table:
        """The changes as a table. Cost: that of making it, the first time."""
        if self.made is None:
            computed = self.computed
            assert computed is not None, "what is no table was computed"
            self.made = _table_of(computed)
        return self.made


def seen_piece(definition: Definition, log: ViewLog, time: int, strings: Strings, *, are_apart: bool) -> Piece | None:
    """What a commit up to `time` has added to the log of a view, as its readers see it; None if that is nothing.

    `are_apart`: whether there may be changes of earlier times, too. It is of use until it is taken back from the log.
    """
    begin, end, updates = log.sealed.length, log.mark(), log.sealed.updates
    if begin == end:
        return None
    # What only changes a hidden column is no change, once it is consolidated without it.
    return Piece(time, Appended(log, updates, begin, end, None if are_apart else time, definition.schema, strings))


def piece_of(table: pa.Table, time: int) -> Piece:
    """Changes that are a table already."""
    return Piece(time, made=table)


def together(pieces: Sequence[Piece]) -> Computed | None:
    """What was computed of several pieces, one after the other; None where codes of some are not those of others."""
    given = [each.given for each in pieces]
    first = given[0]
    if first is None or any(each is None or each.strings is not first.strings for each in given):
        return None
    if isinstance(first, Appended) and (end := _end(given)):
        return first.to(end)
    computed = [each.computed for each in pieces]
    whole = concat_deltas([each.delta for each in computed if each is not None])
    return None if whole is None else Computed(first.schema, whole, first.strings)


def _end(given: Sequence[Computed | Appended | None]) -> int:
    """Where those end that were appended to a log one after the other; 0 if they were not."""
    end, updates = 0, None
    for each in given:
        if not isinstance(each, Appended) or (
            updates is not None and (each.begin != end or each.updates is not updates)
        ):
            return 0
        end, updates = each.end, each.updates
    return end


def keep(pieces: Iterable[Piece], log: Updates | None = None) -> None:
    """Let pieces of a view that follow each other hold no log, but this one. Cost: a copy of what they have."""
    found: dict[int, list[tuple[Piece, Appended]]] = {}
    types: Sequence[SqlType] = ()
    for piece in pieces:
        given = piece.given
        if isinstance(given, Appended) and given.log is not None and given.updates is not log:
            found.setdefault(id(given.updates), []).append((piece, given))
            types = given.log.sealed.types
    for held in found.values():
        first, last = held[0][1], held[-1][1]
        kept = Updates(types)
        kept.append(*last.updates.part(first.begin, last.end), last.end - first.begin)
        for piece, given in held:
            begin, end = given.begin - first.begin, given.end - first.begin
            piece.given = replace(given, log=None, updates=kept, begin=begin, end=end)


def joined(pieces: Sequence[Piece]) -> pa.Table:
    """All changes of some pieces, one or more, in one table."""
    if len(pieces) == 1:
        return pieces[0].table
    computed = together(pieces)
    return pa.concat_tables([each.table for each in pieces]) if computed is None else _table_of(computed.net())


def make_tables(pieces: Sequence[Piece]) -> None:
    """Make the tables of pieces that follow each other, in one go, where their codes are the same."""
    computed = together(pieces)
    if computed is None:
        return
    net = computed.net()
    # Each row has the time of its piece, or one between that of the piece before and its own.
    times = np.sort(net.delta.time_array())
    ends, whole = np.searchsorted(times, [each.time for each in pieces], "right").tolist(), _table_of(net)
    for piece, begin, end in zip(pieces, [0, *ends], ends, strict=False):
        piece.made = whole.slice(begin, end - begin)


def _table_of(computed: Computed) -> pa.Table:
    return changes_to_arrow(computed.schema, computed.delta, computed.strings)
