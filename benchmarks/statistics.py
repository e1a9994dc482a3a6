"""Summaries of latencies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ivm.benchmarks.figures import SHARES


def latency(seconds: Sequence[float]) -> dict[str, float]:
    """p50, p99 and max in milliseconds."""
    millis = np.asarray(seconds) * 1e3
    return {
        "p50_ms": float(np.percentile(millis, 50)),
        "p99_ms": float(np.percentile(millis, 99)),
        "max_ms": float(millis.max()),
    }


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """p50, p90, p99 and max of what is given, in its own unit; nothing of nothing."""
    if not values:
        return {}
    found = {f"p{share}": float(np.percentile(values, share)) for share in (50, 90, 99)}
    return {**found, "max": float(max(values))}


def quantiles(values: Sequence[float] | np.ndarray) -> list[float]:
    """The quantiles of `ivm.benchmarks.figures.SHARES`, so that a process need not answer with every single value."""
    found: list[float] = np.quantile(np.asarray(values, np.float64), SHARES).tolist()
    return found
