"""The sections of commits under many views: concurrent, interactive, refresh latency, scale, sharing."""

from __future__ import annotations

from collections.abc import Mapping

from ivm.benchmarks.figures import Figure, Label, Points
from ivm.benchmarks.report.found import Found
from ivm.benchmarks.report.html import TAILS, beside, number, ratio, table, tail, text
from ivm.benchmarks.report.plots import bars, curves, shares, tails

_GIB = 1 << 30
_LATENCY = "commit [ms]"
_MEMORY = ("engine time [s]", "memory [GiB]")
_SHARED = "shared"


def concurrent(found: Found) -> str:
    """All views at once over each stream."""
    figures = found.select("concurrent", "commit")
    if not figures:
        return text("Not measured.")
    rows = [
        (
            _run(each),
            number(_same(found, each, "changes")),
            number(_same(found, each, "all commits")),
            *tail(each),
            number(_same(found, each, "hydration of all views")),
            number(_same(found, each, "peak memory")),
        )
        for each in figures
    ]
    columns = ("stream", "changes", "all commits", *TAILS, "hydration", "peak memory")
    memory = {_run(each): _in_gib(each.points) for each in found.select("concurrent", "memory")}
    said = "All views installed at once, each stream from its beginning to its end; decoding is not in the time."
    for each in found.select("concurrent", "threads that only compute"):
        said += (
            f" {each.of['threads']} threads that only compute do {each.value:.2f} times as much on this machine as one."
        )
    return (
        text(said)
        + beside(
            tails("Commits under all views", {_run(each): each for each in figures}, _LATENCY),
            curves("Memory of the process", memory, _MEMORY),
        )
        + table(columns, rows)
    )


def _run(figure: Figure) -> str:
    of = figure.of
    kept = "" if of["times"] == "coalesced" else ", every time"
    threads = "" if of["threads"] == 1 else f", threads: {of['threads']}"
    return f"{of['stream']}, batches of {of['batch']:,}{kept}{threads}"


def _same(found: Found, figure: Figure, name: str, benchmark: str = "concurrent") -> Figure | None:
    return found.one(benchmark, name, **figure.of)


def _in_gib(points: Points) -> Points:
    return [(x, y / _GIB) for x, y in points]


def interactive(found: Found) -> str:
    """Views that come and go while a stream runs, and commits while views are created."""
    figures = {
        name: each
        for name in ("text to first answer", "installation", "first answer, installed before", "retirement", "commit")
        if (each := found.one("sharing", name, mode=_SHARED)) is not None
    }
    parts = []
    if figures:
        installs = {name: each for name, each in figures.items() if name != "commit"}
        parts += [
            text(
                "Views come and go at random while a stream runs (shared arrangements): from the text to the first "
                "answer, the same where all that the view looks up exists already, and the commits meanwhile."
            ),
            beside(
                shares("Views that come and go", installs, "time [ms]"),
                tails("Commits meanwhile", {"commit": figures["commit"]}, _LATENCY),
            ),
            table(("what", *TAILS), [(name, *tail(each)) for name, each in figures.items()]),
        ]
    meanwhile = found.select("installing", "commit meanwhile")
    if meanwhile:
        views = [str(each.of["view"]) for each in meanwhile]
        took = [found.one("installing", "creation beside commits", view=view) for view in views]
        longest = [each.quantile(1.0) for each in meanwhile]
        rows = [(view, number(s), *tail(each)) for view, s, each in zip(views, took, meanwhile, strict=True)]
        parts += [
            text("Each view created over loaded tables, while another thread commits small changes all the time."),
            bars("Longest commit while a view is created", views, {"longest commit": longest}, "ms"),
            table(("view", "created in", *TAILS), rows, "commits meanwhile"),
        ]
    return "".join(parts) or text("Not measured.")


def refresh(found: Found) -> str:
    """Small commits with all views installed, at the largest scale."""
    figures = found.select("refresh-latency", "commit")
    if not figures:
        return text("Not measured.")
    largest = max(float(each.of["sf"]) for each in figures)
    shown = {_size(each): each for each in figures if each.of["sf"] == largest}
    rows = [
        (
            name,
            number(_same(found, each, "rows a commit", "refresh-latency")),
            *tail(each),
            number(_same(found, each, "hydration of all views", "refresh-latency")),
        )
        for name, each in shown.items()
    ]
    return text(
        f"New orders with their lineitems under all views, scale factor {largest:g}; the whole distribution."
    ) + beside(
        tails("Commits of refresh", shown, _LATENCY),
        table(("orders a commit", "rows", *TAILS, "hydration of all views"), rows),
    )


def _size(figure: Figure) -> str:
    threads = figure.of["threads"]
    return f"{figure.of['orders']}" + ("" if threads == 1 else f", threads: {threads}")


def scale(found: Found) -> str:
    """The same commits at several scale factors."""
    figures = [each for each in found.select("refresh-latency", "commit") if each.of["threads"] == 1]
    by_size: dict[Label, list[Figure]] = {}
    for each in figures:
        by_size.setdefault(each.of["orders"], []).append(each)
    if not any(len(each) > 1 for each in by_size.values()):
        return text("Not measured: it takes refresh latencies at two scale factors.")
    series: dict[str, Points] = {}
    rows = []
    for orders, unsorted in by_size.items():
        same = sorted(unsorted, key=lambda each: float(each.of["sf"]))
        series[f"{orders} orders"] = [(float(each.of["sf"]), each.value) for each in same]
        rows += [
            (f"{orders} orders at {each.of['sf']:g}", *tail(each), ratio(each.value, same[0].value)) for each in same
        ]
    return text("The same commits at several scale factors, all views installed: they should cost the same.") + beside(
        curves("Cost against scale", series, ("scale factor", "commit, p50 [ms]"), log="x", marks=True),
        table(("commit", *TAILS, "p50, times the smallest scale"), rows),
    )


def sharing(found: Found) -> str:
    """The same run with and without sharing."""
    modes = [str(each) for each in found.labels("sharing", "mode", "engine time")]
    if not modes:
        return text("Not measured.")
    names = ("process", "state", "state of views with tables of their own")
    memory = {
        f"{mode}, {name}": _in_gib(each.points)
        for mode in modes
        for name in names
        if (each := found.one("sharing", name, mode=mode)) is not None
    }
    rows = [_compared(found, name, modes) for name in (*names, "peak memory", "engine time", "engine time of commits")]
    return (
        text("Views come and go over a stream, with arrangements that views share and with each view's own.")
        + beside(
            shares("Text to first answer", _by_mode(found, "text to first answer", modes), "time [ms]"),
            tails("Commits", _by_mode(found, "commit", modes), _LATENCY),
        )
        + beside(
            curves("Memory", memory, _MEMORY),
            table(("mean", *modes, "ratio"), rows),
        )
    )


def _by_mode(found: Found, name: str, modes: list[str]) -> Mapping[str, Figure]:
    figures = {mode: found.one("sharing", name, mode=mode) for mode in modes}
    return {mode: each for mode, each in figures.items() if each is not None}


def _compared(found: Found, name: str, modes: list[str]) -> tuple[str, ...]:
    figures = [found.one("sharing", name, mode=mode) for mode in modes]
    values = [None if each is None else each.value for each in figures]
    return (name, *map(number, figures), ratio(values[-1], values[0]))
