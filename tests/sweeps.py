"""Sweeps of the text dictionary all the time, whether they are worth it or not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from ivm.trace.text import sweep
from ivm.trace.text.sweep import AT_ONCE, Pace

PACES = {
    "fast": (Pace(least=0, piece=1, growth=0, worth=0, base=1 << 60, rate=0), AT_ONCE),
    "slow": (Pace(least=0, piece=1, growth=0, worth=0, base=1 << 15, rate=0), 16),
}
"""A sweep in two commits, and one in many."""


@contextmanager
def sweeping(how: str) -> Iterator[None]:
    """Databases that are made and changed within sweep all the time."""
    pace, at_once = PACES[how]
    users = [m for name, m in list(sys.modules.items()) if name.startswith("ivm.") and hasattr(m, "AT_ONCE")]
    with patch.object(sweep, "PACE", pace):
        before = {module: module.AT_ONCE for module in users}
        for module in users:
            module.AT_ONCE = at_once  # type: ignore[attr-defined]
        try:
            yield
        finally:
            for module, was in before.items():
                module.AT_ONCE = was  # type: ignore[attr-defined]
