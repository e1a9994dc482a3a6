"""What one who listens has not taken yet, and what becomes of it where that grows too much."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Literal, get_args

from ivm.catalog.errors import Error
from ivm.catalog.types import SqlType
from ivm.subscriptions.feed import MANY, Link
from ivm.subscriptions.net import net
from ivm.subscriptions.piece import Piece, keep

WhenFull = Literal["coalesce", "block", "fail"]
WHEN_FULL: tuple[WhenFull, ...] = get_args(WhenFull)
Netted = MutableMapping[int, tuple[Link, Piece]]
"""What the links from one of these on come to, by the identity of that one, for all who stand there."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits: first the pieces, then what a feed's chain has from a link on.

    One that is `over` gets no more, for a reason, if there is one that is to be told.
    """

    at: Link
    pieces: tuple[Piece, ...] = ()
    over: bool = False
    reason: Error | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self.pieces and self.at.next is None

    @property
    def first(self) -> Piece:
        """What comes first; there is some."""
        if self.pieces:
            return self.pieces[0]
        assert self.at.piece is not None, "something waits"
        return self.at.piece

    def some(self, most: int) -> list[Piece]:
        """The first that wait, at most so many."""
        return list(islice(chain(self.pieces, self.at.pieces()), most))

    def behind_nothing(self) -> Backlog:
        """The same from the first piece on in which something changes."""
        left = self
        while not left.is_empty and not left.first.rows:
            left = left.behind_first()
        return left

    def behind_first(self) -> Backlog:
        """What waits behind the first."""
        if self.pieces:
            return replace(self, pieces=self.pieces[1:])
        assert self.at.next is not None, "something waits"
        return Backlog(self.at.next)

    def behind(self, end: Link) -> int:
        """How much of the chain waits, in commits; `end` is its end."""
        return end.number - self.at.number

    def netted(self, types: Sequence[SqlType], known: Netted) -> Backlog:
        """The same as few pieces, none of which has less than twice the rows of the next: no more than all that differs
        by then, and a little. Times within a piece become one. What a single commit has told stays as it is, until
        there is more. `types`: of the view's columns. Cost: over time, a few accesses of a hash table for each row and
        each doubling.
        """
        if self.at.next is None or self.at.next.next is None:
            return self  # who takes what one commit has told consolidates that, and may be about to
        if id(self.at) not in known:
            known[id(self.at)] = self._netted_chain(types)
        at, last = known[id(self.at)]
        pieces = self.pieces
        while pieces and pieces[-1].rows < 2 * max(last.rows, MANY):
            last = net([pieces[-1], last], types)
            pieces = pieces[:-1]
        return Backlog(at, (*pieces, last) if last.rows else pieces)

    def ended(self, reason: Error | None) -> Backlog:
        """The same, to which nothing is added any more, and for which no log is held."""
        waiting = self.waiting
        keep(waiting)
        return Backlog(Link(-1, 0), waiting, True, reason)

    @property
    def waiting(self) -> tuple[Piece, ...]:
        """All that waits."""
        return (*self.pieces, *self.at.pieces())

    def _netted_chain(self, types: Sequence[SqlType]) -> tuple[Link, Piece]:
        link, found = self._chain()
        return link, net(found, types)

    def _chain(self) -> tuple[Link, list[Piece]]:
        """What the chain has, and its end."""
        link, found = self.at, list[Piece]()
        while link.next is not None and link.piece is not None:
            found.append(link.piece)
            link = link.next
        return link, found
