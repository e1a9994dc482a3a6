"""The sections of streaming: an overview with totals, each view over the stream, and everything in one commit."""

from __future__ import annotations

from dataclasses import dataclass

from ivm.benchmarks.figures import Figure, Label
from ivm.benchmarks.report.found import Found, total
from ivm.benchmarks.report.html import beside, number, ratio, seconds, table, text
from ivm.benchmarks.report.plots import bars
from ivm.benchmarks.units import plain, shown

ALL = "all"
_PUBLISHED: dict[tuple[str, Label], str] = {("coalesced", 100_000): "dd_100k_s", ("coalesced", 1_000): "dd_1k_s",
              ("kept", 100_000): "dd_L1_P100k_s", ("kept", 1_000): "dd_L1_P1k_s"}  # fmt: skip
_TWO_WORKERS: dict[tuple[str, Label], str] = {("coalesced", 100_000): "dd_100k_w2_s"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of streaming, all views of which are compared."""

    times: str
    batch: Label

    @property
    def title(self) -> str:
        """For people."""
        size = f"{self.batch:,}" if isinstance(self.batch, int) else str(self.batch)
        return f"batches of {size}, " + ("each one time" if self.times == "coalesced" else "every time kept")

    def published(self, found: Found, view: Label, workers: int = 1) -> float | None:
        """Seconds of differential dataflow."""
        what = (_PUBLISHED if workers == 1 else _TWO_WORKERS).get((self.times, self.batch))
        return None if what is None else found.published(view, what)


def settings(found: Found) -> list[Setting]:
    """Those that were measured, all in one commit apart."""
    pairs = dict.fromkeys((str(f.of["times"]), f.of["batch"]) for f in found.select("streaming", "first pass"))
    return [Setting(times, batch) for times, batch in pairs if batch != ALL]


def overview(found: Found) -> str:
    """Sums over the views, beside those published, and which commits compiled."""
    rows, names, mine, others = [], [], [], []
    for setting in settings(found):
        views = _views(found, setting)
        published = total([setting.published(found, view) for view in views])
        for threads in _threads(found, setting):
            sums = {name: _sum(found, name, setting, threads) for name in ("first pass", "later passes")}
            peer = published if threads == 1 else total([setting.published(found, view, threads) for view in views])
            rows.append(
                (
                    f"{setting.title}, threads: {threads}",
                    f"{len(views)}",
                    *map(seconds, sums.values()),
                    seconds(peer),
                    ratio(peer, sums["later passes"]),
                    *_behind(found, setting, threads),
                )
            )
            names.append(f"{setting.batch:,} {setting.times}, {threads} t")
            mine.append(sums)
            others.append(peer)
    if not rows:
        return text("Streaming was not measured.") + _compiled(found)
    series: dict[str, list[float | None]] = {
        name: [sums[name] for sums in mine] for name in ("first pass", "later passes")
    }
    if any(others):
        series["differential dataflow, published"] = others
    columns = ("sum over the queries", "queries", "first pass", "later passes", "published", "times as fast",
               "least ahead", "slower than published")  # fmt: skip
    return (
        beside(bars("Sum over the queries", names, series, "seconds"), table(columns, rows))
        + text(_about_peers(found), soft=True)
        + _compiled(found)
    )


def _behind(found: Found, setting: Setting, threads: int) -> tuple[str, str]:
    """The query that is least ahead of the published figure, and those that are behind it."""
    ahead = {}
    for view in _views(found, setting):
        mine = _value(_one(found, "later passes", setting, view, threads))
        peer = setting.published(found, view, threads)
        if mine and peer:
            ahead[str(view)] = peer / mine
    if not ahead:
        return "", ""
    least = min(ahead, key=lambda view: ahead[view])
    slower = [view for view, times in ahead.items() if times < 1]
    return f"{least}: {ahead[least]:.2f}", " ".join(slower) or "none"


def _about_peers(found: Found) -> str:
    if not found.is_published_scale():
        return "Published figures are of scale factor 1, so none are shown beside these."
    return (
        "Published: differential dataflow (Rust) by its own TPC-H program, one worker and as many workers as threads "
        "where it was measured, from another sitting on the same kind of machine, so ratios are rough. Its Q20 does "
        "almost nothing; its Q16, Q21 and Q22 are simpler than the SQL."
    )


def _compiled(found: Found) -> str:
    """Which commits compiled, by benchmark: they are left out of all latencies and sums."""
    rows = []
    for benchmark in dict.fromkeys(each.benchmark for each in found.measurements):
        counts = found.select(benchmark, "commits that compiled")
        if counts:
            took = sum(each.value for each in found.select(benchmark, "time of commits that compiled"))
            hydrating = sum(each.value for each in found.select(benchmark, "compilations while hydrating"))
            commits = sum(each.value for each in counts)
            rows.append((benchmark, f"{commits:,.0f}", seconds(took), f"{hydrating:,.0f}"))
    caption = "Commits in which something was compiled are left out of all latencies and sums. There should be none."
    return table(("benchmark", "commits", "their time", "compiled while hydrating"), rows, caption) if rows else ""


def streaming(found: Found) -> str:
    """Each view alone over the load stream: bars beside the published figures, and all figures."""
    parts = [_setting(found, setting) for setting in settings(found)]
    about = text(
        "Each view alone over the load stream, which is decoded before: engine time. The first pass in a process also "
        "pays for memory that was never touched before; of the later passes the median, with the least and the most."
    )
    return about + "".join(parts) if parts else text("Not measured.")


def _setting(found: Found, setting: Setting) -> str:
    views = _views(found, setting)
    threads = _threads(found, setting)
    series: dict[str, list[float | None]] = {}
    for number_of in threads:
        said = "" if len(threads) == 1 else f", threads: {number_of}"
        for name in ("first pass", "later passes"):
            series[name + said] = [_value(_one(found, name, setting, view, number_of)) for view in views]
    peers = {workers: [setting.published(found, view, workers) for view in views] for workers in (1, 2)}
    for workers, values in peers.items():
        if any(values):
            series[f"differential dataflow, {workers} worker{'s' * (workers > 1)}, published"] = values
    rows = []
    for view in views:
        later = {each: _one(found, "later passes", setting, view, each) for each in threads}
        commit = _one(found, "commit", setting, view, threads[0])
        mine, peer = _value(later[threads[0]]), setting.published(found, view)
        rows.append(
            (
                str(view),
                number(_one(found, "tuples", setting, view, threads[0])),
                number(_one(found, "first pass", setting, view, threads[0])),
                *(number(each) for each in later.values()),
                seconds(peer),
                ratio(peer, mine),
                *(shown(commit.quantile(share), "ms") if commit else "" for share in (0.5, 0.99)),
                number(_one(found, "state", setting, view, threads[0])),
            )
        )
    later_columns = [f"later passes, {each} thread{'s' * (each > 1)}" for each in threads]
    columns = (
        "query",
        "tuples",
        "first pass",
        *later_columns,
        "published",
        "times as fast",
        "commit p50",
        "p99",
        "state",
    )
    plot = bars(f"Seconds for the whole stream, {setting.title}", [str(v) for v in views], series, "seconds")
    return f"{plot}{table(columns, rows, setting.title)}"


def batch(found: Found) -> str:
    """Everything in one commit, beside DuckDB."""
    views = [str(f.of["view"]) for f in found.select("streaming", "later passes", batch=ALL)]
    if not views:
        return text("Not measured.")
    rows = []
    names = {
        "first commit": "first pass",
        "later commits": "later passes",
        "DuckDB, the query once": "DuckDB, query once",
        "DuckDB, appends": "DuckDB, appends",
    }
    found_by = {
        label: [found.one("streaming", name, batch=ALL, view=view) for view in views] for label, name in names.items()
    }
    for place, view in enumerate(views):
        rows.append((view, *(number(figures[place]) for figures in found_by.values())))
    sums = [total([_value(each) for each in figures]) for figures in found_by.values()]
    rows.append(("sum", *map(seconds, sums)))
    shown_series = {label: [_value(each) for each in figures] for label, figures in found_by.items()}
    about = text(
        "The whole stream in one commit under one view, and DuckDB on the same data in the same run: appending it to "
        "tables without keys, and answering the query once, on one thread."
    )
    return about + bars("One commit", views, shown_series, "seconds") + table(("query", *names), rows)


def _views(found: Found, setting: Setting) -> list[Label]:
    return found.labels("streaming", "view", "later passes", batch=setting.batch, times=setting.times)


def _threads(found: Found, setting: Setting) -> list[int]:
    labels = found.labels("streaming", "threads", "later passes", batch=setting.batch, times=setting.times)
    return sorted(int(each) for each in labels)


def _one(found: Found, name: str, setting: Setting, view: Label, threads: int) -> Figure | None:
    return found.one("streaming", name, batch=setting.batch, times=setting.times, view=view, threads=threads)


def _sum(found: Found, name: str, setting: Setting, threads: int) -> float | None:
    return total([_value(_one(found, name, setting, view, threads)) for view in _views(found, setting)])


def _value(figure: Figure | None) -> float | None:
    return None if figure is None else figure.value


def machine_lines(found: Found) -> str:
    """Where, when and with what it was measured."""
    first = found.measurements[0]
    machine = first.machine
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    hours = sum(each.seconds for each in found.measurements) / 60
    return text(
        f"Measured {first.measured} in {plain(hours)} minutes on {machine['processor']}, {machine['cores']} cores, "
        f"{shown(machine['memory_bytes'], 'B')}; Python {machine['python']}, {packages}; commit {machine['commit']}.",
        soft=True,
    )
