"""How deltas of one layout hold the columns that a loop reads, and which loop that is.

A loop is told of the sources of a delta and of the references to them, and reads columns where they lie (see
`Source.places`), so that nothing is gathered or made first. It is written for a way in which they lie, and sees for
itself whether they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from catalog.types import Physical
from ivm.kernels.memory.places import BIT, PIECES, SIZE, STRIDE, VALIDITY
from ivm.render.scalars.writer import Access, Masked
from ivm.trace.columns.column import DTYPES, Array, Column, Ints
from ivm.trace.columns.computed import Read
from ivm.trace.columns.places import places_of
from ivm.trace.delta import Delta, Layout

Loop = TypeVar("Loop")
Key = tuple[bool, ...]
"""For each group that is read whether it has references."""

_INT64 = DTYPES[Physical.INT64]


class Input(NamedTuple):
    """A column that a loop may read, whether it can be NULL, and the physical form of its values."""

    column: int
    nullable: bool
    physical: Physical


class _Group(NamedTuple):
    """A group of the delta, and the columns of its source that are read where they lie."""

    number: int
    columns: tuple[int, ...]


class _Made(NamedTuple):
    """What is gathered before it is read: of a group's source a function of a text, or what is not read in place."""

    slot: int
    group: int
    read: Read


class Given(NamedTuple):
    """What a loop is given of a delta: of each source its places and references. `kept` is there meanwhile."""

    arrays: list[Array | None]
    key: Key
    kept: list[Column]


class Held(Generic[Loop]):
    """Of deltas of one layout. `loops`: what runs, by which groups have references, as columns lay the last time.

    `used` are the groups that are still read of what passes, `projected` is its layout. `extended` is the layout over
    which the loop is written, if that is another: with functions of texts as columns of their own.
    """

    def __init__(
        self, layout: Layout, inputs: Sequence[Input], used: Sequence[int], projected: Layout, extended: Layout | None
    ) -> None:
        self.used, self.projected = tuple(used), projected
        self._extended = extended
        self._inputs = tuple(inputs)
        self._reads: list[tuple[int, Read]] = []
        for column, _, _ in inputs:
            place = (extended or layout).places[column]
            assert place is not None, f"column {column} is not bound"
            self._reads.append(place)
        self._made: tuple[_Made, ...] = ()
        self._groups: tuple[_Group, ...] = ()
        self._gather({slot for slot, (_, read) in enumerate(self._reads) if isinstance(read, tuple)})
        self.loops: dict[Key, Loop] = {}

    def _gather(self, slots: set[int]) -> None:
        """Let these inputs be gathered before they are read, and the others not."""
        self._made = tuple(_Made(slot, *self._reads[slot]) for slot in sorted(slots))
        groups: dict[int, dict[int, None]] = {}
        for slot, (group, read) in enumerate(self._reads):
            if slot not in slots:
                assert isinstance(read, int), "functions do not lie anywhere"
                groups.setdefault(group, {})[read] = None
        self._groups = tuple(_Group(number, tuple(columns)) for number, columns in groups.items())

    @property
    def sources(self) -> int:
        """How many sources a loop is told of."""
        return len(self._groups) + bool(self._made)

    def read(self, delta: Delta) -> Delta:
        """A delta of this layout as the loop is written over it."""
        extended = self._extended
        if extended is None:
            return delta
        return Delta(delta.groups, extended, delta.length, delta.times, delta.diffs)

    def take(self, delta: Delta) -> Given:
        """What a loop is given of a delta, in which columns may lie otherwise than the loop is written for."""
        arrays: list[Array | None] = []
        key: list[bool] = []
        kept: list[Column] = []
        groups = delta.groups
        for number, columns in self._groups:
            group = groups[number]
            refs = group.refs
            arrays.append(group.source.places(columns))
            arrays.append(None if refs is None else in_words(refs))
            key.append(refs is not None)
        if self._made:
            kept += (groups[group].column(read) for _, group, read in self._made)
            arrays += places_of(kept), None
        return Given(arrays, tuple(key), kept)

    def look(self, delta: Delta) -> tuple[Access, ...]:
        """How columns lie in a delta. What cannot be read in place is gathered from now on; what can, no longer."""
        while True:
            given, unread = self.take(delta), set[int]()
            found = [self._access(slot, given) for slot in range(len(self._reads))]
            for slot, (group, read) in enumerate(self._reads):
                if found[slot] is None or isinstance(read, tuple):
                    unread.add(slot)
                elif slot in {made.slot for made in self._made}:
                    source = delta.groups[group].source
                    if _access(slot, 0, read, source.places((read,))[read], by_refs=False) is None:
                        unread.add(slot)
            if unread == {made.slot for made in self._made}:
                return tuple(access for access in found if access is not None)
            self._gather(unread)
            self.loops.clear()

    def _access(self, slot: int, given: Given) -> Access | None:
        for column, made in enumerate(self._made):
            if made.slot == slot:
                return self._as_it_lies(slot, len(self._groups), column, given, by_refs=False)
        group, read = self._reads[slot]
        assert isinstance(read, int), "functions are gathered"
        number = next(k for k, each in enumerate(self._groups) if each.number == group)
        return self._as_it_lies(slot, number, read, given, by_refs=given.key[number])

    def _as_it_lies(self, slot: int, source: int, column: int, given: Given, *, by_refs: bool) -> Access | None:
        places: Any = given.arrays[2 * source]
        return _access(slot, source, column, places[column], by_refs=by_refs)


def _access(slot: int, source: int, column: int, place: Ints, *, by_refs: bool) -> Access | None:
    """How a loop reads a column that lies at a place; None if it cannot."""
    stride, size = place.item(STRIDE), place.item(SIZE)
    in_pieces, masked = place.item(PIECES) != 0, Masked.NEVER
    if place.item(VALIDITY):
        masked = Masked.BITS if place.item(BIT) >= 0 else Masked.BYTES
    if not stride or (in_pieces and masked is not Masked.NEVER):
        return None
    return Access(slot, source, column, by_refs, masked, size, in_pieces, stride if in_pieces else 0)


def in_words(array: Array) -> Any:
    """The array as a frame can tell of it: of int64, and where it has two to a row, these side by side."""
    if array.dtype is not _INT64 and array.dtype != _INT64:
        array = array.astype(_INT64)
    return array if array.ndim == 1 or array.strides[1] == _INT64.itemsize else np.ascontiguousarray(array)
