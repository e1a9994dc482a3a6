"""All histories of a state up to a bound, each commit sealed or rolled back, compared with a model after each.

They are a tree: `Image` brings the state back to where it forks. A state that was met before, with at least as much
left, is not gone on from again, which cuts nothing: of two states that are equal word for word the same follows, and
what may follow within narrower bounds is the beginning of what may within wider ones. So a commit whose undoing leaves
no trace costs no more than itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from ivm.trace.lessons import Lessons
from tests.contract.kinds import Stored
from tests.histories.image import Image

Model = Any
"""What there should be, hashable."""
Commit = Any
"""What a commit does, plain data: how many times it has, one, or as many as changes, or `APART`; the changes."""
TIMES = 2
"""How many logical times a commit may have."""
APART = 0
"""In place of how many times a commit has: each change is a step, at a time of its own."""


class Scope(ABC):
    """A kind of state in a small scope: what may be done to it, and what is there then."""

    name: str
    history: int = 0
    """How many commits before the last one it may still be read as of."""
    learns = False
    """Whether it learns from what commits look up."""

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
    def commits(self, model: Model, keys: Sequence[int]) -> Iterable[Commit]:
        """All that may be done where there is this; where keys are named, to one of them, in one of a few ways."""

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

    `quiet`: nobody looks at what there is before a commit is sealed or rolled back, and who does leaves not even a memo;
    otherwise indexes learn from what commits that are sealed have looked up. Where `keys` are named, each commit changes a single one of them. In all of one so many readers come at most, each of whom goes again after any commit, or stays. So often a state is
    written as segments, and another one, restored from them, takes its place, at any moment while nobody reads.
    """

    commits: int
    undone: int = 0
    readers: int = 0
    moves: int = 0
    quiet: bool = False
    keys: tuple[int, ...] = ()

    def include(self, others: Bounds) -> bool:
        """Whether histories within the others are within these."""
        ours, theirs = ((each.commits, each.undone, each.readers, each.moves) for each in (self, others))
        is_alike = self.quiet == others.quiet and self.keys == others.keys
        return is_alike and all(most >= other for most, other in zip(ours, theirs, strict=True))


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
        self._met: dict[Hashable, list[Bounds]] = {}
        self._known: dict[Hashable, int] = {}
        self._path: list[Any] = []

    def go(self, bounds: Bounds, roots: slice = slice(None)) -> None:
        """Walk them, from each of these roots."""
        for root in self.scope.roots()[roots]:
            here = _Here(self.scope.new(), self.scope.empty(), 0, bounds)
            for commit in root:
                self._path.append(commit)
                here = self._seal(here, commit)._replace(left=bounds)
            self._look(here)
            self._met.clear()
            self._go_on(here)
            self.histories += self._count(here.model, bounds, False)
            self._path.clear()

    def replay(self, commits: Sequence[Commit]) -> None:
        """These commits, one after the other."""
        here = _Here(self.scope.new(), self.scope.empty(), 0, Bounds(len(commits)))
        for commit in commits:
            here = self._seal(here, commit)
            self._look(here)

    def _go_on(self, here: _Here) -> None:
        """All that may follow."""
        if not here.left.commits:
            return
        image, seen = Image((here.state, here.reading)), here.reading and here.reading.seen
        met = self._met.setdefault((image.print(), here.model, seen), [])
        if any(known.include(here.left) for known in met):
            return
        met.append(here.left)
        self.forks += 1
        for name, act in self._branches(here, image):
            self._branch(image, name, act)

    def _branches(self, here: _Here, image: Image) -> Iterator[tuple[Any, Callable[[], _Here]]]:
        """Each thing that may be done here, with its name."""
        left = here.left
        for commit in self.scope.commits(here.model, left.keys):
            yield commit, partial(self._seal, here, commit)
            if left.undone:
                yield f"{commit}, undone", partial(self._undo, here, commit)
        if here.reading is not None:
            yield "the reader goes", partial(self._close, here, image)
        elif left.readers:
            yield "a reader comes", partial(self._open, here, image)
        if left.moves and here.reading is None:
            yield "moved", partial(self._move, here)

    def _branch(self, image: Image, name: Any, act: Callable[[], _Here]) -> None:
        """Do something, look, and go on from there; an error tells the history."""
        self._path.append(name)
        try:
            here = act()
            self._look(here)
        except Exception as error:
            history = "".join(f"\n  {each}" for each in self._path)
            raise AssertionError(f"{type(error).__name__}: {error}\nafter{history}") from error
        self._go_on(here)
        self._path.pop()
        image.put_back()

    def _look(self, here: _Here) -> None:
        """See whether there is what should be, for those who come now, and for who has come."""
        before = Image((here.state, here.reading)) if here.left.quiet and here.left.commits else None
        self.scope.check(here.state, here.model, here.time)
        if here.reading is not None:
            found = here.reading.read()
            assert found == here.reading.seen, f"a reader finds {found} where there was {here.reading.seen}"
        if before is not None:
            before.put_back()

    def _count(self, model: Model, left: Bounds, is_read: bool) -> int:
        """How many histories there are from here; what may be done depends on this alone."""
        if not left.commits:
            return 1
        known = self._known.get((model, left, is_read))
        if known is None:
            known, fewer = 0, left._replace(commits=left.commits - 1)
            for commit in self.scope.commits(model, left.keys):
                known += self._count(self.scope.after(model, commit), fewer, is_read)
                if left.undone:
                    known += self._count(model, fewer._replace(undone=left.undone - 1), is_read)
            if is_read:
                known += self._count(model, left, False)
            elif left.readers:
                known += self._count(model, left._replace(readers=left.readers - 1), True)
            if left.moves and not is_read:
                known += self._count(model, left._replace(moves=left.moves - 1), False)
            self._known[model, left, is_read] = known
        return known

    def _seal(self, here: _Here, commit: Commit) -> _Here:
        """A commit that counts."""
        left, time, model = here.left, here.time + TIMES, self.scope.after(here.model, commit)
        lessons = Lessons()
        with lessons:
            self._step(here.state, commit, time)
            if self.scope.learns and not left.quiet:
                self.scope.check(here.state, model, time)
        for each in self.scope.states(here.state):
            each.seal(time + 1, time - TIMES * self.scope.history)
        lessons.teach()
        return here._replace(model=model, time=time, left=left._replace(commits=left.commits - 1))

    def _undo(self, here: _Here, commit: Commit) -> _Here:
        """A commit that is rolled back."""
        states, left = self.scope.states(here.state), here.left
        marks = [each.mark() for each in states]
        with Lessons():  # which nobody teaches
            self._step(here.state, commit, here.time + TIMES)
            if not left.quiet:
                self.scope.check(here.state, self.scope.after(here.model, commit), here.time + TIMES)
        for each, mark in zip(reversed(states), reversed(marks), strict=True):
            each.rollback(mark)
        return here._replace(left=left._replace(commits=left.commits - 1, undone=left.undone - 1))

    def _step(self, state: Any, commit: Commit, time: int) -> None:
        """All steps of a commit."""
        self.commits += 1
        times, changes = commit
        if times != APART:
            self.scope.step(state, commit, time)
            return
        for before, change in zip(reversed(range(len(changes))), changes, strict=True):
            self.scope.step(state, (1, (change,)), time - before)

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
