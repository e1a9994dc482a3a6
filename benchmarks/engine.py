"""The engine as benchmarks connect to it, and commits that are timed."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import pyarrow as pa

import ivm
from ivm.benchmarks.compilations import compilations
from ivm.benchmarks.process import BenchmarkError


def takes_threads() -> bool:
    """Whether `ivm.connect` can be told how many threads to use; else it is one."""
    return "threads" in inspect.signature(ivm.connect).parameters


def connect(
    threads: int = 1, *, sharing: bool = True, seen: int = 0, path: str | None = None, durability: str = "commit"
) -> ivm.Database:
    """A database whose kernels are compiled before they are first used, on so many threads, Arrow's too.

    It is in memory and empty, or what the directory `path` has.

    The last `seen` times can be read beside the present. Of times that nobody can see the engine makes one: a benchmark
    of batches whose every time is kept asks for as many as a batch has.

    Raises BenchmarkError for several threads where the engine has but one.
    """
    pa.set_cpu_count(threads)
    told: dict[str, Any] = {"threads": threads} if takes_threads() else {}
    if path is not None:
        told |= {"path": path, "durability": durability}
    if threads > 1 and not told:
        raise BenchmarkError(f"cannot measure {threads} threads: this engine's connect() takes no number of threads")
    return ivm.connect(compile="wait", sharing=sharing, history=seen, **told)


@dataclass(slots=True)
class Commits:
    """How long commits took; `compiled` are those in which something was compiled, which are in `seconds` no more."""

    seconds: list[float] = field(default_factory=list)
    compiled: list[float] = field(default_factory=list)

    def apply(self, db: ivm.Database, tables: dict[str, pa.Table]) -> float:
        """Commit a batch; the seconds that it took."""
        before = compilations()
        started = perf_counter()
        db.apply(tables)
        took = perf_counter() - started
        (self.seconds if compilations() == before else self.compiled).append(took)
        return took

    @property
    def measured(self) -> list[float]:
        """The seconds that count; those of all commits where each of them compiled, as a single one may."""
        return self.seconds or self.compiled

    def apart(self) -> dict[str, float]:
        """What is told beside the latencies: of how many commits they are, how many compiled, and their seconds."""
        return {
            "measured_commits": len(self.measured),
            "compiled_commits": len(self.compiled),
            "compiled_seconds": sum(self.compiled),
        }
