"""What a measurement of `latency_engine` says, as figures and as the cells of a table."""

from __future__ import annotations

from typing import Any

from ivm.benchmarks.figures import Figure, Label, one, over, spread
from ivm.tpch.report import size

COLUMNS = ("commit\np50 ms", "\np99 ms", "\nmax ms", "base\nload s", "hydrate\ns", "peak\nmemory")
"""The headings of `cells`."""


def figures(entry: dict[str, Any], of: dict[str, Label]) -> list[Figure]:
    """Latency of the commits, memory, and what came before them."""
    return [
        spread("commit", "ms", entry["quantiles_ms"], entry["measured_commits"], **of),
        one("load of the base", "s", entry["load_seconds"], **of),
        one("hydration of all views", "s", entry["hydrate_seconds"], **of),
        one("compilations while hydrating", "", entry["hydrate_compilations"], **of),
        one("peak memory", "B", entry["peak_bytes"], **of),
        over("memory", "B", entry["memory"], **of),
        one("commits that compiled", "", entry["compiled_commits"], **of),
        one("time of commits that compiled", "s", entry["compiled_seconds"], **of),
    ]


def cells(entry: dict[str, Any]) -> tuple[str, ...]:
    """The same for a reader."""
    names = ("p50_ms", "p99_ms", "max_ms", "load_seconds", "hydrate_seconds")
    return (*(f"{entry[name]:,.2f}" for name in names), size(entry["peak_bytes"]))
