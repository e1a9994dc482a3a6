"""What the contract's test knows of a kind of state, and the kinds there are.

To put a state to the test, subclass `Kind` in a file of this folder and add an instance to `KINDS`. A change is plain
data that can be pickled; what is expected is computed from all changes so far by the plainest code there is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any, Protocol

from ivm.trace.columns.segment import Segment
from ivm.trace.state import State
from ivm.trace.text.dictionary import TextDictionary

Row = tuple[Any, ...]
Update = tuple[Row, int]
"""A row, and how many more of it there are."""
History = Sequence[tuple[int, Any]]
"""Changes that count, each with its time, in order."""


class Stored(State, Protocol):
    """State that can be written elsewhere and read from there."""

    def segments(self) -> Iterator[Segment]:
        """What is sealed."""
        ...

    def restore(self, segments: Iterable[Segment]) -> None:
        """Become what the segments say, from nothing."""
        ...


class Kind(ABC):
    """A kind of state under test. `name` tells it from others; `state` of its methods is what `new` made."""

    name: str
    keeps_history: bool = True
    """Whether readers may ask for times before the present."""

    @abstractmethod
    def new(self, dictionary: TextDictionary) -> Any:
        """An empty state, or what holds it and says where it is by `states`."""

    def blank(self, dictionary: TextDictionary) -> Any:
        """One that is to be restored: nothing has been done to it, not even what makes an empty one."""
        return self.new(dictionary)

    def states(self, state: Any) -> Sequence[Stored]:
        """The states that are marked, rolled back, sealed, written and restored, in this order."""
        return [state]

    @abstractmethod
    def change(self, random: Random, time: int, history: History) -> Any:
        """Something that may be done now, after all that is in `history`."""

    @abstractmethod
    def step(self, state: Any, change: Any, time: int) -> None:
        """Do it."""

    @abstractmethod
    def expected(self, history: History) -> Any:
        """What `contents` says after all that is in `history`, computed plainly."""

    @abstractmethod
    def contents(self, state: Any) -> Any:
        """What the state holds now, steps that are not sealed included if it can say so, as it is when all is sealed."""

    @abstractmethod
    def reader(self, state: Any, as_of: int) -> Callable[[], Any]:
        """What reads the sealed state as of a time, as often and as late as one likes: it gives what is `expected`."""


def multiset(history: History) -> dict[Row, int]:
    """The rows that are there after changes which are lists of updates, and how many of each."""
    rows: Counter[Row] = Counter()
    for _, updates in history:
        for row, diff in updates:
            rows[row] += diff
    return {row: count for row, count in rows.items() if count}


TEXTS = ("", "ant", "bee", "a text that is longer than the others are", "ä", None)


def some_updates(random: Random, history: History, most: int = 12, spread: int = 20) -> list[Update]:
    """Updates of rows (int, text or NULL, double or NULL) that leave no row there less than never."""
    there = Counter(multiset(history))
    updates: list[Update] = []
    for _ in range(random.randint(0, most)):
        if there and random.random() < 0.45:
            row = random.choice(list(there))
            diff = -random.randint(1, there[row])
        else:
            row = (random.randrange(spread), random.choice(TEXTS), random.choice((None, 0.5, -2.0)))
            diff = random.choice((1, 1, 2))
        there[row] += diff
        there = +there
        updates.append((row, diff))
    return updates


def kinds() -> dict[str, Kind]:
    """All of them, by name."""
    from tests.contract.answers import AnswersKind  # a file for each, which imports this one
    from tests.contract.groups import GroupsKind
    from tests.contract.log import LogKind
    from tests.contract.ordered import OrderedKind, WindowKind
    from tests.contract.rounds import ExtremesKind, LargestKind, OneRoundsKind, RoundsKind, SignedKind
    from tests.contract.rows import DerivedKind, IndexKind, KeyedTableKind, OrderedArrangementKind, TableKind

    found: list[Kind] = [
        *(GroupsKind(), LogKind(), OrderedKind(), WindowKind(), RoundsKind(), OneRoundsKind(), SignedKind()),
        *(ExtremesKind(), LargestKind(), AnswersKind()),
        *(TableKind(), KeyedTableKind(), DerivedKind(), IndexKind(), OrderedArrangementKind()),
    ]
    return {kind.name: kind for kind in found}
