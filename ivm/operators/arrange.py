"""Arranging: keep an index in step with the collection that it is over, for any number of joins to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ivm.operators.arrange_leg import ArrangeStage
from ivm.operators.entered import Entered
from ivm.operators.operator import Contents, Operator, StateSize
from ivm.operators.reduce import Reduce
from ivm.operators.walk import LastStage
from ivm.trace.concatenation import concat_deltas
from ivm.trace.delta import Delta
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.follower import Lookup
from ivm.trace.ordered.ordered_arrangement import OrderedArrangement
from ivm.trace.rows.rows import DerivedRows
from ivm.trace.state import Marks

_OFTEN = 1 << 10


class _Arrange(Operator):
    """Passes its input on, which an arrangement follows."""

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The given delta."""
        return inputs[0]

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The input's contents."""
        return inputs[0]()


class ArrangeTable(_Arrange):
    """An index over a base table's own store: row references, no copy. The table's store undoes it with itself.

    `primary`: it is the table's own index of its primary key, and counts for the table.
    """

    def __init__(self, arrangement: Arrangement | OrderedArrangement, *, primary: bool) -> None:
        self.arrangement = arrangement
        self.primary = primary

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """Index the rows that the table has gained; the delta is passed on."""
        self.arrangement.catch_up()
        return inputs[0]

    def size(self) -> StateSize:
        """The index alone; the rows belong to the table."""
        return StateSize() if self.primary else self.arrangement.size()


class ArrangeGroups(_Arrange):
    """A reduce's own groups, read by their keys as its output's rows: the reduce keeps and undoes them."""

    def __init__(self, reduce: Reduce) -> None:
        self.arrangement = reduce.lookup


class ArrangeEntered(_Arrange):
    """An arrangement outside of a loop, as those within look up in it."""

    def __init__(self, lookup: Lookup) -> None:
        self.arrangement = Entered(lookup)

    def reader(self, time: int) -> Lookup:
        """Nobody reads what is in a loop from outside."""
        raise AssertionError("what is in a loop is read of its result")


class ArrangeDerived(_Arrange):
    """A collection kept with its own columns, indexed by a key or kept in order."""

    def __init__(self, rows: DerivedRows[Arrangement | OrderedArrangement]) -> None:
        self._rows = rows
        self.states = (rows,)

    @property
    def arrangement(self) -> Arrangement | OrderedArrangement:
        """What joins look up in."""
        return self._rows.arranged

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """Apply the changes; the delta is passed on. Cost: hash work for each change."""
        delta = inputs[0]
        if delta is not None:
            self._rows.apply(delta)
        return delta

    def onward(self, marks: Marks) -> LastStage | None:
        """See `Operator.onward`: where rows that come need nothing but their columns."""
        return ArrangeStage(self._rows, marks) if type(self._rows) is DerivedRows else None


class ArrangeLater(ArrangeDerived):
    """One within a loop in which only what enters looks up, which it does before there is any round.

    What rounds change is kept until they are over, and comes in all at once.
    """

    def __init__(self, rows: DerivedRows[Arrangement | OrderedArrangement]) -> None:
        super().__init__(rows)
        self._waiting: list[Delta] = []

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """Keep the changes for later; the delta is passed on."""
        delta = inputs[0]
        if delta is not None and delta.length:
            self.keep(delta)
        return delta

    def onward(self, marks: Marks) -> LastStage | None:
        """See `Operator.onward`."""
        return None

    def keep(self, delta: Delta) -> None:
        """Keep changes for later, but where rows are there so often that they may be too many."""
        self._waiting.append(delta)
        if delta.diffs is not None and max(delta.diffs.max(), -delta.diffs.min()) > _OFTEN:
            assert isinstance(delta.times, int), "changes of a loop come one tick after the other"
            self.catch_up(delta.times)

    def catch_up(self, tick: int) -> None:
        """Apply what waits, as of a tick. Cost: hash work for each change."""
        waiting = concat_deltas([Delta(d.groups, d.layout, d.length, tick, d.diffs) for d in self._waiting])
        self._waiting = []
        if waiting is not None:
            self._rows.apply(waiting)

    def forget(self) -> None:
        """Nothing waits any more."""
        self._waiting = []
