"""All short histories of every kind of state, with every tiny capacity: what returns, is used again, or is at an end.

Errors of such kinds need few keys and few commits, if only all orders of them are tried.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from catalog.types import VARCHAR
from tests.histories.groups import GroupsScope
from tests.histories.log import LogScope
from tests.histories.ordered import OrderedScope, WindowScope
from tests.histories.rows import DerivedScope, KeyedTableScope, OrderedArrangementScope, TableScope
from tests.histories.walk import Bounds, Scope, Walk

SCOPES: dict[str, Scope] = {
    scope.name: scope
    for scope in (
        *(GroupsScope(), GroupsScope(is_looked_up=True), GroupsScope(by_text=True)),
        *(TableScope(VARCHAR), KeyedTableScope(), KeyedTableScope(VARCHAR), DerivedScope(VARCHAR)),
        *(OrderedArrangementScope(), OrderedScope(), OrderedScope(among_others=True), WindowScope()),
        *(LogScope(), LogScope(has_history=True)),
    )
}
CAPACITIES: dict[str, dict[str, Any]] = {
    "as they are": {},
    "tiny": {
        "growable._START": 1, "group_table._SMALLEST": 4, "group_table._LARGEST": 4, "groups._SMALL": 0,
        "groups._LEAST_RELEASED": 1, "groups._RELEASED_EACH": 0, "chains._SMALLEST": 4, "chains._SLOTS_A_ROW": 1,
        "chains._SLOTS_AT_LEAST": 1,
        "compaction.FROM_ROWS": 1, "compaction._AT_LEAST": 1, "compaction._FOR_EACH": 0, "retraction._FOR_EACH": 0,
        "retraction._PART": 0, "rows._AT_LEAST": 1, "rows._FOR_EACH": 0, "run._MELT": 1, "run._MELTED_EACH": 0,
        "ordered_tree._CHUNK": 1, "ordered_tree._AT_ONCE": 1, "ordered_tree._MANY": 0,
        "window_tree._CHUNK": 1, "window_tree._AT_ONCE_SAVED": 1, "window_tree.AT_ONCE": 1,
        "view_log._GROWTH": 1, "view_log._GROWTH_BY_INSERTS": 1, "view_log._SPARE_ROWS": 0, "view_log._FUEL": 1,
        "view_log._LEAST_FUEL": 0, "view_log._CHUNK": 1, "ordered_arrangement._CATCH_UP_ROWS": 1,
        "ordered_arrangement._FIRST_PART": 1, "ordered_arrangement._PART": 1, "ordered_arrangement._MANY": 1,
        "ordered_arrangement._FUEL": 0,
    },
    "small": {
        "growable._START": 3, "group_table._SMALLEST": 4, "group_table._LARGEST": 8, "groups._SMALL": 2,
        "groups._LEAST_RELEASED": 2, "groups._RELEASED_EACH": 0, "chains._SMALLEST": 4, "chains._SLOTS_A_ROW": 2,
        "chains._SLOTS_AT_LEAST": 2,
        "compaction.FROM_ROWS": 2, "compaction._AT_LEAST": 2, "compaction._FOR_EACH": 1, "rows._AT_LEAST": 2,
        "rows._FOR_EACH": 1, "run._MELT": 2, "run._MELTED_EACH": 1,
        "ordered_tree._CHUNK": 16, "ordered_tree._AT_ONCE": 8, "window_tree._CHUNK": 2, "window_tree._AT_ONCE_SAVED": 2,
        "view_log._GROWTH": 1, "view_log._GROWTH_BY_INSERTS": 2, "view_log._SPARE_ROWS": 1, "view_log._LEAST_FUEL": 16,
        "view_log._CHUNK": 2, "ordered_arrangement._FIRST_PART": 2, "ordered_arrangement._PART": 2,
    },
}  # fmt: skip
"""What is done to large states now and then, is done to small ones at different points."""
OVER_ROWS = slice(1, 2)
SHORT = [
    *(("groups", capacity, Bounds(3)) for capacity in ("tiny", "small")),
    *((name, "tiny", Bounds(2)) for name in SCOPES if name != "groups"),
]
"""How far histories over rows that were there go in a short test."""
LONG = (Bounds(3, undone=3), Bounds(2, undone=2, readers=1, moves=1))
OF_ROWS = (Bounds(3), Bounds(2, undone=2, readers=1, moves=1))
"""The same for rows, which get new numbers all the time: no state is met twice."""


def _walk(name: str, capacity: str, bounds: Bounds, patch: pytest.MonkeyPatch, *, roots: slice = slice(None)) -> None:
    for place, value in CAPACITIES[capacity].items():
        module, constant = place.split(".")
        patch.setattr(importlib.import_module(f"ivm.trace.{module}"), constant, value)
    walk = Walk(SCOPES[name])
    walk.go(bounds, roots)
    assert min(walk.histories, walk.commits, walk.forks) > 0
    print(
        f"{name}, {capacity}: {walk.histories:,} histories of {bounds}: {walk.commits:,} commits, {walk.forks:,} forks"
    )


@pytest.mark.parametrize(("name", "capacity", "bounds"), SHORT)
def test_short_histories(name: str, capacity: str, bounds: Bounds, monkeypatch: pytest.MonkeyPatch) -> None:
    _walk(name, capacity, bounds, monkeypatch, roots=OVER_ROWS)


@pytest.mark.parametrize("capacity", ["as they are", "tiny"])
@pytest.mark.parametrize("name", SCOPES)
def test_short_histories_undone_read_and_moved(name: str, capacity: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _walk(name, capacity, Bounds(1, undone=1, readers=1, moves=1), monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("bounds", range(len(LONG)))
@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("name", SCOPES)
def test_long_histories(name: str, capacity: str, bounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in (LONG if isinstance(SCOPES[name], GroupsScope) else OF_ROWS)[bounds : bounds + 1]:
        _walk(name, capacity, each, monkeypatch)
