"""What changes pass one after the other on their way: pieces of programs, half-joins. A walk does many in one call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ivm.catalog.types import Physical
from ivm.trace.columns.column import Ints
from ivm.trace.columns.computed import Computed
from ivm.trace.delta import Delta, Layout, Source
from ivm.trace.index.follower import Lookup
from ivm.trace.route import Route, Words
from ivm.trace.state import Marks, State

Reads = Sequence[tuple[int, Sequence[int]]]
"""Groups of a delta, and columns of the source of each."""
At = Sequence[tuple[int, int]]
"""Where columns are: a group of a delta, and the column of its source."""


def read_at(layout: Layout, columns: Iterable[int]) -> tuple[At, Reads] | None:
    """Where these columns are, and all that is read so; None if one is what a function makes of a text: for Python."""
    at, reads = list[tuple[int, int]](), dict[int, dict[int, None]]()
    for column in columns:
        place = layout.places[column]
        assert place is not None, f"column {column} is not bound"
        group, inner = place
        if isinstance(inner, tuple):
            return None
        at.append((group, inner))
        reads.setdefault(group, {})[inner] = None
    return at, [(group, tuple(inners)) for group, inners in reads.items()]


class Stage(ABC):
    """One of them, or several, without state. One that `is_light` takes Python no longer than to begin a walk."""

    is_light = False
    varies = False
    """Whether `variant` is to be asked."""

    @property
    def holds(self) -> bool:
        """Whether changes go no further in Python, since they have to come to somebody else first."""
        return False

    @property
    def stages(self) -> Sequence[Stage]:
        """Those that it has, if it has several."""
        return (self,)

    @property
    def meetings(self) -> Sequence[Meeting]:
        """The look-ups in it."""
        return ()

    def over(self, lookups: Iterator[Lookup]) -> Stage:
        """The same stage, where each of its `meetings` sees every row that is found in the next of these."""
        return self

    @abstractmethod
    def passed(self, delta: Delta) -> Iterator[Delta]:
        """What becomes of a delta that has rows, in parts; some without rows. Raises NumericError."""

    def all(self, delta: Delta) -> list[Delta]:
        """The same as a whole: parts that have rows."""
        return [part for part in self.passed(delta) if part.length]

    def variant(self, delta: Delta) -> int:
        """Where this differs for two deltas, other legs do the stage, though columns are placed alike. See `varies`."""
        return 0

    def leg(self, delta: Delta) -> Leg | None:
        """A leg for deltas whose columns lie as those of this one do; None if only `passed` can do the stage so far."""
        return None


@dataclass(frozen=True, eq=False)
class Meeting(Stage):
    """A stage that binds rows of `lookup` to changes, from column `offset` on, by their columns `stream`.

    `inclusive`: changes at the time of a row itself are seen. `read`: those of the columns bound that are read later,
    `computed` those of whose text only functions are read, with them.
    """

    lookup: Lookup
    stream: tuple[int, ...]
    offset: int
    width: int
    inclusive: bool
    read: tuple[int, ...]
    computed: Computed
    cancels: ClassVar[bool] = False
    """Whether changes that cancel in all that is read of them are passed over by the stage itself."""

    @property
    def meetings(self) -> Sequence[Meeting]:
        """See `Stage.meetings`."""
        return (self,)

    @property
    def wanted(self) -> tuple[int, ...]:
        """The columns bound of which anything is read later."""
        return tuple(sorted({*self.read, *(column for column, _ in self.computed)}))

    @property
    def visited(self) -> int:
        """Rows visited so far where a bound has moved."""
        return 0


class Leg(Words):
    """A stage as a route does it, for deltas of one layout; `layout` is that of what comes of them.

    `reads` are the columns that are read where they lie, `asks` groups whose sources it has to ask for more, `goes_on`
    the groups that go on, `made` the types of the columns that it makes, as one more group.

    It `is_first` if it needs the delta before the walk begins, as it is of which it is made, or since it `makes`
    something of it, such as `extra` groups. It `is_last` if
    somebody has to `finish` what it makes. It `splits` if rows may go through it in stretches, and `tells` if it has
    something to `begin` with.

    It `is_end` if it is for the changes as a whole, and changes `states`, which are added to the `marks` before: it
    notes when it has `ended`, and says what has `come` of the changes. Where they do not all come to it at once, it has
    to `leave` them. Behind an end there are only ends, of which some `follow`: they have no state, and what they are
    for has come of the one before. One that `passes` lets the changes go on as they are, through any other leg.
    """

    layout: Layout
    reads: Reads
    asks: Sequence[int] = ()
    goes_on: Sequence[int]
    extra = 0
    is_first = False
    makes = False
    is_last = False
    is_end = False
    follows = False
    passes = False
    states: Sequence[State] = ()
    marks: Marks | None = None
    splits = True
    tells = True
    made: Sequence[Physical] = ()

    def extended(self, delta: Delta) -> Delta:
        """The delta with the `extra` groups."""
        return delta

    def source(self) -> Source | None:
        """The store whose rows the leg finds, as one more group."""
        return None

    def begin(
        self, route: Route, number: int, delta: Delta, columns: Sequence[int], sources: Sequence[Source]
    ) -> object:
        """Tell a route, whose leg `number` this is, what is new; what this gives is kept until the walk is over.

        `delta` is what comes in where the leg is the first. `columns` are those that are read of the `source`, and
        `sources` those of the groups that it `asks`.
        """
        raise AssertionError("nobody else has anything to tell")

    def want(self, columns: Sequence[int]) -> None:
        """These columns of the `source` will be read."""

    def ready(self) -> None:
        """See to it that it need not ask."""

    def asked(self, route: Route, number: int, delta: Delta, columns: Sequence[int]) -> object:
        """Write down anew where the leg's state lies, at which a walk has stopped to ask for that; see `begin`."""
        raise AssertionError("nobody else asks")

    def end(self, route: Route, number: int) -> None:
        """Report what a walk has met, where the leg has a `source`."""

    def stopped_at(self, route: Route, number: int, delta: Delta) -> Delta:
        """What is left to do of a delta with which the leg has stopped."""
        return delta

    def is_otherwise(self, said: int) -> bool:
        """Whether the leg has stopped since columns lie otherwise than it was made for."""
        return False

    def leave(self, route: Route, number: int) -> None:
        """Do nothing with what comes on this walk."""

    def ended(self, route: Route, number: int, times: Ints | int) -> bool:
        """Whether a walk of changes at such times has passed this leg, which `is_end`."""
        raise AssertionError("no other leg is an end")

    def come(self, route: Route, number: int, times: Ints | int) -> list[Delta]:
        """What has come of a walk that has `ended` here, and for whom there is no leg: one delta, or none."""
        raise AssertionError("no other leg is an end")

    def led_on(self, route: Route, number: int, delta: Delta) -> Delta:
        """What a walk that has `ended` here has made of what has come of the end before, where the leg `follows`."""
        raise AssertionError("no other leg follows an end")

    def finish(self, route: Route, number: int, before: Delta, made: Delta) -> Delta:
        """What comes of a delta, of which the walk has `made` this, where it `is_last`."""
        return made
