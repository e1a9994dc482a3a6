"""Run one measurement in a fresh process, on as many threads as it asks for, so that time and memory are its own."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ivm.catalog.errors import Error
from ivm.progress import Tell

_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_TELL_SECONDS = 0.2
_STEP, _ANSWER = "step", "answer"


class BenchmarkError(Error):
    """A measurement failed; the message carries the end of what its process said."""


_kept: list[tuple[Path, str]] = []


@contextlib.contextmanager
def kept(folder: Path, state: str) -> Iterator[None]:
    """While the block runs, answers are kept in a folder; those of the same task and `state` are not asked again."""
    folder.mkdir(parents=True, exist_ok=True)
    _kept.append((folder, state))
    try:
        yield
    finally:
        _kept.pop()


def measure(module: str, task: Any, tell: Tell = lambda step, done, total: None) -> dict[str, Any]:
    """Run `python -m module` on the dataclass `task`; what it answers, having told how far it is.

    Raises BenchmarkError if it fails.
    """
    if not _kept:
        return _measured(module, task, tell)
    folder, state = _kept[-1]
    asked = json.dumps([module, dataclasses.asdict(task), state])
    file = folder / f"{module.rpartition('.')[2]}-{hashlib.sha256(asked.encode()).hexdigest()[:16]}.json"
    with contextlib.suppress(OSError, ValueError):  # none, or one that was not written to its end
        known: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return known
    found = _measured(module, task, tell)
    file.write_text(json.dumps(found), encoding="utf-8")
    return found


def _measured(module: str, task: Any, tell: Tell) -> dict[str, Any]:
    threads = dict.fromkeys(_THREADS, str(getattr(task, "threads", 1)))
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=os.environ | threads,
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
