"""Negate: every multiplicity with its sign changed. State: none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ivm.operators.operator import Contents, Operator
from ivm.trace.delta import Delta


class Negate(Operator):
    """R'(r) = -R(r). Cost: one pass over the diffs."""

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The input's changes with negated diffs; no column is touched."""
        delta = inputs[0]
        return None if delta is None else delta.with_diffs(-delta.diff_array())

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The input's contents with diffs of -1: what is negated counts down in whatever it is added to."""
        return (delta.with_diffs(-delta.diff_array()) for delta in inputs[0]())
