"""Look-ups of groups: what a walk is told of one, and how keys that are there already are looked up."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

import numpy as np

from ivm.catalog.types import Physical
from ivm.kernels.groups.finalize import OutputRow
from ivm.kernels.hashing.keys import INTEGER
from ivm.kernels.memory.places import PLACES, REFERENCES, SOURCE
from ivm.kernels.step.records import (
    AGGREGATE_COUNT,
    AGGREGATE_WORDS,
    AGGREGATES,
    ALWAYS,
    COLUMNS,
    GROUPS,
    GROUPS_LEG,
    INCLUSIVE,
    KEEPS_KEYS,
    KEY_FORM,
    KEY_PARTS,
    LENGTH,
    LOOK_UP_GROUPS,
    MADE,
    OUTPUTS,
    ROWS,
    SCRATCH,
)
from ivm.kernels.types import Int32s
from ivm.trace.columns.column import Bools, Column, Ints
from ivm.trace.columns.places import places_of
from ivm.trace.index.search import form_of_words
from ivm.trace.made import Made
from ivm.trace.route import Route
from ivm.trace.sources import id_of

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


class GroupColumn(NamedTuple):
    """A column that a look-up makes of what it finds; see `ivm.kernels.step.records.MADE_COLUMN`.

    `size`: the bytes of an item. `aggregate`: which of these it is, or -1 of a part of the key, which begins with byte
    `begin` of the key's words.
    """

    number: int
    size: int
    aggregate: int
    begin: int = 0
    nullable: bool = False
    encoded: int = INTEGER


class Wanted(NamedTuple):
    """What is wanted of groups that are found: of rows with columns of `types` these `columns`, made of the fields by
    `outputs`, wherever the fields lie. A group is there `always`, or while its multiplicity is not zero.
    """

    types: Sequence[Physical]
    columns: Sequence[GroupColumn]
    outputs: Sequence[OutputRow]
    always: bool


class GroupWords:
    """What a route is told of a look-up of groups, by keys of a `form`."""

    def __init__(self, form: Ints, wanted: Wanted, *, inclusive: bool) -> None:
        self._form, self._wanted, self._inclusive = form, wanted, inclusive

    def more(self, groups: int) -> int:
        """See `Words.more`."""
        return groups + bool(self._wanted.types)

    def words(self, place: int, edges: tuple[int, int], groups: int) -> list[int]:
        """See `Words.words`."""
        types, columns, outputs, always = self._wanted
        words = [LOOK_UP_GROUPS, *edges, groups, *(0,) * (GROUPS_LEG - 4 + groups + 2)]
        words[KEY_FORM], words[KEY_PARTS], words[ALWAYS] = self._form.ctypes.data, len(self._form), always
        words[INCLUSIVE], words[COLUMNS], words[AGGREGATE_COUNT] = self._inclusive, len(types), len(outputs)
        words[AGGREGATE_WORDS] = sum(output.words for output in outputs)
        words[MADE], words[OUTPUTS] = place + len(words), len(columns)
        words[KEEPS_KEYS] = any(each.aggregate < 0 for each in columns)
        for number, size, aggregate, begin, nullable, encoded in columns:
            if aggregate < 0:
                words += number, aggregate, begin, size, -1, encoded
                continue
            row, mask = words[ROWS], words[ROWS] + outputs[aggregate].words
            words += number, aggregate, row, size, mask if nullable else -1, encoded
            words[ROWS] = mask + nullable
        return words


def tell(route: Route, leg: int, seen: Seen, outputs: Ints, scratch: int) -> None:
    """Tell a look-up how the groups are seen now, and how aggregates are made of their fields, with so much scratch."""
    at, cells = route.legs[leg], seen.cells
    route.words[at + AGGREGATES] = id(outputs)
    _pack(
        route.view, 8 * (at + SCRATCH), scratch,
        id(seen.block), id_of(cells), seen.time, id(seen.others), id(seen.links),
    )  # fmt: skip


class GroupSearch:
    """Looks keys up that are words already, `width` each. Size: a route of its own."""

    def __init__(self, width: int, wanted: Wanted) -> None:
        self._width, self._wanted = width, wanted
        self._route: Route | None = None

    def find(
        self, words: Ints, dropped: Bools | None, as_of: Ints | int, seen: Seen, outputs: Ints, scratch: int
    ) -> tuple[Ints, Made]:
        """The groups of keys (n, width) at their times: position of the key, ascending, and the columns.

        Times before the last step are those before it. Keys with a True in `dropped` find nothing. For `outputs` and
        `scratch` see `tell`. Cost: see `ivm.kernels.groups.lookup.find_fields`, and what is made.
        """
        rows, keys = len(words), words.reshape(len(words), self._width)
        valid = None if dropped is None else ~dropped
        columns = [Column(keys[:, w], valid if w == 0 else None) for w in range(self._width)]
        route, self._route = self._route, None
        if route is None:
            route = Route([GroupWords(form_of_words(self._width), self._wanted, inclusive=True)], 1)
        tell(route, 0, seen, outputs, scratch)
        times = None if isinstance(as_of, int) else np.ascontiguousarray(as_of)
        listed = [places_of(columns), None, times, None]
        said = route.go(listed, 0, rows, as_of if isinstance(as_of, int) else 0)
        assert said >= 0, "keys have places"
        edge, types = route.edge(1), self._wanted.types
        count, positions = edge[LENGTH], route.moved(edge[GROUPS + REFERENCES], edge[LENGTH])
        places = edge[GROUPS + SOURCE + PLACES] if types else 0
        arena, begin = route.arena_of(places)
        made = Made(arena, begin, places if types else begin, types, count)
        route.end()
        self._route = route
        return positions, made
