"""How deeply the statements may be nested that a database plans."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from catalog.errors import UnsupportedError

MOST_FRAMES = 5000
"""Python's limit of 1000 frames is reached by 40 nested parentheses; this one by 200, and fits a stack of 8 MiB."""


@contextmanager
def nested_statements() -> Iterator[None]:
    """Room for nested statements; UnsupportedError for one that needs more.

    The interpreter's limit is raised for good: to lower it again could hit another thread.
    """
    if sys.getrecursionlimit() < MOST_FRAMES:
        sys.setrecursionlimit(MOST_FRAMES)
    try:
        yield
    except RecursionError:
        raise UnsupportedError(
            f"cannot plan this statement: it is nested too deeply, beyond the limit of {MOST_FRAMES} calls in calls, "
            f"which some 200 parentheses or 300 views on views reach; split it into materialized views"
        ) from None
