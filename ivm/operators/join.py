"""The delta join: each input's changes travel their own path of half-joins. State: none beyond the arrangements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

from ivm.catalog.errors import NumericError
from ivm.catalog.types import SqlType
from ivm.operators.half_join import FIRST_PART, next_size
from ivm.operators.mfp import Program, over_net
from ivm.operators.operator import NOTHING, Contents, Leading
from ivm.operators.projection import Laid
from ivm.operators.stage import Meeting, Stage
from ivm.operators.walk import Onward, Walk
from ivm.trace.columns.column import Column
from ivm.trace.columns.computed import TextFunction
from ivm.trace.concatenation import concat_deltas
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta, Layout
from ivm.trace.index.follower import Lookup


@dataclass(frozen=True, slots=True)
class Path:
    """The way of one input's changes through the join.

    They are placed from `offset` on in the joined row of `total` columns, and pass the `stages`. `needed` are those of
    their columns that the path reads, with their types; `computed` those of whose text it reads only functions.
    """

    source: int
    offset: int
    total: int
    needed: tuple[tuple[int, SqlType], ...]
    stages: tuple[Stage, ...]
    computed: Mapping[int, Sequence[TextFunction]] = field(default_factory=dict)
    _walk: Walk = field(init=False, repr=False, compare=False)
    _cancels: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_walk", Walk(self.stages))
        object.__setattr__(self, "_cancels", any(meeting.cancels for meeting in self.meetings[:1]))

    @property
    def laid(self) -> Sequence[Stage]:
        """The stages, behind the one by which columns get to their places in the joined row."""
        return (Laid(partial(Layout.within, offset=self.offset, total=self.total)), *self.stages)

    @property
    def meetings(self) -> list[Meeting]:
        """The stages that look rows up."""
        return [meeting for stage in self.stages for meeting in stage.meetings]

    def parts(self, delta: Delta) -> Iterator[Delta]:
        """The changes of the join that follow from `delta`, bit by bit; some without rows."""
        changed = self._really_changed(delta)
        if changed is not None:
            yield from self._walk.parts(changed.within(self.offset, self.total))

    def all(self, delta: Delta, onward: Onward | None) -> list[Delta]:
        """The same, as a whole: parts that have rows. They go `onward` if they can; see `Walk.all`."""
        changed = delta if delta.diffs is None else self._really_changed(delta)
        return (
            [] if changed is None else self._walk.all(changed, onward, changed.layout.within(self.offset, self.total))
        )

    def walk(self, delta: Delta, onward: Onward | None) -> tuple[Walk, Delta] | None:
        """The walk that `all` makes, and what goes along, if that is all of the delta."""
        if self._may_cancel(delta):
            return None
        walk = self._walk if onward is None else self._walk.led(onward)
        return walk, delta.within(self.offset, self.total)

    def _may_cancel(self, delta: Delta) -> bool:
        """Whether some updates may cancel in the columns that the path reads, and it is for us to find out."""
        return delta.is_mixed and bool(self.needed) and not self._cancels

    def _really_changed(self, delta: Delta) -> Delta | None:
        """Without updates that cancel in the columns that the path reads: most columns of a row, when one changes."""
        if not self._may_cancel(delta):
            return delta
        types: list[SqlType] = []
        compared: list[Column] = []
        for column, type_ in self.needed:
            functions = self.computed.get(column)
            if functions is not None and delta.computes(column, functions):
                types += [function.type for function in functions]
                compared += [delta.column((column, function)) for function in functions]
            else:
                types.append(type_)
                compared.append(delta.column(column))
        return consolidate(delta, types, compared)

    def as_of(self, time: int) -> Path:
        """The same path, seeing every row that any arrangement has as of `time`: it alone yields the whole join."""
        return self.over(meeting.lookup.reader(time) for meeting in self.meetings)

    def over(self, lookups: Iterator[Lookup]) -> Path:
        """The same path, whose `meetings` see every row that is found in these."""
        return replace(self, stages=tuple(stage.over(lookups) for stage in self.stages))


@dataclass(frozen=True, slots=True)
class Careful:
    """The same join without anything that can raise, then `program`, which does; `types` are those in between."""

    join: DeltaJoin
    program: Program
    types: tuple[SqlType, ...]

    def net(self, deltas: Sequence[Delta]) -> Delta | None:
        """The program over what is left of the sum of `deltas`."""
        return over_net(self.program, deltas, self.types)

    def rest(self, whole: Path, parts: Iterator[Delta]) -> Iterator[Delta]:
        """What the join makes of `parts` of its `whole` path's input."""
        found: list[Delta] = []
        for joined in _joined(self.join.whole.over(meeting.lookup for meeting in whole.meetings), parts):
            if len(joined):
                found.append(joined)
            yield NOTHING
        net = self.net(found)
        yield NOTHING if net is None else net


class DeltaJoin(Leading):
    """A path for each input; the sum of what the paths yield is the change of the join.

    A path may meet rows that another one takes back. Where one of them raises NumericError, `careful` gives the join
    that has the last word, over what is left of the change as a whole; None if nothing can raise. `whole` is the
    path by which the join's contents are found, number `whole`.
    """

    def __init__(self, paths: Sequence[Path], careful: Callable[[], Careful] | None = None, whole: int = -1) -> None:
        self.paths = tuple(paths)
        self._careful = careful
        self.whole = self._fruitful = self.paths[whole]

    @property
    def visited(self) -> int:
        """Rows visited so far where a bound has moved."""
        return sum(stage.visited for path in self.paths for stage in path.meetings)

    def step(self, inputs: Sequence[Delta | None], onward: Onward | None = None) -> Delta | None:
        """Run the path of each input that changed. Cost follows the changes and their matches."""
        try:
            found = self._changes(inputs, onward)
            return found[0] if len(found) == 1 else concat_deltas(found)
        except NumericError:
            if self._careful is None or (onward is not None and onward.has_come):
                raise
        careful = self._careful()
        return careful.net(careful.join._changes(inputs))

    def walks(self, inputs: Sequence[Delta | None], onward: Onward | None) -> Sequence[tuple[Walk, Delta]] | None:
        """See `Leading.walks`."""
        changed = [(path, delta) for path in self.paths if (delta := inputs[path.source]) is not None]
        found = [path.walk(delta, onward if len(changed) == 1 else None) for path, delta in changed]
        walks = [each for each in found if each is not None]
        return walks if len(walks) == len(found) else None

    def stages(self, source: int) -> Sequence[Stage] | None:
        """See `Operator.stages`: those of an input's path, if it is the only one and nothing can raise."""
        return self.path(source) if self._careful is None else None

    def path(self, source: int) -> Sequence[Stage] | None:
        """See `Operator.path`."""
        paths = [path for path in self.paths if path.source == source]
        return paths[0].laid if len(paths) == 1 else None

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The whole join: one input's contents on their path, seeing everything in the other inputs."""
        whole, parts = self.whole.as_of(time), inputs[self.whole.source]()
        return _joined(whole, parts) if self._careful is None else _joined_with_care(whole, parts, self._careful)

    def _changes(self, inputs: Sequence[Delta | None], onward: Onward | None = None) -> list[Delta]:
        changed: list[tuple[Path, Delta]] = []
        for path in self.paths:
            delta = inputs[path.source]
            if delta is not None and delta.length:
                changed.append((path, delta))
        if len(changed) > 1:
            changed.sort(key=self._is_fruitful)
        found: list[Delta] = []
        for left, (path, delta) in enumerate(changed, 1 - len(changed)):
            parts = path.all(delta, None if left or found else onward)
            if parts:
                self._fruitful = path
                found += parts
        return found

    def _is_fruitful(self, changed: tuple[Path, Delta]) -> bool:
        """Whether this is the path of which something has come lately: it is the last one, which may go onward.

        Most often nothing comes of the others, since what refers to a row comes with it.
        """
        return changed[0] is self._fruitful

    def prepare(self) -> Iterator[int]:
        """Let all that is read of rows looked up be read without a wait, bit by bit, yielding the rows of each bit."""
        for path in self.paths:
            for stage in path.meetings:
                yield from stage.lookup.prepare(stage.read, stage.computed)


def _joined(whole: Path, parts: Iterator[Delta]) -> Iterator[Delta]:
    """What a path makes of contents."""
    for delta in parts:
        if len(delta):
            yield from whole.parts(delta)
        yield NOTHING


def _joined_with_care(whole: Path, parts: Iterator[Delta], careful: Callable[[], Careful]) -> Iterator[Delta]:
    """The same where it can raise: then all that is left of the contents is looked at as a whole.

    The parts are so small that what one gives can be kept until it is through.
    """
    size = FIRST_PART
    for delta in parts:
        start, length = 0, len(delta)
        while start < length:
            part = delta.slice(start, min(start + size, length))
            found: list[Delta] = []
            try:
                for joined in whole.parts(part):
                    if len(joined):
                        found.append(joined)
                    yield NOTHING
            except NumericError:
                yield from careful().rest(whole, chain([delta.slice(start, length)], parts))
                return
            yield from found
            start += len(part)
            size = next_size(len(part), sum(map(len, found)))
        yield NOTHING
