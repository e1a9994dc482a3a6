"""Whatever is raised at whatever line of a commit: it is done as a whole, or not at all, and the database goes on.

Each case runs in a process of its own, which a fault may end. How to run one by hand: see `tests.faults.harness`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.scenes import READS, VIEWS, commits

ROOT = Path(__file__).parents[2]
_SAMPLED = [("reduces", "times"), ("sets", "upsert"), ("windows", "mixed"), ("joins", "upsert"), ("grown", "insert")]


def _run(scene: str, shape: str, every: int) -> None:
    given = ["--scene", scene, "--shape", shape, "--every", str(every), "--verbose"]
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.faults", *given]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    wrong = [line for line in lines if not line.startswith("raising")]
    assert done.returncode == 0, "\n".join([*wrong, *lines[-1:], done.stderr[-3000:]])


@pytest.mark.parametrize(("scene", "shape"), _SAMPLED)
def test_a_commit_is_done_or_undone_as_a_whole(scene: str, shape: str) -> None:
    _run(scene, shape, 60)


@pytest.mark.parametrize(("shape", "every"), [("subscribe", 10), ("fetch", 20), ("drop", 40), ("create", 350)])
def test_who_reads_and_defines_changes_nothing_else(shape: str, every: int) -> None:
    _run("joins" if shape in ("create", "drop") else "sets", shape, every)


@pytest.mark.slow
@pytest.mark.parametrize("scene", VIEWS)
@pytest.mark.parametrize("shape", [*commits(), *READS, "create", "drop"])
def test_every_line(scene: str, shape: str) -> None:
    _run(scene, shape, 1)


@pytest.mark.slow
def test_every_line_of_a_commit_where_rows_only_come() -> None:
    _run("grown", "insert", 1)
