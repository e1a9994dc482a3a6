"""What `durability` measures of checkpoints: what they take of the disk and of others' time; and of opening."""

from __future__ import annotations

import shutil
from typing import Any

from ivm.benchmarks import output
from ivm.benchmarks.asking import say
from ivm.benchmarks.durability_files_engine import Task, place_of
from ivm.benchmarks.durability_opening_engine import Task as OpeningTask
from ivm.benchmarks.figures import Figure, one, repeated, spread
from ivm.benchmarks.process import measure
from ivm.tpch.report import size

_ENGINE = "ivm.benchmarks.durability_files_engine"
_OPENING_COLUMNS = ("opened", "first answer s", "all views s", "memory after", "most meanwhile", "ratio")
_LATENCY_COLUMNS = ("commits of 100 rows, about", "number", "p50 ms", "p99 ms", "max ms")
_CLEAN, _KILLED = "after close", "after a kill, with a log"


def measured(
    load: str, refresh: str, views: tuple[str, ...], log_bytes: int, times: int, folder: str
) -> tuple[list[Figure], Any]:
    """A database of the whole `load` stream under all views: its files, a checkpoint beside commits, some openings."""
    say("a database of the whole stream, on disk")
    filled = measure(_ENGINE, Task(load, views, folder))
    path = str(place_of(folder))
    openings = {_CLEAN: _opened(path, views, times, _CLEAN)}
    say("a checkpoint beside commits")
    loaded = measure(_ENGINE, Task(load, views, folder, refresh, log_bytes=log_bytes))
    openings[_KILLED] = _opened(path, views, times, _KILLED)
    shutil.rmtree(path)
    ratio = filled["tables"] / filled["parquet"]
    output.note(
        f"on disk: tables {size(filled['tables'])}, {ratio:.2f} times Parquet with zstd ({size(filled['parquet'])}), "
        f"views {size(filled['states'])}; checkpoint at close {filled['closing']:.2f} s, beside commits "
        f"{loaded['checkpoint']:.2f} s; log {size(loaded['log_bytes'])}"
    )
    output.table("refresh stream, all of these views", _LATENCY_COLUMNS, [
        (f"{name} a checkpoint", f"{each['count']:,}", *(f"{each[q]:,.1f}" for q in ("p50_ms", "p99_ms", "max_ms")))
        for name in ("without", "during") for each in [loaded[name]]
    ])  # fmt: skip
    output.table("opening", _OPENING_COLUMNS, [_row(name, found) for name, found in openings.items()])
    count = len(views)
    figures = [
        one("checkpoint at close", "s", filled["closing"], views=count),
        one("tables on disk", "B", filled["tables"], views=count),
        one("what views keep, on disk", "B", filled["states"], views=count),
        one("the same rows in Parquet", "B", filled["parquet"], views=count),
        one("checkpoint beside commits", "s", loaded["checkpoint"], views=count),
        one("log when killed", "B", loaded["log_bytes"], views=count),
    ]
    for name in ("without", "during"):
        figures.append(
            spread(
                f"commit {name} a checkpoint", "ms", loaded[name]["quantiles_ms"], loaded[name]["count"], views=count
            )
        )
    for name, found in openings.items():
        for key in ("first", "all"):
            figures.append(repeated(f"opening, {key}", "s", [each[key] for each in found], opened=name))
        for key in ("memory", "peak"):
            figures.append(repeated(f"opening, {key}", "B", [each[key] for each in found], opened=name))
    return figures, {"filled": filled, "loaded": loaded, "openings": openings}


def _opened(path: str, views: tuple[str, ...], times: int, how: str) -> list[dict[str, Any]]:
    """Several times the same, each in a process that ends as if killed."""
    say(f"opening, {how}")
    tasks = [OpeningTask(path, views, how, number) for number in range(times)]
    return [measure("ivm.benchmarks.durability_opening_engine", each) for each in tasks]


def _row(name: str, found: list[dict[str, Any]]) -> tuple[str, ...]:
    middle = {key: sorted(each[key] for each in found)[len(found) // 2] for key in ("first", "all", "memory", "peak")}
    return (
        name,
        f"{middle['first']:.2f}",
        f"{middle['all']:.2f}",
        size(middle["memory"]),
        size(middle["peak"]),
        f"{middle['peak'] / middle['memory']:.2f}",
    )
