"""All short histories of every kind of state, with every tiny capacity: what returns, is used again, or is at an end.

Errors of such kinds need few keys and few commits, if only all orders of them are tried.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from tests.histories.groups import GroupsScope
from tests.histories.walk import Bounds, Scope, Walk

SCOPES: dict[str, Scope] = {
    scope.name: scope for scope in (GroupsScope(), GroupsScope(is_looked_up=True), GroupsScope(by_text=True))
}
LONGER = ("groups",)
"""Those that walk a commit further over rows that were there; the others are little else."""
CAPACITIES: dict[str, dict[str, Any]] = {
    "as they are": {},
    "tiny": {
        "growable._START": 1, "group_table._SMALLEST": 4, "group_table._LARGEST": 4, "groups._SMALL": 0,
        "groups._LEAST_MELTED": 1, "groups._MELTED_EACH": 0, "groups._FREE_PART": 1, "groups._LEAST_RELEASED": 1,
        "groups._RELEASED_EACH": 0,
    },
    "small": {
        "growable._START": 3, "group_table._SMALLEST": 4, "group_table._LARGEST": 8, "groups._SMALL": 2,
        "groups._LEAST_MELTED": 2, "groups._MELTED_EACH": 0, "groups._FREE_PART": 2, "groups._LEAST_RELEASED": 2,
        "groups._RELEASED_EACH": 0,
    },
}  # fmt: skip
"""What is done to large states now and then, is done to small ones at different points."""
SHORT = (Bounds(3), Bounds(2, undone=2), Bounds(2, moves=1), Bounds(1, undone=1, readers=1, moves=1))
LONG = (Bounds(5, undone=1), Bounds(4, undone=4), Bounds(3, undone=1, readers=1, moves=1))


def _walk(name: str, capacity: str, bounds: Bounds, patch: pytest.MonkeyPatch, *, roots: slice = slice(None)) -> None:
    for place, value in CAPACITIES[capacity].items():
        module, constant = place.split(".")
        patch.setattr(importlib.import_module(f"ivm.trace.{module}"), constant, value)
    walk = Walk(SCOPES[name])
    walk.go(bounds, roots)
    assert walk.histories >= walk.commits >= walk.forks > 0
    print(
        f"{name}, {capacity}: {walk.histories:,} histories of {bounds}: {walk.commits:,} commits, {walk.forks:,} forks"
    )


@pytest.mark.parametrize("bounds", SHORT, ids=str)
@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("name", SCOPES)
def test_short_histories(name: str, capacity: str, bounds: Bounds, monkeypatch: pytest.MonkeyPatch) -> None:
    longest = bounds == SHORT[0]
    if longest and name not in LONGER:
        bounds = Bounds(2)
    _walk(name, capacity, bounds, monkeypatch, roots=slice(1, 2) if longest else slice(None))


@pytest.mark.slow
@pytest.mark.parametrize("bounds", LONG, ids=str)
@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("name", SCOPES)
def test_long_histories(name: str, capacity: str, bounds: Bounds, monkeypatch: pytest.MonkeyPatch) -> None:
    _walk(name, capacity, bounds, monkeypatch)
