"""Figures for people, and the progress bar."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from ivm.progress import progress
from ivm.tpch.report import amount, duration, size


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0"), (9_999, "9,999"), (10_000, "10.0k"), (123_456, "123k"), (1_500_000, "1.5M"), (250e6, "250M")],
)
def test_amounts(count: float, shown: str) -> None:
    assert amount(count) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (1_023, "1023 B"),
        (1_536, "1.5 KiB"),
        (200 << 10, "200 KiB"),
        (5 << 20, "5.0 MiB"),
        (3 << 30, "3.0 GiB"),
    ],
)
def test_sizes(count: int, shown: str) -> None:
    assert size(count) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.0, "0 ms"), (0.0124, "12 ms"), (3.44, "3.4 s"), (119.0, "119.0 s"), (336.0, "5.6 min")]
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_progress_shows_what_is_done_at_which_rate() -> None:
    screen = io.StringIO()
    with progress(Console(file=screen, force_terminal=True, width=120)) as tell:
        tell("starting", 0, 0)
        tell("reading", 0, 100)
        tell("reading", 50, 100)
        tell("writing", 100, 100)
    assert "writing" in screen.getvalue()
    assert "100%" in screen.getvalue()
