"""Which histories are walked: of which kind of state, with which capacities, and how far."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from time import process_time
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import ivm.trace
from ivm.catalog.types import VARCHAR
from tests.histories.answers import AnswersScope
from tests.histories.groups import GroupsScope
from tests.histories.log import LogScope
from tests.histories.ordered import OrderedScope, WindowScope
from tests.histories.rounds import RoundsScope, SignedScope
from tests.histories.rows import DerivedScope, KeyedTableScope, OrderedArrangementScope, RowsScope, TableScope
from tests.histories.settled import SettledScope
from tests.histories.walk import Bounds, Commit, Scope, Walk

SCOPES: dict[str, Scope] = {
    scope.name: scope
    for scope in (
        *(GroupsScope(), GroupsScope(by_text=True), RoundsScope(), RoundsScope(by_text=True), SignedScope()),
        *(SettledScope(), SettledScope(by_text=True)),
        *(TableScope(VARCHAR), KeyedTableScope(), KeyedTableScope(VARCHAR), DerivedScope(VARCHAR)),
        *(OrderedArrangementScope(), OrderedScope(), OrderedScope(among_others=True), WindowScope()),
        *(LogScope(), LogScope(has_history=True)),
        *(TableScope(history=1), KeyedTableScope(history=1), DerivedScope(history=1), KeyedTableScope(history=2)),
        *(OrderedArrangementScope(history=1), AnswersScope()),
        *(TableScope(paired=True), KeyedTableScope(paired=True), DerivedScope(paired=True)),
    )
}
CAPACITIES: dict[str, dict[str, Any]] = {
    "as they are": {},
    "tiny": {
        "growable._START": 1, "group_table._SMALLEST": 2, "group_table._LARGEST": 2, "groups._SMALL": 0,
        "groups._LEAST_RELEASED": 1, "groups._RELEASED_EACH": 0, "chains._SMALLEST": 4, "chains._SLOTS_A_ROW": 1,
        "chains._SLOTS_A_LINKED": 1,
        "chains._SLOTS_AT_LEAST": 1,
        "compaction.FROM_ROWS": 1, "compaction._AT_LEAST": 1, "compaction._FOR_EACH": 0, "retraction._FOR_EACH": 0,
        "retraction._PART": 0, "rows._AT_LEAST": 1, "rows._FOR_EACH": 0, "run._MELT": 1, "run._MELTED_EACH": 0,
        "run.FENCED": 2, "index._AT_ONCE": 1, "chains.FEW": 0, "chains._AHEAD": 1, "rows._LEFT": 0,
        "ordered_tree._CHUNK": 1, "ordered_tree._AT_ONCE": 1, "ordered_tree._MANY": 0,
        "window_tree._CHUNK": 1, "window_tree._AT_ONCE_SAVED": 1, "window_tree.AT_ONCE": 1,
        "view_log._GROWTH": 1, "view_log._GROWTH_BY_INSERTS": 1, "view_log._SPARE_ROWS": 0, "view_log._FUEL": 1,
        "view_log._LEAST_FUEL": 0, "view_log._CHUNK": 1, "ordered_arrangement._CATCH_UP_ROWS": 1,
        "ordered_arrangement._FIRST_PART": 1, "ordered_arrangement._PART": 1, "ordered_arrangement._MANY": 1,
        "ordered_arrangement._FUEL": 0, "ordered_arrangement._AT_ONCE": 1,
        "time._FEW": 1, "time._BATCHES": 1, "time._MANY": 1,
    },
    "small": {
        "growable._START": 3, "group_table._SMALLEST": 1, "group_table._LARGEST": 4, "groups._SMALL": 2,
        "groups._MOST_SPARE": 0,
        "groups._LEAST_RELEASED": 2, "groups._RELEASED_EACH": 0, "chains._SMALLEST": 4, "chains._SLOTS_A_ROW": 2,
        "chains._SLOTS_A_LINKED": 2,
        "chains._SLOTS_AT_LEAST": 2,
        "compaction.FROM_ROWS": 2, "compaction._AT_LEAST": 2, "compaction._FOR_EACH": 1, "rows._AT_LEAST": 2,
        "rows._FOR_EACH": 1, "rows._LEFT": 1, "run._MELT": 2, "run._MELTED_EACH": 1, "chains.FEW": 0, "chains._AHEAD": 1,
        "ordered_tree._CHUNK": 16, "ordered_tree._AT_ONCE": 8, "window_tree._CHUNK": 2, "window_tree._AT_ONCE_SAVED": 2,
        "view_log._GROWTH": 1, "view_log._GROWTH_BY_INSERTS": 2, "view_log._SPARE_ROWS": 1, "view_log._LEAST_FUEL": 16,
        "view_log._CHUNK": 2, "ordered_arrangement._FIRST_PART": 2, "ordered_arrangement._PART": 2,
        "ordered_arrangement._AT_ONCE": 2, "ordered_arrangement._SHARE": 1,
        "time._FEW": 3, "time._BATCHES": 2, "time._MANY": 3, "time._KEPT_PART": 1,
    },
}  # fmt: skip
CAPACITIES["tiny, runs last"] = CAPACITIES["tiny"] | {
    "run._USED_UP": 0, "run._OFTEN_USED_UP": 0, "run._TIMES_USED_UP": 1 << 30, "run._SEARCH": -1 << 30
}  # fmt: skip
"""What is done to large states now and then, is done to small ones at different points."""
ALL = (0, 1, 2, 3)
ENDS = (0, 3)
"""The least key and the greatest; two others lie between them, if there are rows at first."""
ALIKE = (0, 1)
"""Two whose first columns are alike, where keys are of two."""
OVER_ROWS, OVER_ONE = slice(1, 2), slice(2, 3)


class Planned(NamedTuple):
    """A walk."""

    scope: str
    capacity: str
    bounds: Bounds
    roots: slice = slice(None)

    def __str__(self) -> str:
        return f"{self.scope}, {self.capacity}, {self.bounds}"


def _short() -> Iterator[Planned]:
    """Those that end in half a minute."""
    for name, scope in SCOPES.items():
        if isinstance(scope, RowsScope) and scope.history:
            yield Planned(name, "tiny", Bounds(1, undone=1), OVER_ROWS)
            yield Planned(name, "tiny", Bounds(2, undone=1, readers=1, keys=ENDS), OVER_ROWS)
            yield Planned(name, "small", Bounds(3, readers=1, moves=1, keys=(0,)), OVER_ONE)
            yield Planned(name, "small", Bounds(5, undone=1, keys=(0,)), OVER_ONE)
            continue
        if isinstance(scope, RoundsScope | SettledScope):
            fewer = isinstance(scope, SettledScope)  # it has three rounds
            yield Planned(name, "as they are", Bounds(1, undone=1, moves=1))
            yield Planned(name, "tiny", Bounds(3 - fewer, undone=1, moves=1, keys=ENDS))
            yield Planned(name, "small", Bounds(5 - fewer, undone=5 - fewer, keys=(0,)))
            continue
        if isinstance(scope, AnswersScope):
            yield Planned(name, "as they are", Bounds(2, undone=1, readers=1), OVER_ROWS)
            yield Planned(name, "as they are", Bounds(4, undone=1, readers=1, moves=1, keys=ENDS))
            yield Planned(name, "as they are", Bounds(6, undone=1, readers=2, keys=(0,)))
            continue
        yield Planned(name, "as they are", Bounds(1, undone=1, readers=1, moves=1), OVER_ROWS)
        yield Planned(name, "tiny", Bounds(1, undone=1, readers=1, moves=1))
        if isinstance(scope, GroupsScope):
            yield Planned(name, "tiny", Bounds(3, undone=1, readers=1, keys=ENDS))
        else:
            yield Planned(name, "tiny", Bounds(2, undone=1, readers=1, keys=ENDS), OVER_ROWS)
        if isinstance(scope, RowsScope):
            yield Planned(name, "tiny", Bounds(2, undone=1, quiet=True, keys=ALL))
            yield Planned(name, "tiny, runs last", Bounds(2, undone=1, keys=ALL), OVER_ROWS)
        yield Planned(name, "tiny", Bounds(2), OVER_ROWS)
    for capacity in ("tiny", "small"):
        yield Planned("groups", capacity, Bounds(5, undone=5, keys=ALL))
    yield Planned("keyed table", "tiny", Bounds(5, undone=1, keys=ENDS), OVER_ROWS)
    yield Planned("groups", "tiny", Bounds(4, readers=1, keys=(0, 1, 3)), slice(1))
    yield Planned("keyed table", "tiny", Bounds(2, undone=1, quiet=True), OVER_ONE)
    for name in ("keyed table", "derived rows with texts"):
        yield Planned(name, "tiny", Bounds(5, keys=ENDS), OVER_ONE)
    for name in ("table by pairs", "keyed table by pairs", "derived rows by pairs"):
        yield Planned(name, "tiny", Bounds(5, keys=ALIKE), OVER_ONE)


def _long() -> Iterator[Planned]:
    """The others, in which five commits change one of all keys each, and each is sealed or rolled back.

    Groups are walked like that without a bound: states are met again. Of rows none is, for they get new numbers, and
    what was undone has moved rows of an index. Where keys are unique, four keys and five commits are walked with one
    of them undone; with all of them undone two keys, the least and the greatest, among others that stay. Where a key
    has two rows, four keys and five commits are all sealed (for windows, and among so many others, where a commit takes
    three times as long, three keys); and each of five is undone, or not, of the two keys, under tiny capacities; of
    four under others, which five commits do not fill.

    Rows that can be read as of earlier times are compacted when those who held them back let go: one key shows it.
    """
    for name, scope in SCOPES.items():
        if isinstance(scope, RowsScope) and scope.history:
            yield Planned(name, "tiny", Bounds(3, undone=1, readers=1, keys=ENDS), OVER_ROWS)
            yield Planned(name, "tiny", Bounds(5, undone=1, readers=1, keys=(0,)), OVER_ONE)
            continue
        if isinstance(scope, RoundsScope | SettledScope):
            for capacity in ("as they are", "tiny", "small"):
                yield Planned(name, capacity, Bounds(2, undone=1))
                yield Planned(name, capacity, Bounds(5, undone=5, keys=ENDS))
                yield Planned(name, capacity, Bounds(3, undone=1, moves=1, keys=ALL))
            continue
        slow = name in ("windows", "ordered rows among others")
        for capacity in ("as they are", "tiny", "small"):
            if isinstance(scope, GroupsScope):
                yield Planned(name, capacity, Bounds(5, undone=5, keys=ALL))
                yield Planned(name, capacity, Bounds(3, undone=1))
                yield Planned(name, capacity, Bounds(2, undone=2, readers=1, moves=1))
                continue
            yield Planned(name, capacity, Bounds(2, undone=1))
            yield Planned(name, capacity, Bounds(3, undone=1, readers=1, moves=1, keys=ENDS))
            if isinstance(scope, RowsScope):
                yield Planned(name, capacity, Bounds(4, undone=2, quiet=True, keys=ENDS))
                if capacity == "tiny":
                    yield Planned(name, "tiny, runs last", Bounds(4, undone=2, keys=ENDS))
            if isinstance(scope, KeyedTableScope):
                yield Planned(name, capacity, Bounds(5, undone=5, keys=ENDS))
                yield Planned(name, capacity, Bounds(5, undone=int(capacity == "tiny"), keys=ALL))
            elif capacity == "tiny":
                yield Planned(name, capacity, Bounds(5, undone=2 if slow else 5, keys=ENDS))
                yield Planned(name, capacity, Bounds(5, keys=(0, 1, 3) if slow else ALL))
            else:
                yield Planned(name, capacity, Bounds(4, undone=4, keys=ENDS))


SHORT, LONG = list(_short()), list(_long())


@cache
def module_of(name: str) -> ModuleType:
    """The module of `ivm.trace` of this name, in whichever of its packages."""
    modules = pkgutil.walk_packages(ivm.trace.__path__, "ivm.trace.")
    (found,) = (each.name for each in modules if each.name.endswith(f".{name}") and not each.ispkg)
    return importlib.import_module(found)


@contextmanager
def _capacities(name: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for place, value in CAPACITIES[name].items():
            module, constant = place.split(".")
            patch.setattr(module_of(module), constant, value)
        yield


def walk(planned: Planned) -> None:
    """Walk them, and tell how many they are; AssertionError if one is wrong."""
    name, capacity, bounds, roots = planned
    began, made = process_time(), Walk(SCOPES[name])
    with _capacities(capacity):
        made.go(bounds, roots)
    assert min(made.histories, made.commits, made.forks) > 0
    print(
        f"{name}, {capacity}: {made.histories:,} histories of {bounds}: {made.commits:,} commits, {made.forks:,} forks, "
        f"{process_time() - began:.1f} s"
    )


def replay(scope: str, capacity: str, commits: Sequence[Commit]) -> None:
    """One history of a scope, which is looked at after each commit; AssertionError if it is wrong."""
    with _capacities(capacity):
        Walk(SCOPES[scope]).replay(commits)


def short(scope: str) -> None:
    """Walk all short ones of a kind of state."""
    for planned in SHORT:
        if planned.scope == scope:
            walk(planned)
