"""Whether a figure has changed by more than noise, judged from what was repeated when it was measured.

Ratios are judged by their logarithms. What passes or commits of one process show is not all: two processes with the
same code differ a little too, by where memory came to lie and by who else used the machine. That is the least band.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ivm.benchmarks.figures import Figure

_NORMAL = 2.576
_STUDENT = (63.66, 9.92, 5.84, 4.60, 4.03, 3.71, 3.50, 3.36, 3.25, 3.17, 3.11, 3.05, 3.01, 2.98, 2.95)
"""How many standard errors 99 of 100 ratios stay within where nothing has changed; by degrees of freedom, from 1 on."""

_LEAST_PASSES = 0.03
_LEAST_COMMITS = 0.05
_LEAST_TAIL = 0.15
_ONCE = {"B": 0.05, "": 0.0}
_ONCE_TIMED = 0.2
_TAIL = 0.9

FEW = 20
"""With fewer single measurements a median is judged as what was measured once."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Two values, `ratio` of the second to the first, the `band` of ratios (0.1: up to 1.1 or down to 1 / 1.1) that
    noise explains, and whether that is from repeated measurements, or what figures that are measured once usually have.
    """

    before: float
    after: float
    ratio: float
    band: float
    is_repeated: bool

    @property
    def has_changed(self) -> bool:
        """Whether it is more than noise."""
        return not 1 / (1 + self.band) <= self.ratio <= 1 + self.band


def judge(before: Figure, after: Figure, share: float = 0.5) -> Verdict:
    """Compare two figures; those of many single measurements by the quantile of `share`."""
    tail = share > _TAIL
    if min(before.count, after.count) >= FEW:
        errors = [_quantile_error(each, share) for each in (before, after)]
        least, values = _LEAST_TAIL if tail else _LEAST_COMMITS, (before.quantile(share), after.quantile(share))
        return _verdict(*values, _NORMAL * math.hypot(*errors), least, True)
    if len(before.samples) > 1 and len(after.samples) > 1:
        error, freedom = _difference_error(before.samples, after.samples)
        student = _STUDENT[min(freedom, len(_STUDENT)) - 1]
        return _verdict(before.value, after.value, student * error, _LEAST_PASSES, True)
    if before.quantiles and after.quantiles:
        return _verdict(before.quantile(share), after.quantile(share), 0.0, _ONCE_TIMED, False)
    return _verdict(before.value, after.value, 0.0, _ONCE.get(before.unit, _ONCE_TIMED), False)


def _verdict(before: float, after: float, error: float, least: float, is_repeated: bool) -> Verdict:
    ratio = after / before if before else (1.0 if after == before else math.inf)
    return Verdict(before, after, ratio, math.expm1(math.hypot(error, least)), is_repeated)


def _difference_error(before: Sequence[float], after: Sequence[float]) -> tuple[float, int]:
    """The standard error of the difference of the mean logarithms, and its degrees of freedom."""
    logs = [np.log(np.maximum(each, 1e-12)) for each in (before, after)]
    freedom = sum(len(each) - 1 for each in logs)
    variance = sum(float(((each - each.mean()) ** 2).sum()) for each in logs) / freedom
    return math.sqrt(variance * sum(1 / len(each) for each in logs)), freedom


def _quantile_error(figure: Figure, share: float) -> float:
    """The standard error of the logarithm of a quantile, from how many lie about it."""
    aside = _NORMAL * math.sqrt(share * (1 - share) / max(1, figure.count))
    low, high = (max(figure.quantile(min(max(share + way * aside, 0.0), 1.0)), 1e-12) for way in (-1, 1))
    return math.log(high / low) / (2 * _NORMAL)
