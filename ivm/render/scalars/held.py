"""How deltas of one layout hold the columns that a loop reads: what the loop is given of them, and which loop that is.

A column is given as an array; by its address, where the source tells (see `Source.addresses`), so that nothing is made
of it; or in the pieces in which a store has it, so that what refers to its rows need not be gathered first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import ref

import numpy as np

from catalog.types import Physical
from ivm.render.scalars.writer import Access, Form
from ivm.trace.columns.column import DTYPES, Array
from ivm.trace.columns.computed import Read
from ivm.trace.columns.growable import HotColumn
from ivm.trace.columns.stored_columns import StoredColumns
from ivm.trace.delta import Delta, Layout

Loop = TypeVar("Loop")
Key = tuple[int, ...]
"""For each group whether its source tells addresses and whether it has references, and the forms of its columns."""

_INT64 = DTYPES[Physical.INT64]
_BY_ADDRESS = (Physical.INT32, Physical.INT64, Physical.FLOAT64, Physical.WIDE)
_PLAIN, _ADDRESSES, _CHECKED, _BY_REFS = 0, 2, 4, 1
_ARRAY, _REFERRED, _PIECES, _ADDRESS, _MASKED = 0, 2, 4, 6, 1
_WORD = _INT64.itemsize


class Input(NamedTuple):
    """A column that a loop may read, whether it can be NULL, and the physical form of its values."""

    column: int
    nullable: bool
    physical: Physical


class _Read(NamedTuple):
    """The slot of an input, what is read of its source, whether it can be NULL, whether its values are WIDE, and the
    bytes of a value's low word.
    """

    slot: int
    what: Read
    nullable: bool
    wide: bool
    size: int


class _Group(NamedTuple):
    """A group of the delta, and what is read of it: of `located` the source may tell addresses, of `others` not.

    `known`: a store, and those of its columns that are hot.
    """

    number: int
    located: tuple[_Read, ...]
    others: tuple[_Read, ...]
    all: tuple[_Read, ...]
    known: list[tuple[ref[StoredColumns], Sequence[HotColumn | None]]]


class Held(Generic[Loop]):
    """Of deltas of one layout. `loops`: what runs, by how columns are held.

    `used` are the groups that are still read of what passes, `projected` is its layout. `extended` is the layout over
    which the loop is written, if that is another: with functions of texts as columns of their own.

    `checked`: whether it is looked up before how columns lie that are read by address. As long as they all have their
    physical form and no NULLs, which the loop sees for itself, they need not be; nor if some are shorter (see `look`).
    """

    def __init__(
        self, layout: Layout, inputs: Sequence[Input], used: Sequence[int], projected: Layout, extended: Layout | None
    ) -> None:
        self.used, self.projected = tuple(used), projected
        self._extended = extended
        reads: dict[int, list[tuple[bool, _Read]]] = {}
        for slot, (column, nullable, physical) in enumerate(inputs):
            place = (extended or layout).places[column]
            assert place is not None, f"column {column} is not bound"
            group, index = place
            located = physical in _BY_ADDRESS and not isinstance(index, tuple)
            read = _Read(slot, index, nullable, physical is Physical.WIDE, DTYPES[physical].itemsize)
            reads.setdefault(group, []).append((located, read))
        self._groups = tuple(
            _Group(
                number,
                tuple(read for located, read in each if located),
                tuple(read for located, read in each if not located),
                tuple(read for _, read in each),
                [],
            )
            for number, each in reads.items()
        )
        self.checked = False
        self._has_looked = False
        self.loops: dict[Key, Loop] = {}

    def read(self, delta: Delta) -> Delta:
        """A delta of this layout as the loop is written over it."""
        extended = self._extended
        if extended is None:
            return delta
        return Delta(delta.groups, extended, delta.length, delta.times, delta.diffs)

    def look(self, delta: Delta) -> None:
        """What is read by address lies otherwise than a loop was written for: take for granted how it lies here.

        The second time, or where a column cannot be read so or has a NULL, it is looked up before from now on.
        """
        groups = list[_Group]()
        for known in self._groups:
            addresses, located = delta.groups[known.number].source.addresses(), list[_Read]()
            if addresses is None:
                groups.append(known)
                continue
            for read in known.located:
                assert isinstance(read.what, int), "functions have no addresses"
                _, stride, validity, _ = addresses[read.what].tolist()
                self.checked |= stride == 0 or validity != 0
                located.append(read._replace(size=min(stride, _WORD)))
            groups.append(known._replace(located=tuple(located)))
        self.checked |= self._has_looked
        self._groups, self._has_looked = tuple(groups), True
        self.loops.clear()

    def take(self, delta: Delta) -> tuple[Key, list[Any]]:
        """How the delta holds the columns, and all that a loop may be given of them.

        The latter are, in the order in which `accesses` goes through them: of each group addresses, references, and the
        group's pieces; then of its columns the values and the mask, or where a column's pieces are and their stride.
        """
        key: list[int] = []
        held: list[Any] = []
        groups = delta.groups
        for known in self._groups:
            number, located, others, every, _ = known
            group = groups[number]
            source, refs = group.source, group.refs
            addresses = source.addresses()
            kind = _PLAIN
            if refs is not None:
                kind, refs = _BY_REFS, in_words(refs)
            at = len(held)
            held += (addresses, refs, None, None)
            if addresses is None:
                key.append(kind)
                if refs is not None and isinstance(source, StoredColumns):
                    self._take_stored(source, known, refs, key, held)
                    continue
                others = every
            elif not self.checked:
                key.append(_ADDRESSES + kind)
            else:
                key.append(_CHECKED + kind)
                gathered = []
                for read in located:
                    assert isinstance(read.what, int), "functions have no addresses"
                    _, stride, validity, _ = addresses[read.what].tolist()
                    if stride == 0 or (validity and not read.nullable):
                        gathered.append(read)
                        key.append(_ARRAY)
                    else:
                        key += (_ADDRESS + (validity != 0), min(stride, _WORD))
                others = (*gathered, *others)
            for _, index, nullable, wide, _ in others:
                column = source.piece(index)
                form = _ARRAY
                if refs is not None:
                    form = _REFERRED
                    if column is None:
                        pieces = None if isinstance(index, tuple) else source.in_pieces(index)
                        if pieces is not None:
                            held[at + 2 : at + 4] = pieces.arguments
                            key += (_PIECES, pieces.stride)
                            held += (pieces.bases, pieces.stride)
                            continue
                        form = _ARRAY
                if column is None:
                    column = group.column(index)
                key.append(form + (nullable and column.valid is not None))
                held += (in_words(column.values) if wide else column.values, column.valid)
        return tuple(key), held

    def _take_stored(self, source: StoredColumns, group: _Group, refs: Array, key: list[int], held: list[Any]) -> None:
        """As `take`, of the columns of a group that are rows of a store."""
        at = len(held)
        for hot, (_, index, nullable, wide, _) in zip(self._hot_columns(source, group), group.all, strict=True):
            if hot is not None:
                values, valid = hot.arrays
                key.append(_REFERRED + (nullable and valid is not None))
                held += (values, valid)
                continue
            pieces = None if isinstance(index, tuple) else source.in_pieces(index)
            if pieces is not None:
                held[at - 2 : at] = pieces.arguments
                key += (_PIECES, pieces.stride)
                held += (pieces.bases, pieces.stride)
                continue
            column = source.gather(index, refs)
            key.append(_ARRAY + (nullable and column.valid is not None))
            held += (in_words(column.values) if wide else column.values, column.valid)

    def _hot_columns(self, source: StoredColumns, group: _Group) -> Sequence[HotColumn | None]:
        """Those of the columns read that are hot; remembered for the store that was asked last, while it is there."""
        if group.known:
            store, found = group.known[0]
            if store() is source:
                return found
        found = [source.hot(read.what) for read in group.all]
        # What is hot stays hot, and what is read in pieces does not become it; a text may.
        if all(hot is not None or _in_pieces(source, read.what) for hot, read in zip(found, group.all, strict=True)):
            group.known[:] = [(ref(source, lambda _: group.known.clear()), found)]
        return found

    def accesses(self, key: Key, held: list[Any]) -> tuple[list[Access], dict[tuple[str, int], int]]:
        """What `take` gave as accesses, in the order of slots; and where in `held` each thing is that a loop takes."""
        forms, found = iter(key), dict[int, Access]()
        places: dict[tuple[str, int], int] = {}
        at = 0
        for group, (_, located, others, every, _) in enumerate(self._groups):
            for what in ("addresses", "refs", "pages", "starts"):
                places[what, group] = at
                at += 1
            kind = next(forms)
            by_refs = bool(kind & _BY_REFS)
            rest = list(others)
            if kind < _ADDRESSES:
                rest = list(every)
            else:
                gathered = []
                for read in located:
                    form = next(forms) if kind >= _CHECKED else _ADDRESS
                    if form < _ADDRESS:
                        gathered.append(read)
                        continue
                    masked = bool(form & _MASKED)
                    assert isinstance(read.what, int), "functions have no addresses"
                    size = next(forms) if kind >= _CHECKED else read.size
                    found[read.slot] = Access(read.slot, group, Form.ADDRESS, by_refs, masked, read.what, size)
                rest = gathered + rest
            for read in rest:
                slot, form = read.slot, next(forms)
                places["values", slot], places["valid", slot] = at, at + 1
                if form == _PIECES:
                    found[slot] = Access(slot, group, Form.PIECES, True, False, 0, next(forms))
                else:
                    masked = bool(form & _MASKED)
                    found[slot] = Access(slot, group, Form.ARRAY, form >= _REFERRED, masked)
                at += 2
        return [found[slot] for slot in sorted(found)], places


def _in_pieces(source: StoredColumns, index: Read) -> bool:
    return not isinstance(index, tuple) and source.in_pieces(index) is not None


def in_words(array: Array) -> Any:
    """The array as a frame can tell of it: of int64, and where it has two to a row, these side by side."""
    if array.dtype is not _INT64 and array.dtype != _INT64:
        array = array.astype(_INT64)
    return array if array.ndim == 1 or array.strides[1] == _INT64.itemsize else np.ascontiguousarray(array)
