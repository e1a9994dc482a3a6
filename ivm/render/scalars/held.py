"""How deltas of one layout hold the columns that a loop reads: what the loop is given of them, and which loop that is.

A column is given as an array; by its address, where the source tells (see `Source.addresses`), so that nothing is made
of it; or in the pieces in which a store has it, so that what refers to its rows need not be gathered first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from catalog.types import Physical
from ivm.render.scalars.writer import Access, Form
from ivm.trace.column import DTYPES, Array
from ivm.trace.computed import Read
from ivm.trace.delta import Delta, Layout

if TYPE_CHECKING:
    from ivm.render.scalars.bound import BoundLoop

Key = tuple[int, ...]
"""For each group whether its source tells addresses and whether it has references, and the forms of its columns."""

_INT64 = DTYPES[Physical.INT64]
_BY_ADDRESS = (Physical.INT32, Physical.INT64, Physical.FLOAT64, Physical.WIDE)
_PLAIN, _ADDRESSES, _CHECKED, _BY_REFS = 0, 2, 4, 1
_ARRAY, _REFERRED, _PIECES, _ADDRESS, _MASKED = 0, 2, 4, 6, 1


class Input(NamedTuple):
    """A column that a loop may read, whether it can be NULL, and the physical form of its values."""

    column: int
    nullable: bool
    physical: Physical


class _Read(NamedTuple):
    """The slot of an input, what is read of its source, and whether it can be NULL."""

    slot: int
    what: Read
    nullable: bool


class _Group(NamedTuple):
    """A group of the delta, and what is read of it: of `located` the source may tell addresses, of `others` not."""

    number: int
    located: tuple[_Read, ...]
    others: tuple[_Read, ...]
    all: tuple[_Read, ...]


class Held:
    """Of deltas of one layout.

    `checked`: whether it is looked up before how columns lie that are read by address. As long as they all have their
    physical form and no NULLs, which the loop sees for itself, they need not be.
    """

    def __init__(self, layout: Layout, inputs: Sequence[Input]) -> None:
        reads: dict[int, list[tuple[bool, _Read]]] = {}
        for slot, (column, nullable, physical) in enumerate(inputs):
            place = layout.places[column]
            assert place is not None, f"column {column} is not bound"
            group, index = place
            located = physical in _BY_ADDRESS and not isinstance(index, tuple)
            reads.setdefault(group, []).append((located, _Read(slot, index, nullable)))
        self._groups = tuple(
            _Group(
                number,
                tuple(read for located, read in each if located),
                tuple(read for located, read in each if not located),
                tuple(read for _, read in each),
            )
            for number, each in reads.items()
        )
        self.checked = False
        self.loops: dict[Key, tuple[BoundLoop, list[int]]] = {}

    def take(self, delta: Delta) -> tuple[Key, list[Any]]:
        """How the delta holds the columns, and all that a loop may be given of them.

        The latter are, in the order in which `accesses` goes through them: of a column its values and mask, or where
        its pieces are and its stride; at the end of each group addresses, references, and the group's pieces.
        """
        key: list[int] = []
        held: list[Any] = []
        for number, located, others, every in self._groups:
            source, refs = delta.groups[number].source, delta.groups[number].refs
            pages = starts = None
            addresses = source.addresses()
            by_refs = _PLAIN if refs is None else _BY_REFS
            if addresses is None:
                key.append(by_refs)
                others = every  # noqa: PLW2901
            elif not self.checked:
                key.append(_ADDRESSES + by_refs)
            else:
                key.append(_CHECKED + by_refs)
                gathered = []
                for read in located:
                    assert isinstance(read.what, int), "functions have no addresses"
                    _, stride, validity, _ = addresses[read.what].tolist()
                    if stride == 0 or (validity and not read.nullable):
                        gathered.append(read)
                        key.append(_ARRAY)
                    else:
                        key.append(_ADDRESS + (validity != 0))
                others = (*gathered, *others)  # noqa: PLW2901
            for _, index, nullable in others:
                column = source.piece(index)
                form = _ARRAY
                if refs is not None:
                    form = _REFERRED
                    if column is None:
                        pieces = None if isinstance(index, tuple) else source.in_pieces(index)
                        if pieces is not None:
                            pages, starts = pieces.arguments
                            key += (_PIECES, pieces.stride)
                            held += (pieces.bases, pieces.stride)
                            continue
                        form = _ARRAY
                if column is None:
                    column = delta.groups[number].column(index)
                key.append(form + (nullable and column.valid is not None))
                held += (column.values, column.valid)
            held += (addresses, None if refs is None else _words(refs), pages, starts)
        return tuple(key), held

    def accesses(self, key: Key, held: list[Any]) -> tuple[list[Access], dict[tuple[str, int], int]]:
        """What `take` gave as accesses, in the order of slots; and where in `held` each thing is that a loop takes."""
        forms, found = iter(key), dict[int, Access]()
        places: dict[tuple[str, int], int] = {}
        at = 0
        for group, (_, located, others, every) in enumerate(self._groups):
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
                    found[read.slot] = Access(read.slot, group, Form.ADDRESS, by_refs, masked, read.what)
                rest = gathered + rest
            for slot, _, _ in rest:
                form = next(forms)
                places["values", slot], places["valid", slot] = at, at + 1
                if form == _PIECES:
                    found[slot] = Access(slot, group, Form.PIECES, True, False, 0, next(forms))
                else:
                    masked = bool(form & _MASKED)
                    found[slot] = Access(slot, group, Form.ARRAY, form >= _REFERRED, masked)
                at += 2
            for what in ("addresses", "refs", "pages", "starts"):
                places[what, group] = at
                at += 1
        return [found[slot] for slot in sorted(found)], places


def _words(refs: Array) -> Array:
    return refs if refs.dtype is _INT64 or refs.dtype == _INT64 else refs.astype(_INT64)
