"""Runs the faults and prints what is wrong; see `tests.faults.harness`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

from tests.faults import lines
from tests.faults.harness import (
    ERRORS,
    Failure,
    commit_faults,
    definition_faults,
    growing_faults,
    read_faults,
)
from tests.faults.lines import Place
from tests.faults.scenes import READS, VIEWS, commits


def _main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scene", choices=[*VIEWS, "grown"])
    parser.add_argument("--shape", help="of a commit, or what is read, or create or drop")
    parser.add_argument("--file", default="", help="a part of the path of the files in which something is raised")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--error", choices=[each.__name__ for each in ERRORS])
    parser.add_argument("--verbose", action="store_true", help="print each place before something is raised there")
    given = parser.parse_args()
    lines.VERBOSE = given.verbose
    errors = tuple(each for each in ERRORS if given.error in (None, each.__name__))
    total = wrong = 0
    for name, faults in _all(given.scene, given.shape, given.file, given.every, errors):
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


def _all(
    scene: str | None, shape: str | None, part: str, every: int, errors: tuple[type[BaseException], ...]
) -> Iterator[tuple[str, Iterator[tuple[Place, Failure | None]]]]:
    for each in VIEWS if scene is None else [scene] if scene in VIEWS else []:
        for one in commits():
            if shape in (None, one):
                yield f"{each}, {one}", commit_faults(each, one, part=part, every=every, errors=errors)
        for one in READS:
            if shape in (None, one):
                yield f"{each}, {one}", read_faults(each, one, part=part, every=every, errors=errors)
        for one in ("create", "drop"):
            if shape in (None, one):
                yield f"{each}, {one}", definition_faults(each, one, part=part, every=every, errors=errors)
    if scene in (None, "grown") and shape in (None, "insert"):
        yield "grown, insert", growing_faults(part=part, every=every, errors=errors)


if __name__ == "__main__":
    sys.exit(_main())
