"""`ivm tpch bench cluster`: what a commit over shards takes, and how evenly shards work.

On a Spark cluster: small commits of the `refresh` stream under q3 alone and under all views, with the part of the time
that the busiest shard takes in its engine; commits of a million changes; and commits in which, or before which, a
process is killed. In one process, by counting: the work of the busiest of so many shards beside that of the mean, and
the state of shards beside that of one engine. There, too, by the clock: what a commit takes over more and more shards,
what these send each other as several processes, and what it is where each call of their folder waits.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ivm.benchmarks import output
from ivm.benchmarks.asking import Data, ScaleFactor, Views, numbers, shown
from ivm.benchmarks.cluster_counting_engine import Task as CountingTask
from ivm.benchmarks.cluster_engine import Task
from ivm.benchmarks.cluster_spread_engine import Task as SpreadTask
from ivm.benchmarks.figures import Figure, Label, one, repeated
from ivm.tpch.cache import ensure, views_of

_COMMITS_COLUMNS = ("commits", "rows\na commit", "\nmedian s", "\np90 s", "in engines\nmedian s", "\np90 s")
_EVEN = 1.3
"""A view whose busiest shard does more than so many times the work of the mean is not even: its operators are named."""
_FORMS = {"rows": "rows of the driver", "frames": "DataFrames"}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def cluster(
    sf: ScaleFactor = 0.1,
    views: Views = "all",
    spark: Annotated[
        str, typer.Option("--spark", metavar="MASTER", help="The Spark cluster; empty: only count.")
    ] = "local-cluster[2,1,2048]",
    shards: Annotated[int, typer.Option(min=1, help="Shards on Spark; an executor may have several.")] = 2,
    orders: Annotated[int, typer.Option(min=1, help="Orders of a small commit, with their lineitems.")] = 1_000,
    commits: Annotated[int, typer.Option(min=1, help="Small commits of each kind to measure.")] = 20,
    large: Annotated[int, typer.Option(min=2, help="Changes of a large commit.")] = 1_000_000,
    passes: Annotated[int, typer.Option(min=1, help="Large commits, and kills of each kind.")] = 3,
    counted: Annotated[str, typer.Option("--counted", help="Shards of one process; empty: do not count.")] = "8,32,128",
    batches: Annotated[int, typer.Option(min=1, help="Commits of 10,000 orders in which work is counted.")] = 3,
    over: Annotated[str, typer.Option("--over", help="Shards of one process, timed; empty: none.")] = "2,8,32,128",
    changes: Annotated[str, typer.Option("--changes", help="Changes of commits over them.")] = "1000,100000,1000000",
    wait: Annotated[int, typer.Option(min=0, help="Milliseconds of a call of a folder that is far.")] = 20,
    data: Data = None,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write.")] = Path("results/cluster.json"),
) -> None:
    """Commits over a Spark cluster, with and without processes killed; and what many shards do, and send."""
    began, names = time.monotonic(), views_of(views)
    counts = numbers(counted, int, "--counted") if counted else []
    shards_over = numbers(over, int, "--over") if over else []
    sizes = numbers(changes, int, "--changes")
    directory = str(ensure(sf, "refresh", None, data).directory) if spark or counts else ""
    figures, detail = list[Figure](), dict[str, Any]()
    if spark:
        task = Task(directory, names, spark, shards, orders, commits, large, passes)
        detail["spark"] = shown("ivm.benchmarks.cluster_engine", task, unit="rows")
        figures += _of_spark(detail["spark"], orders)
    if counts:
        detail["counted"] = {}
        for number in (0, *counts):
            counting = CountingTask(directory, names, _BATCH, batches, number)
            detail["counted"][str(number)] = shown("ivm.benchmarks.cluster_counting_engine", counting, unit="rows")
        figures += _of_counting(detail["counted"])
    if shards_over:
        detail["spread"] = {}
        for number in shards_over:
            spreading = SpreadTask(number, sizes, passes, _PROCESSES, wait / 1e3)
            detail["spread"][str(number)] = shown("ivm.benchmarks.cluster_spread_engine", spreading, unit="rows")
        figures += _of_spreading(detail["spread"], wait)
    parameters = {
        "sf": sf, "views": views, "spark": spark, "shards": shards, "orders": orders, "commits": commits,
        "large": large, "passes": passes, "counted": counted, "batches": batches,
        "over": over, "changes": changes, "wait": wait,
    }  # fmt: skip
    output.save("cluster", parameters, figures, detail, json_file, began)


_BATCH = 10_000
_PROCESSES = 8
"""Of as many processes, at most, messages are counted."""


def _of_spark(found: dict[str, Any], orders: int) -> list[Figure]:
    figures, rows = list[Figure](), list[tuple[str, ...]]()
    for views, title in (("q3", "q3"), ("all", "all views")):
        for form, called in _FORMS.items():
            each = found[views][form]
            rows.append(
                (f"{title}, {called}", f"{each['rows']:,.0f}", *_middle(each["seconds"], each["engine_seconds"]))
            )
            for name, kind in (("commit", "seconds"), ("commit, in engines", "engine_seconds")):
                figures.append(repeated(name, "s", each[kind], views=views, form=form, orders=orders))
    output.table(f"commits of {orders:,} orders with their lineitems, over Spark", _COMMITS_COLUMNS, rows)
    large = found["large"]
    rates = [large["changes"] / seconds for seconds in large["seconds"]]
    busy = [large["changes"] / seconds for seconds in large["engine_seconds"]]
    output.note(
        f"{large['changes']:,} changes in a commit, q3: {np.median(rates):,.0f} changes/s, "
        f"by the engines alone {np.median(busy):,.0f}"
    )
    figures += [repeated("large commit", "changes/s", rates, changes=large["changes"])]
    figures += [repeated("large commit, in engines", "changes/s", busy, changes=large["changes"])]
    usual = float(np.median(found["all"]["rows"]["seconds"]))
    kills = {name: [seconds - usual for seconds in each] for name, each in found["kills"].items()}
    output.table(
        "a process killed, all views, answers verified",
        ("killed", "\nmedian s more", "\nmost"),
        [(name, f"{np.median(each):.2f}", f"{max(each):.2f}") for name, each in kills.items()],
    )
    return [*figures, *(repeated("killed", "s more", each, what=name) for name, each in kills.items())]


def _middle(*samples: list[float]) -> list[str]:
    return [f"{np.quantile(each, share):.3f}" for each in samples for share in (0.5, 0.9)]


def _of_counting(found: dict[str, Any]) -> list[Figure]:
    (_, whole), *spread = found.items()
    sizes = {number: each["bytes"] / each["rows"] for number, each in found.items()}
    output.table(
        "state after the base, tables included",
        ("shards", "rows", "MiB", "bytes\na row", "by one\nengine's"),
        [
            ("one engine" if number == "0" else number, f"{each['rows']:,}", f"{each['bytes'] / 2**20:,.0f}",
             f"{sizes[number]:.1f}", f"{sizes[number] / sizes['0']:.2f}")
            for number, each in found.items()
        ],
    )  # fmt: skip
    output.table(
        f"work of the busiest shard by that of the mean, {whole['changes']:,} changes",
        ("view", *(f"{number} shards" for number, _ in spread)),
        [
            (view["name"], *(f"{_ratio(each['views'][place]):.2f}" for _, each in spread))
            for place, view in enumerate(whole["views"])
        ],
    )
    for number, each in spread:
        for view in each["views"]:
            if _ratio(view) > _EVEN:
                named = "; ".join(f"{hot['name']} ({hot['busiest']:,.0f} by {hot['mean']:,.0f})" for hot in view["hot"])
                output.note(f"{number} shards, {view['name']}, busiest by mean: {named}")
    figures = [one("state of a row", "B", size, shards=max(1, int(number))) for number, size in sizes.items()]
    for number, each in spread:
        for view in each["views"]:
            figures.append(one("busiest by mean", "", _ratio(view), shards=int(number), view=view["name"]))
    return figures


def _of_spreading(found: dict[str, Any], wait: int) -> list[Figure]:
    figures, rows = list[Figure](), list[tuple[str, ...]]()
    for number, by_size in found.items():
        for size, each in by_size.items():
            of: dict[str, Label] = {"shards": int(number), "changes": int(size)}
            figures += [
                repeated("commit over shards", "s", each["seconds"], **of),
                repeated("commit over shards, a shard", "s", [s / int(number) for s in each["seconds"]], **of),
                repeated("commit, messages written", "s", each["apart"], **of),
                repeated("commit, folder far away", "s", each["far"], **of, wait_ms=wait),
                one("messages of a commit", "", each["messages"], **of),
                one("messages of a commit, size", "B", each["bytes"], **of),
                one("files of a commit", "", each["files"], **of),
                one("files of a commit, size", "B", each["file_bytes"], **of),
            ]
            took = [float(np.median(each[name])) for name in ("seconds", "apart", "far")]
            rows.append(
                (f"{number}, {int(size):,}", f"{took[0]:.3f}", f"{1e3 * took[0] / int(number):.1f}", f"{took[1]:.3f}",
                 f"{took[2]:.3f}", f"{each['messages']:,.0f}", f"{each['bytes'] / 2**10:,.0f}", f"{each['files']:,.0f}",
                 f"{each['file_bytes'] / 2**10:,.0f}")
            )  # fmt: skip
    columns = ("shards, changes", "in memory\ns", "a shard\nms", "written\ns", f"folder of\n{wait} ms, s", "messages",
               "KiB", "files", "KiB")  # fmt: skip
    output.table(f"commits over shards of one process; messages and files as of {_PROCESSES} at most", columns, rows)
    return figures


def _ratio(view: dict[str, Any]) -> float:
    """The busiest shard's work by the mean; 1 where there is none to do."""
    return view["busiest"] / view["mean"] if view["mean"] else 1.0


if __name__ == "__main__":
    app()
