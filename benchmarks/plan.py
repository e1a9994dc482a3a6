"""What the suite measures: which benchmark, how it is called, and how large a run is, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Size:
    """How large the measurements are that do not follow from the scale factor."""

    views: str
    batches: str
    rows: str
    commits: int
    stream_batch: int
    active: int
    every: int
    again: int
    keys: int
    rate: int
    rates: int
    seconds: float
    group_rows: int
    group_commits: int
    cases: str
    waiting_rows: int
    listeners: int
    kinds: str
    durable_views: str
    opened_views: str
    log_mib: int
    threads: tuple[int, ...]
    spark: str
    over: str
    over_changes: str
    loops: str
    loop_scale: float
    loop_steps: int
    other_modes: bool
    demo: bool


FULL = Size(
    views="all", batches="100000,1000", rows="5,100,1000", commits=1_000, stream_batch=1_000, active=10, every=50,
    again=3, keys=10_000_000, rate=1_000_000, rates=4, seconds=10.0, group_rows=1_000_000, group_commits=2_000,
    cases="all", waiting_rows=2_000_000, listeners=1_000, kinds="all", durable_views="q1,q3,q9,q18", opened_views="all",
    log_mib=100, threads=(1, 2), spark="local-cluster[2,1,2048]", over="2,8,32,128",
    over_changes="1000,100000,1000000", loops="all", loop_scale=1.0, loop_steps=2_000, other_modes=True, demo=True,
)  # fmt: skip
"""About two hours at scale factor 1 on two cores."""

SMOKE = Size(
    views="q3,q6", batches="1000", rows="5", commits=5, stream_batch=600, active=1, every=5, again=1, keys=2_000,
    rate=20_000, rates=1, seconds=0.05, group_rows=500, group_commits=5, cases="delete-max", waiting_rows=500,
    listeners=3, kinds="join", durable_views="q3", opened_views="q3", log_mib=0, threads=(1,),
    spark="", over="1,2", over_changes="100", loops="reach,triangles-skewed",
    loop_scale=0.001, loop_steps=20, other_modes=False, demo=False,
)  # fmt: skip
"""To see that everything works."""

SIZES = {"full": FULL, "smoke": SMOKE}


@dataclass(frozen=True, slots=True)
class Run:
    """One call of a benchmark: `name` is its own, `module` that of `benchmarks`, then all arguments but `--json`."""

    name: str
    module: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the suite was asked: the scale factor, all of those that are compared, where streams are, the passes."""

    sf: float
    scales: tuple[float, ...]
    data: Path
    passes: int
    size: Size


def runs(asked: Asked, *, takes_threads: bool) -> Iterator[Run]:
    """All runs in their order: what is looked at first comes first."""
    size = asked.size
    at = ("--sf", f"{asked.sf:g}", "--data", str(asked.data / f"sf{asked.sf:g}"))
    by_scale = ("--data", str(asked.data), "--views", size.views)
    views, passes = ("--views", size.views), ("--passes", str(asked.passes))
    each_view = (*at, *views, *passes)
    threads = [each for each in size.threads if each == 1 or takes_threads]
    for each in threads:
        said = _said(each)
        alone = ("--batch", size.batches, "--no-duckdb", "--threads", str(each))
        yield Run(f"streaming{said}", "streaming", (*each_view, *alone))
    yield Run("batch", "streaming", (*each_view, "--batch", "all", "--samples", "1"))
    kept = ("--batch", size.batches, "--no-duckdb", "--keep-times")
    yield Run("streaming-times-kept", "streaming", (*each_view, *kept))
    scales = ",".join(f"{each:g}" for each in asked.scales)
    small = ("--rows", size.rows, "--commits", str(size.commits))
    yield Run("refresh-latency", "refresh_latency", ("--sf", scales, *by_scale, *small))
    for each in threads[1:]:
        more = ("--sf", f"{asked.sf:g}", *by_scale, *small, "--threads", str(each))
        yield Run(f"refresh-latency{_said(each)}", "refresh_latency", more)
    yield Run("commit", "commit", (*at, *views, "--commits", str(size.commits)))
    yield Run("concurrent", "concurrent", (*at, *views, "--batch", str(size.stream_batch)))
    for each in threads if size.other_modes else ():
        large = ("--streams", "load,window", "--batch", "100000", "--threads", str(each))
        yield Run(f"concurrent-large{_said(each)}", "concurrent", (*at, *views, *large))
    coming = ("--batch", str(size.stream_batch), "--active", str(size.active), "--every", str(size.every))
    yield Run("sharing", "sharing", (*at, *views, *coming, "--again", str(size.again)))
    yield Run("installing", "installing", ("--sf", f"{asked.sf:g}", *by_scale))
    arranged = ("--keys", str(size.keys), "--rate", str(size.rate), "--rates", str(size.rates))
    yield Run("arrange", "arrange", (*arranged, "--seconds", f"{size.seconds:g}"))
    whole = () if size.other_modes else ("--no-without", "--no-runs")
    yield Run("state", "state", (*at, *views, "--active", str(size.active), *whole))
    rows = ("--rows", str(size.group_rows), "--commits", str(size.group_commits))
    yield Run("adversarial", "adversarial", ("--cases", size.cases, *rows))
    yield Run("waiting", "waiting", ("--kinds", size.kinds, "--rows", str(size.waiting_rows)))
    looked_on = ("--listeners", str(size.listeners), "--rows", str(size.waiting_rows // 2))
    yield Run("live", "live", (*looked_on, "--commits", str(size.commits)))
    lasting = ("--views", size.durable_views, "--batch", size.batches, "--commits", str(size.commits))
    opened = ("--whole", size.opened_views, "--log", str(size.log_mib))
    yield Run("durability", "durability", (*at, *passes, *lasting, *opened))
    smallest = min(asked.scales)
    there = ("--sf", f"{smallest:g}", "--data", str(asked.data / f"sf{smallest:g}"), *views, *passes)
    spread = ("--spark", size.spark, "--counted", "", "--over", size.over, "--changes", size.over_changes)
    yield Run("cluster", "cluster", (*there, *spread))
    changed = ("--scale", f"{size.loop_scale:g}", "--steps", str(size.loop_steps))
    yield Run("graph", "graph.cli", ("bench", "--workloads", size.loops, *changed, "--data", str(asked.data / "graph")))
    yield Run("first-use", "first_use", () if size.demo else ("--no-demo", "--no-setup"))


def streams(chosen: Sequence[Run], asked: Asked) -> list[tuple[float, str]]:
    """(scale factor, stream) of all the streams that these runs read."""
    needs = {
        "streaming": [(asked.sf, "load")],
        "commit": [(asked.sf, "load"), (asked.sf, "refresh")],
        "state": [(asked.sf, "load")],
        "durability": [(asked.sf, "load"), (asked.sf, "refresh")],
        "refresh_latency": [(each, "refresh") for each in (*asked.scales, asked.sf)],
        "installing": [(asked.sf, "refresh")],
        "cluster": [(min(asked.scales), "refresh")],
        "sharing": [(asked.sf, "window")],
        "concurrent": [(asked.sf, each) for each in ("load", "refresh", "churn", "window")],
    }
    return list(dict.fromkeys(each for run in chosen for each in needs.get(run.module, ())))


def _said(threads: int) -> str:
    return "" if threads == 1 else f"-{threads}-threads"
