"""What bindings of a loop hold at its end, for those who read it outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ivm.catalog.types import SqlType
from ivm.operators.operator import Contents, Kept
from ivm.operators.round_node import RoundNode
from ivm.trace.columns.column import every
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta


class OfGroups(Kept):
    """The rows of a binding that is what groups give, which they know. State: none."""

    def __init__(self, groups: RoundNode, types: Sequence[SqlType]) -> None:
        """`types`: those of the rows."""
        self._groups, self._types = groups, types

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """What all rounds change together. Cost: hash work for each change, if any row has gone."""
        delta = inputs[0]
        if delta is None or delta.diffs is None or every(delta.diffs > 0):
            return delta  # what comes in some round, and goes in none, was not there
        return consolidate(delta, self._types)

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The rows."""
        return self._groups.contents((), time)
