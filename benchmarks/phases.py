"""Where the time of installing a view goes, seen from outside, so that the engine itself carries no clocks."""

from __future__ import annotations

import contextlib
import pkgutil
from collections.abc import Callable, Generator, Iterator
from time import perf_counter
from typing import Any
from unittest.mock import patch

_PLACES = {
    "parse": ("ivm.session.database.statements_of",),
    "bind": ("ivm.session.defining.bind",),
    "optimize": ("ivm.engine.part.optimize",),
    "lower": ("ivm.engine.part.Part.existing", "ivm.engine.part.lower"),
    "rehearse": ("ivm.session.defining.rehearse",),
    "index": (
        "ivm.trace.rows.table_store.TableStore.arrangement",
        "ivm.trace.index.arrangement.Arrangement.fill",
        "ivm.trace.ordered.ordered_arrangement.OrderedArrangement.fill",
        "ivm.operators.join.DeltaJoin.prepare",
    ),
    "hydrate": ("ivm.dataflow.graph.Graph.hydrate",),
}
"""Each phase, and the functions whose time it is; of generators, that of their steps. What one calls is part of it."""

PHASES = (*_PLACES, "attach")
"""parse, bind, optimize and lower the text; rehearse the view on a few rows, where there are many; index a table by a
new key, and convert the columns that were not read by row so far; hydrate what has state.

What is left of the installation is `attach`: making the nodes and tying them to the arrangements there are.
"""


class Clock:
    """The seconds spent in each phase since the last call of `lap`."""

    def __init__(self) -> None:
        self._seconds = dict.fromkeys(_PLACES, 0.0)
        self._counts = False

    def lap(self, whole: float) -> dict[str, float]:
        """Milliseconds of each of `PHASES` within `whole` seconds, and of `whole` as "total"; all start anew."""
        spent, self._seconds = self._seconds, dict.fromkeys(_PLACES, 0.0)
        spent |= {"attach": max(0.0, whole - sum(spent.values())), "total": whole}
        return {phase: seconds * 1e3 for phase, seconds in spent.items()}

    def timed(self, phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, whose time counts for `phase`."""

        def run(*args: Any, **named: Any) -> Any:
            with self._counting(phase):
                result = function(*args, **named)
            return self._steps(phase, result) if isinstance(result, Generator) else result

        return run

    def _steps(self, phase: str, steps: Iterator[Any]) -> Iterator[Any]:
        while True:
            with self._counting(phase):
                step = next(steps, steps)
            if step is steps:
                return
            yield step

    @contextlib.contextmanager
    def _counting(self, phase: str) -> Iterator[None]:
        if self._counts:
            yield
            return
        self._counts, started = True, perf_counter()
        try:
            yield
        finally:
            self._counts = False
            self._seconds[phase] += perf_counter() - started


@contextlib.contextmanager
def clocked() -> Iterator[Clock]:
    """While the block runs, the phases of installations are timed. Raises AttributeError if the engine has changed."""
    clock = Clock()
    with contextlib.ExitStack() as patched:
        for phase, places in _PLACES.items():
            for place in places:
                function = pkgutil.resolve_name(place)
                patched.enter_context(patch(place, clock.timed(phase, function)))
        yield clock
