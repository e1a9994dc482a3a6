"""Run one measurement in a fresh process, on one thread, so that its time and peak memory are its own."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from catalog.errors import Error
from ivm.progress import Tell

_ONE_THREAD = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_TELL_SECONDS = 0.2
_STEP, _ANSWER = "step", "answer"


class BenchmarkError(Error):
    """A measurement failed; the message carries the end of what its process said."""


def measure(module: str, task: Any, tell: Tell = lambda step, done, total: None) -> dict[str, Any]:
    """Run `python -m module` on the dataclass `task`; what it answers, having told how far it is.

    Raises BenchmarkError if it fails.
    """
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=os.environ | _ONE_THREAD,
        )
        with process:
            try:
                found = _converse(process, task, tell)
            except BaseException:
                process.kill()
                raise
        errors.seek(0)
        said = "\n".join(errors.read().strip().splitlines()[-8:])
    if process.returncode != 0 or found is None:
        raise BenchmarkError(f"{module} failed for {task}:\n{said}")
    return found


def _converse(process: subprocess.Popen[str], task: Any, tell: Tell) -> dict[str, Any] | None:
    """Hand over the task, pass on what the process tells; its answer, if it gave one."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(dataclasses.asdict(task)))
    process.stdin.close()
    for line in process.stdout:
        said = json.loads(line)
        if _ANSWER in said:
            answer: dict[str, Any] = said[_ANSWER]
            return answer
        tell(*said[_STEP])
    return None


def task() -> dict[str, Any]:
    """What the process was asked to measure."""
    asked: dict[str, Any] = json.loads(sys.stdin.read())
    return asked


class Steps:
    """Tells the process that asked how far this one is, a few times a second at most."""

    def __init__(self) -> None:
        self._step = ""
        self._last = 0.0

    def tell(self, step: str, done: int = 0, total: int = 0) -> None:
        """What is being measured, and how many of how many (0: not known) steps of it are done."""
        now = time.monotonic()
        if step != self._step or now - self._last >= _TELL_SECONDS:
            self._step, self._last = step, now
            print(json.dumps({_STEP: (step, done, total)}), flush=True)


def answer(result: dict[str, Any]) -> None:
    """Hand the measurement back."""
    print(json.dumps({_ANSWER: result}), flush=True)
