"""Clocks of time zones, by what DuckDB says of them: when they change, and how far they are ahead of UTC between.

That is learnt of a zone once in a process, in a tenth of a second, for the years 1900 to 2099, and then a look-up of
some nanoseconds. Moments before and after, and zones of which many are met at once, are asked for one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ivm.catalog.calendar import DAY, day_of
from ivm.catalog.errors import NumericError

Local = Callable[[str, Any], Any]
"""From a zone and moments to the times on its clocks, both in microseconds; NumericError if there is no such zone."""

_FIRST, _END = day_of(1900, 1, 1) * DAY, day_of(2100, 1, 1) * DAY
_SECOND, _PARTS = 1_000_000, 208
_STEP = _PARTS * _PARTS * _SECOND
"""Half a day, in which clocks change once at most; a part of a part of it is a second."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks of a zone: at `changes[i]`, a moment, they begin to be `ahead[i + 1]` microseconds ahead of UTC."""

    changes: Any
    ahead: Any

    def local(self, moments: Any) -> Any:
        """What they show."""
        return moments + self.ahead[np.searchsorted(self.changes, moments, "right")]

    def moments(self, shown: Any) -> Any:
        """When they show that; the later time if they do so twice, and as if they had not changed if they never do."""
        return shown - self.ahead[np.searchsorted(self.changes + self.ahead[1:], shown, "right")]


def is_near(moments: Any) -> Any:
    """For which of these moments, or times on clocks, `Clocks` holds."""
    return (moments >= _FIRST + DAY) & (moments < _END - DAY)


@lru_cache(1024)
def clocks_of(zone: str, local: Local) -> Clocks | None:
    """The clocks of a zone by what `local` says of it; None if there is none. Cost: once, some 150,000 moments."""
    moments = np.arange(_FIRST, _END, _STEP)
    try:
        ahead = local(zone, moments) - moments
    except NumericError:
        return None
    before = np.flatnonzero(np.diff(ahead))
    changes = moments[before]
    for size in (_STEP // _PARTS, _SECOND):
        changes = _narrowed(zone, local, changes, size)
    return Clocks(changes + _SECOND, np.concatenate((ahead[:1], ahead[before + 1])))


def _narrowed(zone: str, local: Local, begins: Any, size: int) -> Any:
    """Of each of the stretches of `_PARTS` parts from `begins` on, where the last part begins before a change."""
    parts = begins[:, None] + np.arange(_PARTS + 1) * size
    ahead = local(zone, parts.reshape(-1)).reshape(parts.shape) - parts
    return begins + (np.argmax(ahead != ahead[:, :1], axis=1) - 1) * size
