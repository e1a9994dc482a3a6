"""Searches in an index: what a walk is told of one, and how keys that are there already are looked up."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from struct import Struct
from typing import NamedTuple, Protocol

import numpy as np

from ivm.kernels.hashing.keys import FORM as FORM_WORDS
from ivm.kernels.hashing.keys import INTEGER
from ivm.kernels.hashing.search import FORM, LONG, PARTS, SEARCHED, STATE, TIRED, UNIQUE, WIDTH
from ivm.kernels.step.records import ARRANGED, FOUND, GIVEN, INCLUSIVE, LOOK_UP, LOOK_UP_LEG, MATCHES, TOLD
from ivm.trace.columns.column import Bools, Column, Ints
from ivm.trace.columns.places import places_of
from ivm.trace.helpers import at_hand
from ivm.trace.lessons import Learner, note
from ivm.trace.route import Route, side_by_side

_ONE_EACH = 16
_pack = Struct("12q").pack_into
Run = tuple[int, int, int]
"""How kernels read the keys of an index's own rows, where there is a run: where the columns of the store lie, where the
form of the key is, and its parts. Zeros if there is none.
"""
NO_RUN: Run = (0, 0, 0)


class Indexed(Protocol):
    """What is searched; see `Index`."""

    address: int
    words: int
    unique: bool
    since: int


class Seen(NamedTuple):
    """Up to which row of the store each row sees, and deaths behind which stamp: for all alike, or where one for each
    lies. `died`: where the rows' deaths lie, 0 if nobody ever died.
    """

    died: int
    limit: int
    limits: int
    stamp: int
    stamps: int


def seen_of(limits: Ints, died: Ints, times: Ints) -> Seen:
    """What keys see; of length 1 limits and stamps are those of all."""
    limit, limits_at = (limits.item(0), 0) if len(limits) == 1 else (0, limits.ctypes.data)
    stamp, stamps_at = (times.item(0), 0) if len(times) == 1 else (0, times.ctypes.data)
    return Seen(died.ctypes.data if len(died) else 0, limit, limits_at, stamp, stamps_at)


class SearchWords:
    """What a route is told of a look-up, by keys of a `form`, of so many words."""

    def __init__(
        self, form: Ints, width: int, unique: bool, arranged: Ints | None = None, inclusive: bool = True
    ) -> None:
        """`arranged`: the words of an arrangement, where the state is not told each time."""
        self._form, self._width, self._unique = form, width, unique
        self._arranged, self._inclusive = arranged, inclusive

    def more(self, groups: int) -> int:
        """See `Words.more`."""
        return groups + 1

    def words(self, place: int, edges: tuple[int, int], groups: int) -> list[int]:
        """See `Words.words`."""
        words = [LOOK_UP, *edges, groups, *(0,) * (LOOK_UP_LEG - 4 + groups + 2)]
        words[MATCHES], words[FOUND + UNIQUE], words[FOUND + WIDTH] = _ONE_EACH, self._unique, self._width
        words[INCLUSIVE], words[GIVEN] = self._inclusive, self._arranged is None
        words[ARRANGED] = 0 if self._arranged is None else self._arranged.ctypes.data
        words[FOUND + FORM], words[FOUND + PARTS] = self._form.ctypes.data, len(self._form)
        return words


def tell(route: Route, leg: int, index: Indexed, seen: Seen, run: Run, store: int) -> None:
    """Tell a look-up of the state that it searches, as it is now. `store`: where the columns of what is found lie."""
    places, form, form_parts = run
    at = 8 * (route.legs[leg] + FOUND + STATE)
    _pack(route.view, at, places, 0, form, form_parts, index.address, *seen, index.since, store)


def report(route: Route, leg: int, width: int, learner: Learner) -> None:
    """Tell whoever collects lessons what a look-up of keys of so many words has met."""
    words, frame = route.words, route.legs[leg] + FOUND
    searched, tired = words.item(frame + SEARCHED), words.item(frame + TIRED)
    if searched or tired:
        words[frame + SEARCHED] = words[frame + TIRED] = 0
        long = None
        if tired:
            long = route.moved(words.item(frame + LONG), tired * width).reshape(-1, width).copy()
        note(learner, searched, long)


class Search:
    """Looks keys up that are words already. Size: a route of its own."""

    __slots__ = ("_route",)

    def __init__(self) -> None:
        self._route: Route | None = None

    def find(
        self, index: Indexed, words: Ints, valid: Bools | None, seen: Seen, run: Run, learner: Learner | None
    ) -> Iterator[tuple[Ints, Ints]]:
        """The rows of keys (n, W), in parts: position of the key, row. Those that are not `valid` find nothing.

        `learner`: who learns from what is met.
        """
        columns = [Column(words[:, w], valid if w == 0 else None) for w in range(words.shape[1])]
        route, self._route = self._route, None
        if route is None:
            route = Route([SearchWords(form_of_words(index.words), index.words, index.unique)], 1)
        tell(route, 0, index, seen, run, 0)
        listed, errands = [places_of(columns), None, None, None], at_hand(len(words))
        if errands is None:
            routes = [(route, route.go(listed, 0, len(words)))]
        else:
            routes = side_by_side(errands, route, listed, len(words))
        for each, first_said in routes:
            said = first_said
            while said > 0:
                _, count, _, _, _, positions, _, rows = each.edge(1)
                yield each.moved(positions, count), each.moved(rows, count)
                if each.at < 0:
                    break
                said = each.go_on(count)
            if learner is not None and each.words.item(TOLD):
                report(each, 0, index.words, learner)
            assert said >= 0, "keys and the columns of a run have places"
            each.end()
        self._route = route


@cache
def form_of_words(words: int) -> Ints:
    """The form of keys that are words already, so many each."""
    return np.array([(0, w, INTEGER, w, -1, -1, 0) for w in range(words)], np.int64).reshape(words, FORM_WORDS)
