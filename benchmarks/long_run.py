"""What runs that last have in common: their options, jobs in threads, the memory of the process, and that of a fresh
one.
"""

from __future__ import annotations

import argparse
import gc
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import pyarrow as pa

from ivm.kernels.memory.allocator import give_back_freed_pages

Act = Callable[[random.Random], None]
Job = tuple[str, Act, float]
"""What is done again and again, with a name, and how many seconds it rests before each time."""


class AtOnce:
    """Jobs in threads, until their time is over or one has failed."""

    def __init__(self, seed: int) -> None:
        self.over = threading.Event()
        """By which jobs that wait learn that they are to end."""
        self._seed = seed
        self._errors: list[BaseException] = []

    def run(self, jobs: Sequence[Job], seconds: float, times: int) -> Generator[float, None, None]:
        """Do all of them; yields so many `times` how many seconds are over. No thread is left when it ends.

        Raises what a job has raised.
        """
        threads = [threading.Thread(target=self._again, args=job, name=job[0]) for job in jobs]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        try:
            while (now := time.monotonic() - begun) < seconds and not self._errors:
                yield now
                self.over.wait(seconds / times)
        finally:
            self.over.set()
            for thread in threads:
                thread.join()
        if self._errors:
            raise self._errors[0]

    def _again(self, name: str, act: Act, rest: float) -> None:
        chance = random.Random(f"{self._seed} {name}")
        try:
            while not self.over.wait(rest):
                act(chance)
        except BaseException as error:  # noqa: BLE001  the main thread raises it
            self._errors.append(error)
            self.over.set()


def options(about: str | None, rows: int) -> argparse.Namespace:
    """What a run is asked for: `minutes`, `rows`, `seed`; `fresh`, a folder, where it is to load what is left there."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--minutes", type=float, default=60.0, help="for how long")
    parser.add_argument("--rows", type=int, default=rows, help="rows that are there at a time")
    parser.add_argument("--seed", type=int, default=1, help="of the changes")
    parser.add_argument("--fresh", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def fresh_process(module: str, folder: str) -> list[float]:
    """The numbers that a process of its own prints, which loads with `--fresh` what is left in a folder."""
    again = [sys.executable, "-m", f"ivm.benchmarks.{module}", "--fresh", folder]
    return [*map(float, subprocess.run(again, check=True, capture_output=True, text=True).stdout.split())]


def memory() -> float:
    """Resident MiB, after all that is free was given back."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    give_back_freed_pages()
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024
