"""What every piece of state promises, the one list of what a commit has touched, and what others hold on to.

State is whatever remembers anything across commits. All of it keeps this one contract, so that a commit is undone, made
final, measured, saved and read in one place, whatever its operators keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import sleep
from typing import Any, Protocol, TypeVar
from weakref import ref

import numpy as np

from ivm.kernels.groups.seal import seal_offered
from ivm.kernels.memory.pages import join_page
from ivm.trace.columns.column import Array
from ivm.trace.columns.segment import Segment
from ivm.trace.lessons import Lessons

Each = TypeVar("Each")
Read = TypeVar("Read")
_SHORTLY = 5e-5


@dataclass(frozen=True, slots=True)
class StateSize:
    """What an operator or arrangement holds: `rows` stored rows, index entries, all bytes.

    Entries are references to rows. Rows that came in the order of an index's keys are found by it, without any.
    """

    rows: int = 0
    entries: int = 0
    bytes: int = 0


class State(Protocol):
    """A piece of state: marked before it is changed, then changed any number of times, then rolled back or sealed.

    What undoes a change is written before the change is made. So an exception may come at any line of any step, and
    `rollback` is right nevertheless. All of `rollback` and `seal` may be interrupted, and called again from the start.

    Nobody else changes it: who reads writes nothing, whether within a commit or outside. What a search has met is a
    lesson of the commit that searches, taught when that is sealed (see `ivm.trace.lessons`). What follows rows and lags
    catches up in a commit, which has marked the rows, or as it is filled; a reader takes only what is whole. What
    readers find out about what is sealed may be kept beside it, as a memo, such as where columns lie or the distinct
    rows of a view: it is true whatever else happens, is put there whole by one store, and may be lost at any time.
    """

    def mark(self) -> Any:
        """Where the state is now, for `rollback`. Changes nothing. Cost: constant."""
        ...

    def rollback(self, mark: Any) -> None:
        """Undo everything since `mark`, the last one or one before it, of which nothing has been sealed.

        Allocates nothing, and cannot fail. Cost: that of the steps that are undone.
        """
        ...

    def seal(self, upper: int, since: int) -> None:
        """Make all steps final: they are of times before `upper`. Nobody reads as of a time before `since` any more.

        All maintenance is done here, in proportion to what was stepped; what searches ask for comes after it, in
        proportion to what they have met.
        """
        ...

    is_still: bool = False
    """Whether somebody may read by number from one commit to the next, so that nothing gets another number now."""

    edition: int = 0
    """Grows with each seal that makes steps final: while it is the same, so is what the state holds."""

    def segments(self) -> Iterator[Segment]:
        """What is sealed, for `restore` of another one. To be called between two commits; returns at once.

        What is given is as of the call, bit by bit, whenever and by whichever thread it is asked for, without any lock
        and while commits go on. Who has the iterator lets go of it soon: until it is through, what changes may be kept.
        """
        ...

    def restore(self, segments: Iterable[Segment]) -> None:
        """Become what the segments of another one say; there must be nothing yet. Error if they are of another kind."""
        ...

    def codes(self) -> Iterator[Array]:
        """The codes of all texts and lists that the state keeps and may come to show or compare, bit by bit.

        Asked between two commits; what is told need not be distinct, nor told only once, and any array of integers will
        do. Other commits may come between two bits: they are told, or were told, by those from which they come (see
        `ivm.trace.text.sweep`). So what is told must be what was there at one moment between the first bit and the
        last, in parts if need be; only nothing may move from where it is still to be told to where it was told. Keys
        that only a hash table has, beside the row that they are of, need not be told, nor rows that died before
        `since`.
        """
        ...

    def size(self) -> StateSize:
        """Rows, entries and bytes, exact."""
        ...

    @property
    def visited(self) -> int:
        """Nodes of what is in order that were visited so far."""
        return 0


class Marks(dict[State, Any]):
    """The states that were touched since the last seal, each with its mark, in the order in which they were touched.

    `lessons`: what the searches of the same work have met, for what they have searched to learn when it is sealed.
    `offers`: where words of groups stand that kernels have stepped, which they seal together, before `seal` is called.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lessons = Lessons()
        self.offers: list[int] = []

    def add(self, states: Iterable[State]) -> None:
        """Mark those that are not marked yet; to be called before they are changed."""
        for state in states:
            if state not in self:
                self[state] = state.mark()

    def let_go(self, left: int) -> None:
        """Take back that all but the first `left` are marked, of which nothing has been changed."""
        while len(self) > left:
            self.popitem()

    def rollback(self, left: int = 0) -> None:
        """Undo what was done to all but the first `left` states, last one first; if none is left, nobody learns."""
        self.offers.clear()
        if not left:
            self.lessons.clear()
        while len(self) > left:
            state = next(reversed(self))
            state.rollback(self[state])
            del self[state]  # from here on: before, it would have to be done again

    def seal(self, upper: int, since: int, *, still: bool = False) -> None:
        """Make what was done to all states final, last one first: none goes before those that are made of it.

        `still`: see `State.is_still`.
        """
        if self.offers:
            seal_offered(np.array(self.offers, np.int64))
            self.offers.clear()
        for state in reversed(self):
            state.is_still = still
            state.seal(upper, since)
        if self.lessons:
            self.lessons.teach()
        self.clear()
        join_page()


class WeakList(list["ref[Each]"]):
    """Weak references in the order in which they came; one leaves when nobody else holds what it refers to.

    Not `WeakSet`: every commit asks whether there are any, and a list that is empty says so in no time.
    """

    def hold(self, each: Each) -> None:
        """One more."""
        self.append(ref(each, self._forget))

    def let_go(self, each: Each) -> None:
        """One less; nothing happens if it is not there."""
        self._forget(ref(each))

    def _forget(self, reference: ref[Each]) -> None:
        with suppress(ValueError):  # it may have been let go of while somebody else looked at it
            self.remove(reference)

    def each(self) -> list[Each]:
        """Those that are still held; others may come and go meanwhile."""
        return [found for reference in tuple(self) if (found := reference()) is not None] if self else []


class Apart:
    """Keeps a reader without a lock and those who change what it reads apart: it reads a little at a time.

    Whoever changes something says so where `is_changing` sees it, then waits; both are seen by all threads in the order
    in which they happen, since each is one store.
    """

    def __init__(self, is_changing: Callable[[], bool]) -> None:
        self._is_changing = is_changing
        self._is_reading = False

    def read(self, some: Callable[[], Read]) -> Read:
        """What `some` gives when nobody changes anything."""
        while True:
            self._is_reading = True
            try:
                if not self._is_changing():
                    return some()
            finally:
                self._is_reading = False
            sleep(_SHORTLY)

    def wait(self) -> None:
        """Until what is being read is read."""
        while self._is_reading:
            sleep(_SHORTLY)
