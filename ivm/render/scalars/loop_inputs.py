"""How deltas of one layout hold the columns that a loop reads.

A loop is told of the sources of a delta and of the references to them, and reads columns where they lie (see
`Source.places`), so that nothing is gathered or made first. It is written for a way in which they lie, and sees for
itself whether they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ivm.catalog.types import Physical
from ivm.kernels.memory.places import BIT, PIECES, SIZE, STRIDE, VALIDITY
from ivm.render.scalars.writer import Access, Masked
from ivm.trace.columns.column import Ints
from ivm.trace.columns.computed import Read, TextFunction
from ivm.trace.columns.places import places_of
from ivm.trace.delta import Delta, Layout


class Input(NamedTuple):
    """A column that a loop may read, whether it can be NULL, and the physical form of its values."""

    column: int
    nullable: bool
    physical: Physical


class Looked(NamedTuple):
    """How columns lie: how the loop reads each.

    Its sources are the groups of which it `reads` columns where they lie, then the functions whose values are `kept`,
    of which group each; and what is `made` before, of which group, if anything is. `numbered`: of functions read where
    they lie, whose numbers mean nothing in other sources than those of the deltas' variant.
    """

    pattern: tuple[Access, ...]
    reads: tuple[tuple[int, tuple[int, ...]], ...]
    kept: tuple[tuple[int, tuple[int, TextFunction]], ...]
    made: tuple[tuple[int, Read], ...]
    numbered: bool


class LoopInputs:
    """Of deltas of one layout.

    `used` are the groups that are still read of what passes, `projected` is its layout. `extended` is the layout over
    which the loop is written, if that is another: with functions of texts as columns of their own.
    """

    def __init__(
        self, layout: Layout, inputs: Sequence[Input], used: Sequence[int], projected: Layout, extended: Layout | None
    ) -> None:
        self.used, self.projected = tuple(used), projected
        self._extended = extended
        self._reads: list[tuple[int, Read]] = []
        for column, _, _ in inputs:
            place = (extended or layout).places[column]
            assert place is not None, f"column {column} is not bound"
            self._reads.append(place)

    def read(self, delta: Delta) -> Delta:
        """A delta of this layout as the loop is written over it."""
        extended = self._extended
        if extended is None:
            return delta
        return Delta(delta.groups, extended, delta.length, delta.times, delta.diffs)

    def look(self, delta: Delta) -> Looked:
        """How columns lie in a delta. What cannot be read in place is made before it is read."""
        groups, reads = delta.groups, dict[int, dict[int, None]]()
        kept, made = list[tuple[int, tuple[int, TextFunction]]](), list[tuple[int, Read]]()
        columns = [self._column(delta, *each) for each in self._reads]
        for slot, (number, read) in enumerate(self._reads):
            if isinstance(read, tuple) and groups[number].source.values_of(*read) is not None:
                kept.append((number, read))
                columns[slot] = -1
            elif self._in_place(slot, delta, columns[slot]) is not None:
                reads.setdefault(number, {})[columns[slot]] = None
            elif (number, read) not in made:
                made.append((number, read))
        sources = {number: place for place, number in enumerate(reads)}
        places = places_of([groups[number].column(read) for number, read in made])
        pattern = list[Access]()
        for slot, (number, read) in enumerate(self._reads):
            if isinstance(read, tuple) and (values := groups[number].source.values_of(*read)) is not None:
                source, by_refs = len(reads) + kept.index((number, read)), groups[number].refs is not None
                access = _access(slot, source, 0, values.place, by_refs=by_refs)
            elif (number, read) in made:
                column = made.index((number, read))
                access = _access(slot, len(reads) + len(kept), column, places[column], by_refs=False)
            else:
                access = self._in_place(slot, delta, columns[slot])
                access = None if access is None else replace(access, group=sources[number])
            assert access is not None, "it was found to be read so"
            pattern.append(access)
        read_here = tuple((number, tuple(each)) for number, each in reads.items())
        numbered = any(
            isinstance(read, tuple) and column >= 0 for (_, read), column in zip(self._reads, columns, strict=True)
        )
        return Looked(tuple(pattern), read_here, tuple(kept), tuple(made), numbered)

    def _column(self, delta: Delta, number: int, read: Read) -> int:
        """Under which number a source tells where something lies; -1 if it does not."""
        if not isinstance(read, tuple):
            return read
        group = delta.groups[number]
        return -1 if group.refs is not None else group.source.number_of(*read)

    def _in_place(self, slot: int, delta: Delta, column: int) -> Access | None:
        """How an input is read where it lies, as the column of a number; None if it cannot be."""
        if column < 0:
            return None
        group = delta.groups[self._reads[slot][0]]
        return _access(slot, 0, column, group.source.places((column,))[column], by_refs=group.refs is not None)


def _access(slot: int, source: int, column: int, place: Ints, *, by_refs: bool) -> Access | None:
    """How a loop reads a column that lies at a place; None if it cannot."""
    stride, size = place.item(STRIDE), place.item(SIZE)
    in_pieces, masked = place.item(PIECES) != 0, Masked.NEVER
    if place.item(VALIDITY):
        masked = Masked.BITS if place.item(BIT) >= 0 else Masked.BYTES
    if not stride or (in_pieces and masked is not Masked.NEVER):
        return None
    return Access(slot, source, column, by_refs, masked, size, in_pieces, stride if in_pieces else 0)
