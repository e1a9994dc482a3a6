"""What may be said of streams and databases before anything is made. Help shows it, so this imports next to nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

STREAMS = ("load", "refresh", "churn", "window")
DEFAULT_SEED = 42
DEFAULT_PAIRS = 100
SMALLEST_SCALE = 0.001


@dataclass(frozen=True, slots=True)
class Options:
    """What may be chosen about a generation; None takes the default of the stream's kind.

    `parts`: tasks for each large relation. `pairs`: of refresh functions. `updates`: of churn. `window`: rows of
    lineitem that are present at a time. None of the streams depends on `parts`.
    """

    parts: int | None = None
    pairs: int = DEFAULT_PAIRS
    updates: int | None = None
    window: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a database is: in memory, or kept at a `path`; on one engine, or over `shards`, of this process or of the
    Spark cluster `master`.
    """

    path: Path | None = None
    master: str | None = None
    shards: int | None = None


DEFAULTS = Options()
