"""What operators share whose state is that of the present alone: reduces, top-k, thresholds and windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ivm.operators.operator import Contents, Each


class Present:
    """Contents come from the state, and are not to be had of the past."""

    looks_back: ClassVar[bool] = False
    apart = True
    at_once = False

    def drawn_from(self, inputs: Sequence[Each]) -> Sequence[Each]:
        """None: the state has all that is asked for."""
        return ()

    @property
    def states(self) -> tuple[Any, ...]:
        """The operator itself."""
        return (self,)

    def mark(self) -> Any:
        """One step at most follows, which is undone as a whole."""

    def reader(self, time: int) -> Contents | None:
        """See `Operator`: what there is has to be copied before it changes."""
        return None

    def hold(self, time: int | None) -> None:
        """Nobody looks anything up."""
