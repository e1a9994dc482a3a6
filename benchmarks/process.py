"""Run one measurement in a fresh process, on one thread, so that its time and peak memory are its own."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from typing import Any

from catalog.errors import Error

_ONE_THREAD = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class BenchmarkError(Error):
    """A measurement failed; the message carries the end of what its process said."""


def measure(module: str, task: Any) -> dict[str, Any]:
    """Run `python -m module` on the dataclass `task`; what it answers. Raises BenchmarkError if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", module],
        input=json.dumps(dataclasses.asdict(task)),
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | _ONE_THREAD,
    )
    if done.returncode != 0:
        said = "\n".join(done.stderr.strip().splitlines()[-8:])
        raise BenchmarkError(f"{module} failed for {task}:\n{said}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def task() -> dict[str, Any]:
    """What the process was asked to measure."""
    asked: dict[str, Any] = json.loads(sys.stdin.read())
    return asked


def answer(result: dict[str, Any]) -> None:
    """Hand the measurement back."""
    print(json.dumps(result), flush=True)
