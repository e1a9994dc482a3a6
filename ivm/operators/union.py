"""Union: the sum of its inputs. State: none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from ivm.operators.operator import Contents, Operator
from ivm.trace.delta import Delta, concat_deltas


class Union(Operator):
    """R'(r) = R1(r) + .. + Rn(r). Cost: that of the columns that somebody reads later."""

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The inputs' changes, one after the other."""
        return concat_deltas([delta for delta in inputs if delta is not None and len(delta)])

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The inputs' contents."""
        return chain(*[contents() for contents in inputs])
