"""What is told of a view, once for all who listen: a chain to whose end each commit adds a link.

Whoever listens stands at a link and goes on by himself. So telling costs the same for one and for thousands, and what
all have passed is freed without anybody looking for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ivm.subscriptions.piece import Piece

Mark = int | str
"""What was told: a commit, by its time, or a view made anew, by a text that nothing else has."""

Wake = Callable[[], None]

MANY = 100
"""So many rows of one commit count as one commit more, where it is counted how much waits."""


class Link:
    """One place in the chain: `piece` is what was told there, once `next` is the place behind it.

    `behind` is what was told last before it, and `number` how much has been told by then, in commits.
    """

    __slots__ = ("behind", "next", "number", "piece")

    def __init__(self, behind: Mark, number: int) -> None:
        self.behind = behind
        self.number = number
        self.piece: Piece | None = None
        self.next: Link | None = None

    def pieces(self) -> Iterator[Piece]:
        """What was told from here on, by now."""
        link = self
        while link.next is not None and link.piece is not None:
            yield link.piece
            link = link.next


class Feed:
    """The chain, by its open end, and who waits for more. One thread at a time adds to it; any number read it."""

    def __init__(self) -> None:
        self.end = Link(-1, 0)
        self.wakes: set[Wake] = set()

    def push(self, piece: Piece, mark: Mark) -> None:
        """Add changes, unless they were added last; `wake` is to follow. It may be interrupted, and called again."""
        if self.end.next is not None:  # it was interrupted before the end moved
            self.end = self.end.next
        end = self.end
        if end.behind != mark:
            end.piece = piece
            end.next = Link(mark, end.number + 1 + piece.most // MANY)
            self.end = end.next

    def wake(self) -> None:
        """Have those who wait look again."""
        for wake in tuple(self.wakes):
            wake()


class Reached:
    """The time up to which all has been told, and who waits for it to pass."""

    def __init__(self) -> None:
        self.time = 0
        self.wakes: set[Wake] = set()

    def reach(self, time: int) -> None:
        """All was told up to this time. It may be interrupted, and called again."""
        self.time = time
        if self.wakes:
            for wake in tuple(self.wakes):
                wake()
