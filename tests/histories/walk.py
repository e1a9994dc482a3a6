"""All histories of a state up to a bound, each commit sealed or rolled back, compared with a model after each.

They are a tree: `Image` brings the state back to where it forks. A state that was met before, with as many commits
left, is not gone on from again, which cuts nothing: of two states that are equal word for word the same follows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from tests.contract.kinds import Stored
from tests.histories.image import Image

Model = Any
"""What there should be, hashable."""
Commit = Any
"""What a commit does, plain data."""
_TIMES = 2
"""How many logical times a commit may have."""


class Scope(ABC):
    """A kind of state in a small scope: what may be done to it, and what is there then."""

    name: str

    @abstractmethod
    def new(self) -> Any:
        """An empty state, or what holds it."""

    @abstractmethod
    def states(self, state: Any) -> Sequence[Stored]:
        """The states that are marked, rolled back, sealed, written and restored, in this order."""

    @abstractmethod
    def roots(self) -> Sequence[Sequence[Commit]]:
        """The commits that made what is there when histories begin."""

    @abstractmethod
    def empty(self) -> Model:
        """What there is at first."""

    @abstractmethod
    def commits(self, model: Model) -> Iterable[Commit]:
        """All that may be done where there is this."""

    @abstractmethod
    def after(self, model: Model, commit: Commit) -> Model:
        """What there is afterwards."""

    @abstractmethod
    def step(self, state: Any, commit: Commit, time: int) -> None:
        """Do it; what comes first may come at the time before this one, which is there for that."""

    @abstractmethod
    def check(self, state: Any, model: Model, time: int) -> None:
        """AssertionError unless the state says that there is this, in all ways in which it may be asked."""

    @abstractmethod
    def reader(self, state: Any, time: int) -> Callable[[], Model]:
        """What reads the sealed state, as often and as late as one likes; an object with all that it holds."""


class Bounds(NamedTuple):
    """How far histories go: how many commits they have, how many of which are rolled back at most.

    In all of one so many readers come at most, each of whom goes again after any commit, or stays. So often a state is
    written as segments, and another one, restored from them, takes its place, at any moment while nobody reads.
    """

    commits: int
    undone: int = 0
    readers: int = 0
    moves: int = 0


class _Reading(NamedTuple):
    """Who reads, and what was there when they came; `held` is what they hold."""

    read: Callable[[], Model]
    seen: Model
    held: tuple[Any, ...]


class _Here(NamedTuple):
    """Where a history has come to, and what may still follow."""

    state: Any
    model: Model
    time: int
    left: Bounds
    reading: _Reading | None = None


class Walk:
    """All histories of a scope: how many they are, how many `commits` were made for them, from how many `forks`."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.histories = 0
        self.commits = 0
        self.forks = 0
        self._met: dict[Hashable, int] = {}
        self._path: list[Any] = []

    def go(self, bounds: Bounds, roots: slice = slice(None)) -> None:
        """Walk them, from each of these roots."""
        for root in self.scope.roots()[roots]:
            here = _Here(self.scope.new(), self.scope.empty(), 0, bounds)
            for commit in root:
                self._path.append(commit)
                here = self._seal(here, commit)._replace(left=bounds)
            self.scope.check(here.state, here.model, here.time)
            self._met.clear()
            self.histories += self._go_on(here)
            self._path.clear()

    def _go_on(self, here: _Here) -> int:
        """All that may follow; how many histories those are."""
        if not here.left.commits:
            return 1
        image, seen = Image((here.state, here.reading)), here.reading and here.reading.seen
        met = image.print(), here.model, seen, here.left
        known = self._met.get(met)
        if known is None:
            self.forks += 1
            known = self._met[met] = sum(self._branches(here, image))
        return known

    def _branches(self, here: _Here, image: Image) -> Iterator[int]:
        """How many histories follow each thing that may be done here."""
        left = here.left
        for commit in self.scope.commits(here.model):
            yield self._branch(image, commit, partial(self._seal, here, commit))
            if left.undone:
                yield self._branch(image, f"{commit}, undone", partial(self._undo, here, commit))
        if here.reading is not None:
            yield self._branch(image, "the reader goes", partial(self._close, here, image))
        elif left.readers:
            yield self._branch(image, "a reader comes", partial(self._open, here, image))
        if left.moves and here.reading is None:
            yield self._branch(image, "moved", partial(self._move, here))

    def _branch(self, image: Image, name: Any, act: Callable[[], _Here]) -> int:
        """Do something, look, and go on from there; an error tells the history."""
        self._path.append(name)
        try:
            here = act()
            self.scope.check(here.state, here.model, here.time)
            if here.reading is not None:
                found = here.reading.read()
                assert found == here.reading.seen, f"a reader finds {found} where there was {here.reading.seen}"
        except Exception as error:
            history = "".join(f"\n  {each}" for each in self._path)
            raise AssertionError(f"{type(error).__name__}: {error}\nafter{history}") from error
        count = self._go_on(here)
        self._path.pop()
        image.put_back()
        return count

    def _seal(self, here: _Here, commit: Commit) -> _Here:
        """A commit that counts."""
        self.commits += 1
        left, time, model = here.left, here.time + _TIMES, self.scope.after(here.model, commit)
        self.scope.step(here.state, commit, time)
        for each in self.scope.states(here.state):
            each.seal(time + 1, time)
        return here._replace(model=model, time=time, left=left._replace(commits=left.commits - 1))

    def _undo(self, here: _Here, commit: Commit) -> _Here:
        """A commit that is rolled back."""
        self.commits += 1
        states, left = self.scope.states(here.state), here.left
        marks = [each.mark() for each in states]
        self.scope.step(here.state, commit, here.time + _TIMES)
        self.scope.check(here.state, self.scope.after(here.model, commit), here.time + _TIMES)
        for each, mark in zip(reversed(states), reversed(marks), strict=True):
            each.rollback(mark)
        return here._replace(left=left._replace(commits=left.commits - 1, undone=left.undone - 1))

    def _open(self, here: _Here, image: Image) -> _Here:
        """A reader of what there is now comes."""
        before = [len(held) for held in image.held]
        read = self.scope.reader(here.state, here.time)
        held = [each() for known, had in zip(image.held, before, strict=True) for each in known[had:]]
        left = here.left._replace(readers=here.left.readers - 1)
        return here._replace(left=left, reading=_Reading(read, here.model, tuple(held)))

    def _close(self, here: _Here, image: Image) -> _Here:
        """The reader goes."""
        assert here.reading is not None
        for held in image.held:
            for each in here.reading.held:
                held.let_go(each)
        return here._replace(reading=None)

    def _move(self, here: _Here) -> _Here:
        """Another state takes its place."""
        new = self.scope.new()
        for old, other in zip(self.scope.states(here.state), self.scope.states(new), strict=True):
            other.restore(list(old.segments()))
        return here._replace(state=new, left=here.left._replace(moves=here.left.moves - 1))
