"""Groups within a loop: what comes is noted for the rounds that it is of, and in these they are looked at."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

from ivm.operators.operator import Contents, Kept
from ivm.trace.delta import Delta


class RoundNode(Kept):
    """A node of groups by round. It is stepped with what comes, and gives nothing by itself: see `evaluate`.

    One that `shows_all` knows what it has given in all: its `contents` are those at the end of the loop.
    """

    shows_all = False

    @property
    @abstractmethod
    def due(self) -> int | None:
        """The first round in which some group is to be looked at."""

    @abstractmethod
    def evaluate(self, number: int, tick: int) -> Delta | None:
        """What changes in a round of groups that are due in it, with the round last, as of a tick.

        Where these are many, of some; the round is due until all were asked for.
        """

    def begin(self) -> None:
        """Nothing has come yet: what there is of no rows is due in the first round."""

    def close(self) -> None:
        """All rounds of a time are over."""

    def forget(self) -> None:
        """Nothing is due any more."""

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """What it has given in all rounds, without the round, if it `shows_all`."""
        raise AssertionError("what is in a loop is read of its result")
