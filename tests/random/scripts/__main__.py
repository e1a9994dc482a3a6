"""`python -m tests.random.scripts --seconds 600 --seed 1`: search for scripts that differ; each is made short."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from time import monotonic

from tests.random.scripts.play import Failure, play
from tests.random.scripts.script import random_script
from tests.random.scripts.step import Script, Step, parsed, written


def main() -> int:
    """Exit code 1 if a difference was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.random.scripts", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to search")
    parser.add_argument("--seed", type=int, default=1, help="the first seed; the others follow it")
    parser.add_argument("--shrink", type=float, default=30.0, help="seconds for each script that differs")
    parser.add_argument("files", nargs="*", type=Path, help="run these instead")
    options = parser.parse_args()
    if options.files:
        found = [play(parsed(path.read_text(encoding="utf-8"))) for path in options.files]
        print(*found, sep="\n")
        return int(any(each.failure for each in found))
    return _search(options)


def _search(options: argparse.Namespace) -> int:
    counts, reasons, end, seed = Counter[str](), Counter[str](), monotonic() + options.seconds, options.seed
    while monotonic() < end:
        script = random_script(seed)
        played = play(script)
        counts.update(scripts=1, compared=played.compared, done=played.done, failed=played.failed)
        reasons.update(f"refused: {reason[:100]}" for reason in played.refused)
        reasons.update([f"skipped: {played.skipped[:100]}"] if played.skipped else [])
        if played.failure is not None:
            counts["differ"] += 1
            print(f"seed {seed}: {played.failure}", flush=True)
            shorter, failure = shrunk(script, played.failure, options.shrink)
            print(written(shorter, f"seed {seed}: {failure.kind}: {failure.message}"), flush=True)
        seed += 1
    print(f"seeds {options.seed} to {seed - 1}: {dict(counts)}")
    for reason, count in reasons.most_common(25):
        print(f"  {count} {reason}")
    return int(counts["differ"] > 0)


def shrunk(script: Script, failure: Failure, seconds: float) -> tuple[Script, Failure]:
    """The script with as few steps as fail in the same way, found in about so many seconds."""
    end = monotonic() + seconds
    script = replace(script, steps=script.steps[: failure.step + 1])
    size = max(1, len(script.steps) // 2)
    while size and monotonic() < end:
        at = 0
        while at < len(script.steps) and monotonic() < end:
            candidate = replace(script, steps=_without(script.steps, at, at + size))
            found = play(candidate).failure
            if found is not None and _alike(found, failure):
                script, failure = replace(candidate, steps=candidate.steps[: found.step + 1]), found
            else:
                at += size
        size //= 2
    if script.place != "memory" and (found := play(replace(script, place="memory")).failure):
        script, failure = replace(script, place="memory"), found
    return script, failure


def _without(steps: tuple[Step, ...], first: int, last: int) -> tuple[Step, ...]:
    """Without some steps; where a view is not replaced, DuckDB is not told either what it would read."""
    rest = steps[last:]
    if any(step.text.startswith("CREATE OR REPLACE") and not step.duckdb for step in steps[first:last]):
        rest = tuple(step for step in rest if not step.duckdb)
    return (*steps[:first], *rest)


def _alike(found: Failure, failure: Failure) -> bool:
    """Whether they are most likely of one cause."""
    return found.kind == failure.kind and (found.kind == "rows" or found.message[:40] == failure.message[:40])


sys.exit(main())
