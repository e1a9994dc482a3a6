"""The time of a loop, which goes on with its rounds and not with commits, and the state within that goes by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from ivm.dataflow.scope import Scope
from ivm.trace.columns.column import Array
from ivm.trace.columns.segment import Segment, Segments, segment_of
from ivm.trace.state import State, StateSize


class Clock(State):
    """The ticks of a loop, and from where it counts rounds by value."""

    def __init__(self, scope: Scope) -> None:
        self.tick = 0
        self._scope = scope

    def mark(self) -> tuple[int, list[tuple[int, int] | None]]:
        """See `State.mark`."""
        return self.tick, [each.counted for each in self._scope.valued.values()]

    def rollback(self, mark: tuple[int, list[tuple[int, int] | None]]) -> None:
        """See `State.rollback`: nothing is due any more, nor held back."""
        for group, _ in self._scope.groups:
            group.forget()
        for program in self._scope.holding:
            program.forget()
        for arranged in self._scope.later:
            arranged.forget()
        self.tick, counted = mark
        for by_value, before in zip(self._scope.valued.values(), counted, strict=True):
            by_value.counted = before

    def seal(self, upper: int, since: int) -> None:
        """See `State.seal`."""
        self.edition += 1

    def segments(self) -> Iterator[Segment]:
        """See `State.segments`."""
        counted = [each.counted for each in self._scope.valued.values()]
        return iter([segment_of("loop", {}, {"tick": self.tick, "counted": counted})])

    def restore(self, segments: Iterator[Segment]) -> None:  # type: ignore[override]
        """See `State.restore`."""
        found = Segments(segments).take("loop")
        self.tick = found.number("tick")
        counted = cast("list[list[int] | None]", found.scalars["counted"])
        for each, pair in zip(self._scope.valued.values(), counted, strict=True):
            each.counted = None if pair is None else (pair[0], pair[1])

    def codes(self) -> Iterator[Array]:
        """See `State.codes`: none."""
        return iter(())

    def size(self) -> StateSize:
        """See `State.size`."""
        return StateSize()


class Ticking(State):
    """A state within a loop: it goes by the loop's ticks, whatever time it is outside. Nobody reads its past."""

    def __init__(self, state: State, clock: Clock) -> None:
        self._state, self._clock = state, clock

    def mark(self) -> object:
        """See `State.mark`."""
        return self._state.mark()

    def rollback(self, mark: object) -> None:
        """See `State.rollback`."""
        self._state.rollback(mark)

    def seal(self, upper: int, since: int) -> None:
        """See `State.seal`."""
        self._state.is_still = False
        self._state.seal(self._clock.tick + 1, self._clock.tick)
        self.edition += 1

    def segments(self) -> Iterator[Segment]:
        """See `State.segments`."""
        return self._state.segments()

    def restore(self, segments: Iterator[Segment]) -> None:  # type: ignore[override]
        """See `State.restore`."""
        self._state.restore(segments)

    def codes(self) -> Iterator[Array]:
        """See `State.codes`."""
        return self._state.codes()

    def size(self) -> StateSize:
        """See `State.size`."""
        return self._state.size()
