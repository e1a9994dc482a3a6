"""A module imports only from floors below its own, third-party packages only where the design allows, no cycles."""

from __future__ import annotations

import sys
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.house.floors import ARRAYS, COLUMNAR_HALF, EXPRESSION_HALF, PLACES, ROOMS, is_in_half, may_import, place_of
from tests.house.modules import AT_LEAST, Module, is_within, modules, names, targets


def test_the_scan_finds_the_house():
    assert len(modules()) >= AT_LEAST
    empty = [place.prefix for place in PLACES if place.prefix not in names()]
    assert not empty, f"no package at {empty}"
    assert sum(1 for module in modules() for _ in module.imports()) > 5 * AT_LEAST


def floor_breaches(module: Module) -> list[str]:
    """Imports of a module of ours on a floor that the importer may not see."""
    here = place_of(module.name)
    assert here is not None, f"{module.path} stands in no place of tests/house/floors.py"
    found = []
    for line, target in targets(module):
        there = place_of(target)
        if there is not None and not may_import(here, there):
            found.append(
                f"{module.path}:{line}: {here.prefix} (floor {here.floor}) "
                f"imports {target} ({there.prefix}, floor {there.floor})"
            )
    return found


def third_party_breaches(module: Module) -> list[str]:
    """Imports of packages that are neither ours, nor Python's, nor allowed in this place."""
    here = place_of(module.name)
    assert here is not None
    found = []
    for line, target in targets(module):
        top = target.partition(".")[0]
        if place_of(target) is None and top not in sys.stdlib_module_names and top not in here.third_party:
            found.append(f"{module.path}:{line}: {here.prefix} imports {top}")
    return found


def half_breaches(module: Module) -> list[str]:
    """Imports by which one half of the engine would know the other."""
    found = []
    for line, target in targets(module):
        top = target.partition(".")[0]
        if is_in_half(module.name, EXPRESSION_HALF) and (is_in_half(target, COLUMNAR_HALF) or top in ARRAYS):
            found.append(f"{module.path}:{line}: the expression half sees arrays ({target})")
        if is_in_half(module.name, COLUMNAR_HALF) and is_in_half(target, EXPRESSION_HALF):
            found.append(f"{module.path}:{line}: the columnar half sees expressions ({target})")
    return found


def room_breaches(module: Module) -> list[str]:
    """Imports of a room by one that stands before it."""
    return [
        f"{module.path}:{line}: {room} imports {target}"
        for rooms in ROOMS
        for number, room in enumerate(rooms)
        if is_within(module.name, room)
        for line, target in targets(module)
        if any(is_within(target, behind) for behind in rooms[number + 1 :])
    ]


@pytest.mark.parametrize("breaches", [floor_breaches, third_party_breaches, half_breaches, room_breaches])
def test_imports_keep_to_the_floors(breaches):
    found = [breach for module in modules() for breach in breaches(module)]
    assert not found, "\n".join(found)


def test_no_cycles():
    graph = {module.name: {t for _, t in targets(module) if t in names()} - {module.name} for module in modules()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as cycle:
        pytest.fail("modules import each other: " + " <- ".join(cycle.args[1]))
    assert len(order) >= AT_LEAST


def test_nobody_imports_the_tests():
    found = [f"{m.path}:{line}" for m in modules() for line, target in targets(m) if target.startswith("tests")]
    assert not found
