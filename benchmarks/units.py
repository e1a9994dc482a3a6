"""Figures for people."""

from __future__ import annotations

from ivm.tpch.report import amount, size

_FINER = {"s": ("ms", 1e3), "ms": ("µs", 1e3)}


def shown(value: float, unit: str) -> str:
    """A value with its unit: 12.3 ms, 1.5 GiB, 6,001,215."""
    if unit == "B":
        return size(int(value))
    if unit in _FINER and 0 < abs(value) < 1:
        finer, times = _FINER[unit]
        return f"{plain(value * times)} {finer}"
    if unit == "":
        return amount(value) if value >= 1_000_000 else plain(value)
    return f"{plain(value)} {unit}"


def plain(value: float) -> str:
    """A number in three digits, or all of those before the point."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"
