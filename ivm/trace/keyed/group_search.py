"""Look-ups of groups: what kernels are told of groups as they are, and a walk of a look-up."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from ivm.kernels.groups.finalize import OutputRow
from ivm.kernels.hashing.keys import INTEGER
from ivm.kernels.step.records import (
    AGGREGATE_COUNT,
    AGGREGATE_WORDS,
    AGGREGATES,
    ALWAYS,
    COLUMNS,
    GROUPS_LEG,
    INCLUSIVE,
    KEEPS_KEYS,
    KEY_FORM,
    KEY_PARTS,
    LOOK_UP_GROUPS,
    MADE,
    OUTPUTS,
    ROWS,
    SCRATCH,
)
from ivm.kernels.types import Int32s
from ivm.trace.columns.column import Ints
from ivm.trace.route import Route

_pack = Struct("6q").pack_into


class Seen(NamedTuple):
    """Groups as they are seen, until somebody changes them; see `ivm.kernels.groups.lookup.SEEN`.

    `cells` is the memory of the last step, None as of a sealed time.
    """

    block: Ints
    cells: Ints | None
    time: int
    others: Ints
    links: Int32s

    @property
    def words(self) -> tuple[int, int, int, int, int]:
        """As kernels take them, while this is there."""
        cells = self.cells
        return id(self.block), 0 if cells is None else id(cells), self.time, id(self.others), id(self.links)


class GroupColumn(NamedTuple):
    """A column that a look-up makes of what it finds; see `ivm.kernels.step.records.MADE_COLUMN`.

    `source`: which aggregate it is, of so many words `at`; or -1 of a part of the key, which begins `at` a byte of the
    key's words. `size`: the bytes of an item.
    """

    number: int
    source: int
    at: int
    size: int
    nullable: bool = False
    encoded: int = INTEGER


class GroupWords:
    """What a route is told of a look-up of groups, by keys of a `form`; a group of no keys is there `always`.

    Rows of groups have `width` columns, of which these `columns` are made, of `outputs`.
    """

    def __init__(self, form: Ints, width: int, columns: Sequence[GroupColumn], outputs: Ints, inclusive: bool) -> None:
        self._form, self._width, self._columns, self._outputs = form, width, columns, outputs
        self._inclusive = inclusive

    def more(self, groups: int) -> int:
        """See `Words.more`."""
        return groups + bool(self._width)

    def words(self, place: int, edges: tuple[int, int], groups: int) -> list[int]:
        """See `Words.words`."""
        form, outputs = self._form, self._outputs
        words = [LOOK_UP_GROUPS, *edges, groups, *(0,) * (GROUPS_LEG - 4 + groups + 2)]
        words[KEY_FORM], words[KEY_PARTS], words[ALWAYS] = form.ctypes.data, len(form), not len(form)
        words[INCLUSIVE], words[COLUMNS], words[AGGREGATE_COUNT] = self._inclusive, self._width, len(outputs)
        words[AGGREGATE_WORDS] = sum(OutputRow(*row).words for row in outputs.tolist())
        words[MADE], words[OUTPUTS] = place + len(words), len(self._columns)
        words[KEEPS_KEYS] = any(each.source < 0 for each in self._columns)
        for number, source, at, size, nullable, encoded in self._columns:
            row = words[ROWS]
            if source < 0:
                words += number, source, at, size, -1, encoded
                continue
            words += number, source, row, size, row + at if nullable else -1, encoded
            words[ROWS] += at + nullable
        return words


def tell(route: Route, leg: int, seen: Seen, outputs: Ints, scratch: int) -> None:
    """Tell a look-up how the groups are seen now, and how aggregates are made of their fields, with so much scratch."""
    at = route.legs[leg]
    route.words[at + AGGREGATES] = id(outputs)
    _pack(route.words.data, 8 * (at + SCRATCH), scratch, *seen.words)
