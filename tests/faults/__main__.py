"""Runs the faults and prints what is wrong; see `tests.faults.harness`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext

from tests.engine.threads import helped
from tests.faults import lines
from tests.faults.harness import (
    ERRORS,
    Errors,
    Faults,
    Pick,
    commit_faults,
    definition_faults,
    growing_faults,
    read_faults,
)
from tests.faults.lines import Place
from tests.faults.scenes import READS, VIEWS, commits
from tests.faults.tables import DEFINITIONS, table_faults

_TIMES_A_FILE = 2
_OTHERS = {"grown": ["insert"], "tables": list(DEFINITIONS)}


def _main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", nargs="*", help="scene, or scene:shape of a commit, of what is read, create or drop")
    parser.add_argument("--file", default="", help="a part of the path of the files in which something is raised")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--sample", type=int, help="only one line of each file, by turns, in the first two works")
    parser.add_argument("--error", choices=[each.__name__ for each in ERRORS])
    parser.add_argument("--verbose", action="store_true", help="print each place before something is raised there")
    parser.add_argument("--helped", action="store_true", help="by threads that work on every commit")
    given = parser.parse_args()
    with helped() if given.helped else nullcontext():
        return _raise_all(given)


def _raise_all(given: argparse.Namespace) -> int:
    lines.VERBOSE = given.verbose
    errors = tuple(each for each in ERRORS if given.error in (None, each.__name__))
    total = wrong = 0
    for name, faults in _all(given.work, _picking(given.file, given.every, given.sample), errors):
        started, here, bad = time.process_time(), 0, 0
        for _, failure in faults:
            here += 1
            if failure is not None:
                bad += 1
                print(failure, flush=True)
        print(f"{name}: {here} faults, {bad} wrong, {time.process_time() - started:.1f} s", flush=True)
        total, wrong = total + here, wrong + bad
    print(f"{total} faults, {wrong} left something broken")
    return wrong > 0


def _picking(part: str, every: int, sample: int | None) -> Pick:
    met: Counter[str] = Counter()

    def pick(reached: list[Place]) -> list[Place]:
        some = [place for place in reached if part in place[0]]
        if sample is not None:
            files: dict[str, list[Place]] = {}
            for place in some:
                files.setdefault(place[0], []).append(place)
            some = [each[sample % len(each)] for path, each in files.items() if met[path] < _TIMES_A_FILE]
            met.update(path for path, _ in some[::every])
        return some[::every]

    return pick


def _all(wanted: list[str], pick: Pick, errors: Errors) -> Iterator[tuple[str, Faults]]:
    for scene in [*VIEWS, "grown", "tables"]:
        shapes = _OTHERS.get(scene, [*commits(), *READS, "create", "drop"])
        for shape in shapes:
            if not wanted or {scene, f"{scene}:{shape}"} & set(wanted):
                yield f"{scene}, {shape}", _faults(scene, shape, pick, errors)


def _faults(scene: str, shape: str, pick: Pick, errors: Errors) -> Faults:
    if scene == "tables":
        return table_faults(shape, pick, errors)
    if scene == "grown":
        return growing_faults(pick, errors)
    if shape in READS:
        return read_faults(scene, shape, pick, errors)
    if shape in ("create", "drop"):
        return definition_faults(scene, shape, pick, errors)
    return commit_faults(scene, shape, pick, errors)


if __name__ == "__main__":
    sys.exit(_main())
