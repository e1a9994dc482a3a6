"""`python -m tests.slt [--rewrite] [FILE...]`: check scripts on the engine, or put DuckDB's results into them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.slt.run import HERE, Failed, check, rewrite


def main() -> int:
    """Exit code 1 if a script failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.slt", description=__doc__)
    parser.add_argument("--rewrite", action="store_true", help="put DuckDB's results in place of the expected ones")
    parser.add_argument("files", nargs="*", type=Path, default=sorted(HERE.glob("*.slt")))
    options = parser.parse_args()
    failures = 0
    for path in options.files:
        try:
            done = "rewritten" if options.rewrite and rewrite(path) else f"{check(path)} records"
            print(f"{path.name}: {done}")
        except Failed as failed:
            failures += 1
            print(failed)
    return 1 if failures else 0


sys.exit(main())
