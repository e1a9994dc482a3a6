"""`python -m tests.random --seconds 600 --seed 1`: search for differences; each is shrunk and printed as a case."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from time import monotonic

from tests.random.case import parsed, written
from tests.random.run import run
from tests.random.search import Counts, construct, try_seed
from tests.random.shrink import shrunk


def main() -> int:
    """Exit code 1 if a difference was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.random", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to search")
    parser.add_argument("--seed", type=int, default=1, help="the first seed; the others follow it")
    parser.add_argument("--cases", type=int, default=None, help="at most so many seeds")
    parser.add_argument("--shrink", type=float, default=30.0, help="seconds for each failing case")
    parser.add_argument("--compile", default="off", choices=("off", "wait"), help="interpreted or compiled kernels")
    parser.add_argument("--shards", type=int, default=None, help="spread over so many")
    parser.add_argument("--out", type=Path, default=None, help="a folder for shrunk cases")
    parser.add_argument("--examples", action="store_true", help="show a query for each reason to refuse")
    parser.add_argument("files", nargs="*", type=Path, help="run these cases instead")
    options = parser.parse_args()
    if options.files:
        return sum([_run_file(path, options.shards) for path in options.files])
    return _search(options)


def _run_file(path: Path, shards: int | None) -> int:
    outcome = run(parsed(path.read_text(encoding="utf-8")), shards=shards)
    print(f"{path}: {outcome.failure or outcome.refused or outcome.skipped or 'as DuckDB'}")
    return int(outcome.failure is not None)


def _search(options: argparse.Namespace) -> int:
    counts, failures = Counts(), Counter[str]()
    end, seed = monotonic() + options.seconds, options.seed
    while monotonic() < end and (options.cases is None or counts.cases < options.cases):
        case, outcome = try_seed(seed, counts, options.compile, options.shards)
        failure = outcome.failure
        if failure is not None:
            what = construct(f"{failure.kind}: {failure.message if failure.kind != 'rows' else ''}")
            failures[what] += 1
            print(f"seed {seed}, view {failure.view}: {failure.kind}: {failure.message}", flush=True)
            if failures[what] <= 3 or failure.kind == "rows":
                smaller = shrunk(case, failure, options.shrink, options.shards)
                again = run(smaller, shards=options.shards).failure or failure
                script = written(smaller, f"seed {seed}: {again.kind}: {again.message}")
                print(script, flush=True)
                if options.out is not None:
                    (options.out / f"seed_{seed}.sql").write_text(script, encoding="utf-8")
        seed += 1
    print(f"seeds {options.seed} to {seed - 1}: {counts.text()}")
    for what, count in failures.most_common():
        print(f"  FAILED {count}: {what}")
    if options.examples:
        for reason, text in counts.examples.items():
            print(f"--- {reason}\n{text}")
    return int(bool(failures))


sys.exit(main())
