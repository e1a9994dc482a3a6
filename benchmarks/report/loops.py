"""The section of recursive views over graphs."""

from __future__ import annotations

from ivm.benchmarks.graph.beside import COLUMNS, SHOWN, published, rows_of
from ivm.benchmarks.graph.workloads import WORKLOADS
from ivm.benchmarks.report.found import Found
from ivm.benchmarks.report.html import table, text
from ivm.benchmarks.report.plots import tails


def loops(found: Found) -> str:
    """Each workload beside what is asked of it, where its graph is as large as that is asked for, and the papers'."""
    if not found.of("graph"):
        return text("Not measured.")
    names = [str(name) for name in found.labels("graph", "workload", "commit")]
    is_whole = all(each.parameters.get("scale") == 1.0 for each in found.of("graph"))
    rows = list[tuple[str, ...]]()
    for name in names:
        each = {figure: found.one("graph", figure, workload=name) for figure in SHOWN}
        values = {figure: one.value for figure, one in each.items() if one is not None}
        rows += rows_of(name, values, WORKLOADS[name].asked if is_whole else {})
    commits = {str(each.of["workload"]): each for each in found.select("graph", "commit")}
    beside = published(anchor for name in names for anchor in WORKLOADS[name].anchors)
    return (
        text(
            "Recursive views, each filled at once, then changed by one edge a commit; 'DuckDB again' runs the query "
            "as DuckDB has it. A star: more than is asked."
        )
        + table(COLUMNS, rows)
        + tails("One edge in or out", commits, "ms")
        + "".join(text(line, soft=True) for line in beside)
    )
