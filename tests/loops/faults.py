"""Raises something at each line that a commit through loops reaches, or that brings a loop in, and looks what is left.

    python -m tests.loops.faults commit       at every line that a commit reaches
    python -m tests.loops.faults install 7 3  at every seventh one of those by which loops come in, from the third on

It prints what is wrong, and at last how many lines there were. See `tests.faults.harness`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from ivm.session.core import engine_of
from ivm.session.database import core_of
from tests.faults.lines import Place, lines_of, raising
from tests.loops.programs import PROGRAMS
from tests.loops.world import Changes, Rows, World

_INSTALLED = ("closure", "sums", "first two", "count", "won positions", "components")
"""Sums and rows by round, with a key and without; what is made anew in each round; names that are denied."""
_BASE: Changes = {
    "e": [((s, d), 1) for s, d in ((0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (5, 5))],
    "roots": [((0,), 1), ((5,), 1)],
}
_CHANGES: Sequence[Changes] = (
    {"e": [((1, 2), -1), ((1, 3), 1), ((4, 0), 1), ((5, 5), -1)], "roots": [((5,), -1)]},
    {"e": [((1, 3), -1), ((6, 1), 1)], "roots": [((6,), 1)]},
)
"""Of two times."""
_ERRORS: Sequence[type[BaseException]] = (KeyboardInterrupt, MemoryError)
Faults = Iterator[tuple[Place, str]]
"""Lines, each with what was wrong after something was raised there; nothing, if it was right."""


def _world() -> World:
    world = World(history=3)
    world.commit(_BASE)
    return world


def commit_faults(chosen: slice) -> Faults:
    """Raise in a commit of two times through several loops: it is done as a whole, or not at all."""
    world = _installed()
    before, shown_before = world.tables, _shown(world)
    lines = lines_of(partial(world.commit, *_CHANGES))
    after, shown_after = world.tables, _shown(world)
    world.check()
    world.commit(_back(before, after))
    for number, place in enumerate(lines[chosen]):
        raising(partial(world.commit, *_CHANGES), place, _ERRORS[number % 2])
        wrong, there = "", world.held()
        if there not in (before, after):
            wrong = "the tables are as never before"
        elif _shown(world) != (shown_before if there == before else shown_after):
            wrong = f"wrong {'before' if there == before else 'after'} the commit"
        else:
            world.tables = there
            wrong = _goes_on(world, before, after, shown_before, shown_after)
        yield place, wrong
        if wrong:
            world = _installed()


def _installed() -> World:
    world = _world()
    for name in _INSTALLED:
        world.install(PROGRAMS[name], name)
    return world


def _shown(world: World) -> Mapping[str, Rows]:
    return {name: world.rows(name) for name in world.loops}


def _back(to: Mapping[str, Rows], of: Mapping[str, Rows]) -> Changes:
    """What leads from one state of the tables to another."""
    found = {}
    for name in to:
        change = Counter(to[name])
        change.subtract(of[name])
        found[name] = [(row, n) for row, n in change.items() if n]
    return {name: updates for name, updates in found.items() if updates}


def _goes_on(
    world: World, before: Mapping[str, Rows], after: Mapping[str, Rows], shown_before: object, shown_after: object
) -> str:
    """What is wrong when the commit is made and taken back."""
    if world.tables == before:
        world.commit(*_CHANGES)
        if _shown(world) != shown_after:
            return "wrong when the commit is made again"
    world.commit(_back(before, after))
    return "" if _shown(world) == shown_before else "wrong when the commit is taken back"


def install_faults(chosen: slice) -> Faults:
    """Raise while a loop comes in: it is there as a whole, or nothing of it is; so it is when it comes again."""
    for name in _INSTALLED:
        world = _world()
        nodes = len(_nodes(world))
        loop = PROGRAMS[name].relation()
        install: Callable[[], None] = partial(world.bring_in, loop, "v")
        lines = lines_of(install)
        world.drop()
        for number, place in enumerate(lines[chosen]):
            raising(install, place, _ERRORS[number % 2])
            wrong = ""
            if "v" not in engine_of(core_of(world.db)).views:
                engine_of(core_of(world.db)).sweep()
                wrong = f"{len(_nodes(world))} nodes are left of {nodes}" * (len(_nodes(world)) != nodes)
                install()
            world.loops["v"] = loop
            before = world.tables
            try:
                world.check()
                world.commit(*_CHANGES)
                world.check()
                world.commit(_back(before, world.tables))
                world.check()
                world.drop()
            except AssertionError as error:
                wrong = wrong or str(error)
            yield place, wrong
            if wrong:
                break


def _nodes(world: World) -> Sequence[object]:
    return list(engine_of(core_of(world.db)).renderer.graph.nodes)


def _main(kind: str, every: int = 1, first: int = 0) -> int:
    count = wrong = 0
    for (path, line), found in {"commit": commit_faults, "install": install_faults}[kind](
        slice(first % every, None, every)
    ):
        count += 1
        if found:
            wrong += 1
            print(f"{path}:{line} {found}", flush=True)
    print(f"{count} faults, {wrong} left something broken")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1], *map(int, sys.argv[2:])))
