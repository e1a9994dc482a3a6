"""What operators share whose state is that of the present alone: reduces, top-k, thresholds and windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ivm.operators.operator import Contents, Each
from ivm.trace.delta import Delta


class Present:
    """Contents come from the state, and are not to be had of the past."""

    apart = True
    at_once = False

    def drawn_from(self, inputs: Sequence[Each]) -> Sequence[Each]:
        """None: the state has all that is asked for."""
        return ()

    def reader(self, time: int) -> Contents:
        """What gives the contents as of `time`, the present, as often as one likes, whatever is sealed meanwhile."""
        raise NotImplementedError

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The output as it is now."""
        return self.reader(time)()

    def hold(self, time: int | None) -> None:
        """Nobody looks anything up."""
