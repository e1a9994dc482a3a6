"""Whatever is raised at whatever line of a commit: it is done as a whole, or not at all, and the database goes on.

They run in a process of their own, which a fault may end. How to run one by hand: see `tests.faults.harness`. Each day
other lines are raised at; what is wrong names the line, and `--file` and `--sample` find it again.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.scenes import READS, VIEWS, commits
from tests.more import TODAY

ROOT = Path(__file__).parents[2]
_COMMITS = [
    "reduces:times",
    "sets:upsert",
    "windows:mixed",
    "joins:upsert",
    "walks:upsert",
    "walks:come",
    "grown:insert",
    "loops:times",
]
_OTHERS = ["sets:subscribe", "sets:fetch", "sets:named", "joins:drop", "joins:create", "loops:create"]


def _run(*given: str) -> None:
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.faults", *given, "--verbose"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    wrong = [line for line in lines if not line.startswith("raising")]
    assert done.returncode == 0, "\n".join([*wrong, *lines[-1:], done.stderr[-3000:]])


def test_a_commit_is_done_or_undone_as_a_whole() -> None:
    _run(*_COMMITS, "--sample", str(TODAY))


def test_so_it_is_where_threads_help() -> None:
    _run("joins:upsert", "--helped", "--sample", str(TODAY))


def test_who_reads_and_defines_changes_nothing_else() -> None:
    _run(*_OTHERS, "--sample", str(TODAY), "--every", "6")


def test_tables_and_indexes_come_and_go_as_a_whole() -> None:
    _run("tables", "--sample", str(TODAY), "--every", "4")


@pytest.mark.slow
def test_every_line_of_what_tables_and_indexes_come_by() -> None:
    _run("tables")


@pytest.mark.slow
@pytest.mark.parametrize("scene", VIEWS)
@pytest.mark.parametrize("shape", [*commits(), *READS, "create", "drop"])
def test_every_line(scene: str, shape: str) -> None:
    _run(f"{scene}:{shape}")


@pytest.mark.slow
def test_every_line_of_a_commit_where_rows_only_come() -> None:
    _run("grown")
