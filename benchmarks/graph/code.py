"""A program made by seed, as analyses see one: what is assigned to what, what points where.

Variables belong to functions of 24 each. Most statements are of variables of one function, a later one of an earlier
one; some carry a value from another function, as a call does.
"""

from __future__ import annotations

import numpy as np

from ivm.benchmarks.graph.graphs import Rng

_FUNCTION = 24
_CALLS = 0.02
"""The share of statements that carry a value from one function to another."""
SHARES = {"assigns": 1.1, "derefs": 0.15, "loads": 0.15, "stores": 0.15, "news": 0.2, "nulls": 0.03}
"""Statements of each kind by variables."""


def statements(variables: int, kind: str, share: float, rng: Rng) -> np.ndarray:
    """Different statements of one kind, some `share` of them by variables: int64 of shape (statements, columns)."""
    count = max(1, round(variables * share))
    if kind == "nulls":
        return np.sort(rng.choice(variables, min(count, variables), replace=False)).reshape(-1, 1)
    if kind == "news":
        return np.stack([np.arange(count) % variables, variables + np.arange(count)], axis=1)[rng.permutation(count)]
    targets = rng.integers(0, variables, count)
    firsts = targets // _FUNCTION * _FUNCTION
    local = firsts + ((targets - firsts) * rng.random(count)).astype(np.int64)
    sources = np.where(rng.random(count) < _CALLS, rng.integers(0, variables, count), local)
    drawn = np.stack([targets, sources], axis=1)[targets != sources]
    return drawn[np.sort(np.unique(drawn, axis=0, return_index=True)[1])]
