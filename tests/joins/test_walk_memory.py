"""Memory that walks have needed is kept for later ones, up to a bound."""

from __future__ import annotations

from ivm.kernels.step.records import WANTED
from ivm.trace import route


def test_it_is_bounded_however_it_is_used_again() -> None:
    """Each walk has memory of its own, and the same large one again, which lies above what nobody takes."""
    made = route.Route((), 1)
    made.room = 8_192
    for _ in range(2 * route._MOST_SPARE // made.room):
        made.ready()
        made.words[WANTED] = 50_000
        made.more_memory()
        made.end()
    assert sum(map(len, route._spare)) <= route._MOST_SPARE
