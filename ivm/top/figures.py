"""What `ivm top` shows, out of two looks at a database: rates are what has changed in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

from ivm.top.asking import Ask, Row

Order = Literal["busy", "changes", "rows", "state", "name"]
"""What views can be ordered by."""
SECONDS = 10
"""Of so many seconds are the commits that are told of."""
_COMMITS = f"""
    SELECT max(time) AS time, count(*) FILTER (WHERE recent) AS commits,
        coalesce(sum(updates) FILTER (WHERE recent), 0)::BIGINT AS updates,
        quantile_cont(millis, 0.5) FILTER (WHERE recent) AS p50,
        quantile_cont(millis, 0.99) FILTER (WHERE recent) AS p99, max(millis) FILTER (WHERE recent) AS slowest
    FROM (SELECT *, "at" > now() - INTERVAL {SECONDS} SECONDS AS recent FROM ivm_commits)
"""
_VIEWS = "SELECT view, rows, state_rows, state_bytes + bytes AS state_bytes, incremental FROM ivm_views"
_OPERATORS = """
    SELECT view, sum(millis) AS millis, sum(updates_in) FILTER (WHERE operator = 'view ' || view)::BIGINT AS changes
    FROM ivm_operators GROUP BY view
"""
_ALONE = "SELECT views[1] AS view, sum(bytes)::BIGINT AS bytes FROM ivm_arrangements WHERE len(views) = 1 GROUP BY ALL"
_MEMORY = "SELECT kind, sum(bytes)::BIGINT AS bytes FROM ivm_arrangements GROUP BY kind ORDER BY bytes DESC"
_LISTENING = "SELECT count(*) AS listening, coalesce(max(commits), 0) AS waiting FROM ivm_subscriptions"


@dataclass(frozen=True, slots=True)
class Look:
    """What there was at one moment, `at` seconds by a steady clock; counts begin when views are made."""

    at: float
    commits: Row
    views: Mapping[str, Row]
    memory: Mapping[str, int]
    listening: Row


@dataclass(frozen=True, slots=True)
class ViewFigures:
    """A view: `changes` a second, `busy`, which part of a second its operators took for each, `millis` since it was
    made; `state_bytes` of all that it needs, `alone_bytes` of what no other view needs.
    """

    view: str
    rows: int
    changes: float
    busy: float
    millis: float
    state_rows: int
    state_bytes: int
    alone_bytes: int
    incremental: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """A database: commits a second, updates that they bring a second, milliseconds that they take (None: there were
    none); bytes by kind of state; how many listen, and how many commits wait for the slowest of them.
    """

    time: int | None
    commits: float
    updates: float
    p50: float | None
    p99: float | None
    slowest: float | None
    memory: Mapping[str, int]
    listening: int
    waiting: int
    views: tuple[ViewFigures, ...]


_ORDERS: Mapping[Order, Callable[[ViewFigures], Any]] = {
    "busy": lambda each: (-each.busy, -each.millis),
    "changes": lambda each: -each.changes,
    "rows": lambda each: -each.rows,
    "state": lambda each: -each.state_bytes,
    "name": lambda each: each.view,
}


def look(ask: Ask) -> Look:
    """What there is now. Error. Cost: some milliseconds, and the consolidation of views that have changed."""
    began = perf_counter()
    (commits,), (listening,) = ask(_COMMITS), ask(_LISTENING)
    counts, alone = _by_view(ask(_OPERATORS)), _by_view(ask(_ALONE))
    views = {}
    for row in ask(_VIEWS):
        name = row["view"]
        views[name] = {
            **row, "millis": 0.0, "changes": 0, **counts.get(name, {}), "alone": alone.get(name, {}).get("bytes", 0)
        }  # fmt: skip
    memory = {row["kind"]: int(row["bytes"]) for row in ask(_MEMORY)}
    return Look(began, commits, views, memory, listening)


def figures(before: Look, now: Look, order: Order) -> Figures:
    """What has happened between two looks. A view that has come meanwhile, or has come anew, has no rates yet."""
    seconds = max(now.at - before.at, 1e-9)
    views = [_view(row, before.views.get(name, row), seconds) for name, row in now.views.items()]
    commits = now.commits
    return Figures(
        commits["time"], commits["commits"] / SECONDS, commits["updates"] / SECONDS,
        commits["p50"], commits["p99"], commits["slowest"], now.memory,
        now.listening["listening"], now.listening["waiting"], tuple(sorted(views, key=_ORDERS[order])),
    )  # fmt: skip


def _view(row: Row, before: Row, seconds: float) -> ViewFigures:
    def rate(name: str) -> float:
        return max((row[name] or 0) - (before[name] or 0), 0) / seconds

    return ViewFigures(
        row["view"], row["rows"], rate("changes"), rate("millis") / 1e3, row["millis"] or 0.0, row["state_rows"],
        row["state_bytes"], row["alone"], row["incremental"],
    )  # fmt: skip


def _by_view(rows: list[Row]) -> dict[str, Row]:
    return {row["view"]: row for row in rows}
