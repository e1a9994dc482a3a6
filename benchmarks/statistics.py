"""Summaries of latencies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def latency(seconds: Sequence[float]) -> dict[str, float]:
    """p50, p99 and max in milliseconds."""
    millis = np.asarray(seconds) * 1e3
    return {
        "p50_ms": float(np.percentile(millis, 50)),
        "p99_ms": float(np.percentile(millis, 99)),
        "max_ms": float(millis.max()),
    }
