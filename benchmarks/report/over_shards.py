"""The section of commits over shards: on a Spark cluster, and over more and more of them in one process."""

from __future__ import annotations

from ivm.benchmarks.figures import Figure, Points
from ivm.benchmarks.report.found import Found
from ivm.benchmarks.report.html import beside, number, table, text
from ivm.benchmarks.report.plots import curves

_COLUMNS = {
    "in memory": "commit over shards",
    "a shard": "commit over shards, a shard",
    "messages written": "commit, messages written",
    "folder far away": "commit, folder far away",
    "messages": "messages of a commit",
    "their size": "messages of a commit, size",
    "files": "files of a commit",
    "their size ": "files of a commit, size",
}


def over_shards(found: Found) -> str:
    """Commits over Spark, if there was one; and over shards of one process, by their number."""
    if not found.of("cluster"):
        return text("Not measured.")
    return _on_spark(found) + _in_one_process(found)


def _on_spark(found: Found) -> str:
    small = found.select("cluster", "commit")
    if not small:
        return ""
    rows = [
        (
            f"{each.of['views']}, {each.of['form']}, {each.of['orders']:,} orders",
            number(each),
            number(found.one("cluster", "commit, in engines", **each.of)),
        )
        for each in small
    ]
    large = [
        (f"{each.of['changes']:,} changes", number(each), number(found.one("cluster", "large commit, in engines")))
        for each in found.select("cluster", "large commit")
    ]
    killed = [(str(each.of["what"]), number(each)) for each in found.select("cluster", "killed")]
    return text(
        "On a Spark cluster of this machine: commits of what the driver has and of DataFrames, and kills."
    ) + beside(
        table(("commit", "seconds", "of them in engines"), rows),
        table(("large commit", "changes a second", "by engines alone"), large),
        table(("killed", "seconds more"), killed),
    )


def _in_one_process(found: Found) -> str:
    commits = found.select("cluster", "commit over shards")
    if not commits:
        return ""
    waits = {each.of["wait_ms"] for each in found.select("cluster", "commit, folder far away")}
    rows = [(_called(each), *(number(_same(found, each, name)) for name in _COLUMNS.values())) for each in commits]
    series: dict[str, Points] = {}
    for each in found.select("cluster", "commit over shards, a shard"):
        points = series.setdefault(f"{each.of['changes']:,} changes", [])
        series[f"{each.of['changes']:,} changes"] = [*points, (float(each.of["shards"]), each.value * 1e3)]
    said = (
        "Over shards of one process, one after the other: in memory; with messages and logs as several processes, "
        "eight at most, write them to a directory; and where each call of the folder takes as long as that of an "
        "object store "
        f"({', '.join(f'{each} ms' for each in waits)})."
    )
    return (
        text(said)
        + curves("What one shard does of a commit", series, ("shards", "time [ms]"), log="x", marks=True)
        + table(("shards, changes", *(name.strip() for name in _COLUMNS)), rows)
    )


def _called(figure: Figure) -> str:
    return f"{figure.of['shards']} shards, {figure.of['changes']:,} changes"


def _same(found: Found, figure: Figure, name: str) -> Figure | None:
    return found.one("cluster", name, shards=figure.of["shards"], changes=figure.of["changes"])
