"""The section of what it costs that a database outlives its process."""

from __future__ import annotations

from ivm.benchmarks.report.found import Found
from ivm.benchmarks.report.html import TAILS, beside, number, ratio, table, tail, text
from ivm.benchmarks.report.plots import bars

_COMMITS = ("commit in memory", "commit on disk", "its sync", "commit on disk without its sync")


def durability(found: Found) -> str:
    """Streaming and small commits, in memory and on disk."""
    if not found.of("durability"):
        return text("Not measured.")
    rows = [(name, *tail(found.one("durability", name))) for name in _COMMITS]
    return (
        text("Each view alone over the load stream, and small commits, in memory and with each kind of durability.")
        + "".join(_streaming(found, int(batch)) for batch in found.labels("durability", "batch", "passes"))
        + table(("commits of 20 orders", *TAILS), rows)
        + text(f"Log: {number(found.one('durability', 'log of small commits, a change'))} a change of small commits.")
    )


def _streaming(found: Found, batch: int) -> str:
    views = found.labels("durability", "view", "passes", batch=batch)
    modes = [str(each) for each in found.labels("durability", "durability", "passes", batch=batch)]
    series: dict[str, list[float | None]] = {mode: [] for mode in modes}
    rows = []
    for view in views:
        of = {"view": view, "batch": batch}
        each = {mode: found.one("durability", "passes", durability=mode, **of) for mode in modes}
        values = {mode: None if figure is None else figure.value for mode, figure in each.items()}
        for mode in modes:
            series[mode].append(values[mode])
        row = (str(view), *map(number, each.values()), *(ratio(values[mode], values[modes[0]]) for mode in modes[1:]))
        rows.append((*row, number(found.one("durability", "log, a change", **of))))
    columns = ("view", *modes, *(f"{mode} / {modes[0]}" for mode in modes[1:]), "log, a change")
    heading = f"Batches of {batch:,}"
    return beside(bars(heading, [str(view) for view in views], series, "seconds"), table(columns, rows, heading))
