"""Runs style, types and all tests, as `make test` does: some folders each, as many at once as there are processors.

python -m tests.suite            prints a line for each that is right, and all that is said by those that are not
python -m tests.suite -m slow    what follows goes to pytest
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

TESTS = Path(__file__).parent
OTHERS = "others"
"""What all the folders run as that are not named below: a process takes as long to begin as a small folder."""
LONGEST = (
    "transport", "spark tpch", "engine", "cluster", "durable", OTHERS, "histories", "sql", "scalars", "loops",
    "trace_state", "docs", "slt", "house", "benchmarks", "joins", "reduce", "interface", "contract", "cli", "faults",
)  # fmt: skip
"""Begin with these, so that none of them is alone at the end. Folders in one text share a process, and so Spark."""
NOTHING_TO_RUN = 5
"""What pytest exits with where no test is selected."""
_KEPT = {"PYTHONDONTWRITEBYTECODE": ""}
"""What one process has compiled of our modules, some 200 others need not: it is half of what their imports take."""


def folders() -> dict[str, list[str]]:
    """The folders of tests of each process, by its name, in the order in which they begin."""
    there = {path.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")}
    named = {names: names.split() for names in LONGEST}
    return named | {OTHERS: sorted(there - {name for names in named.values() for name in names})}


def commands(given: Sequence[str]) -> dict[str, list[str]]:
    """What is run, by name."""
    python = sys.executable
    pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *given]
    style = {"style": [python, "-m", "ruff", "check", "."], "types": [python, "-m", "mypy"]}
    tests = {name: [*pytest, *(f"tests/{each}" for each in found)] for name, found in folders().items()}
    return tests if given else style | tests


def _run(command: list[str]) -> tuple[bool, str, float]:
    began = time.monotonic()
    done = subprocess.run(
        command, cwd=TESTS.parent, env=os.environ | _KEPT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False,
    )  # fmt: skip
    return done.returncode in (0, NOTHING_TO_RUN), done.stdout, time.monotonic() - began


def _outcome(said: str) -> str:
    """The line that counts tests, or else the last one: libraries may have a word after it, when the process ends."""
    lines = said.strip().splitlines() or [""]
    return next((line for line in reversed(lines) if " passed" in line or " failed" in line), lines[-1])


def main() -> int:
    """Run everything; 1 if anything was wrong."""
    wrong, pool = [], ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    try:
        running = {pool.submit(_run, command): name for name, command in commands(sys.argv[1:]).items()}
        for each in as_completed(running):
            name, (is_right, said, seconds) = running[each], each.result()
            if not is_right:
                wrong.append(name)
                print(said)
            print(f"{name}: {_outcome(said)} ({seconds:.0f} s)", flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    print(f"wrong: {', '.join(wrong)}" if wrong else "all right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
