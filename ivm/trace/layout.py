"""Layouts: where the columns of a delta come from. There are few, and the same ones at every commit."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ivm.trace.computed import Read

Place = tuple[int, Read]
"""A group of a delta, and a column of its source, or a function of one."""


class Layout:
    """For each column its place; None where it is not bound yet (the inputs of a join that a path has not met).

    A layout remembers what was made of it: doing the same at the next commit gives the same object, so that others can
    remember by the layout what they found out about it.
    """

    __slots__ = ("_bound", "_within", "places")

    def __init__(self, places: Iterable[Place | None]) -> None:
        self.places = tuple(places)
        self._bound: dict[tuple[int, int, int], Layout] = {}
        self._within: dict[tuple[int, int], Layout] = {}

    def __len__(self) -> int:
        return len(self.places)

    def bind(self, group: int, offset: int, width: int) -> Layout:
        """The `width` columns from `offset` on taken from group `group`, in their order."""
        key = (group, offset, width)
        made = self._bound.get(key)
        if made is None:
            bound = tuple((group, i) for i in range(width))
            made = Layout((*self.places[:offset], *bound, *self.places[offset + width :]))
            self._bound[key] = made
        return made

    def within(self, offset: int, total: int) -> Layout:
        """The columns from `offset` on, among `total` columns of which no other is bound."""
        key = (offset, total)
        made = self._within.get(key)
        if made is None:
            behind = total - offset - len(self.places)
            made = self._within[key] = Layout((*(None,) * offset, *self.places, *(None,) * behind))
        return made


@cache
def plain_layout(width: int) -> Layout:
    """That of a delta of one group, with the columns of its source in their order."""
    return Layout((0, i) for i in range(width))
