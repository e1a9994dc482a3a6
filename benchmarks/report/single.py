"""The sections of what is measured by itself: one commit, arrange, state, adversarial, waiting, first use."""

from __future__ import annotations

from ivm.benchmarks.figures import Figure
from ivm.benchmarks.report.found import Found
from ivm.benchmarks.report.html import TAILS, beside, number, table, tail, text
from ivm.benchmarks.report.plots import bars, curves, tails

_GIB = 1 << 30
_MOST_CURVES = 8


def arrange(found: Found) -> str:
    """One arrangement under open-loop load."""
    figures = found.select("arrange", "change")
    if not figures:
        return text("Not measured.")
    by_rate = {f"{each.of['rate']:,} changes/s": each for each in figures}
    rows = []
    for name, each in by_rate.items():
        rows.append((f"{name}: arrival to sealed", *tail(each)))
        for step in found.select("arrange", "step", rate=each.of["rate"]):
            rows.append((f"{name}: {step.of['step']} of a tick", *tail(step)))
    steps = found.select("arrange", "cost a change")
    looked_up = found.select("arrange", "look-up")
    points = [(float(each.of["keys"]), each.value) for each in looked_up]
    more = [(f"batches of 10,000, batch after batch: {each.of['step']}, a change", *tail(each)) for each in steps] + [
        (f"look-up of {each.of['keys']:,} keys", *tail(each)) for each in looked_up
    ]
    return (
        text(
            "One arrangement of 64-bit identifiers of which some come and some go all the time. In an open loop "
            "changes come at their rate, whether or not those before them are done; a latency is from arrival to seal."
        )
        + beside(
            tails("Open-loop load", by_rate, "latency [ms]"),
            curves("Look-ups", {"p50": points}, ("keys that are looked up", "time [ms]"), log="xy", marks=True),
        )
        + beside(table(("load", *TAILS), rows), table(("", *TAILS), more))
    )


def state(found: Found) -> str:
    """What all views hold."""
    modes = [str(each) for each in found.labels("state", "mode", "stored rows")]
    if not modes:
        return text("Not measured.")
    names = (
        "stored rows",
        "index entries",
        "state",
        "of it tables",
        "state of views with tables of their own",
        "process",
        "peak memory, loading",
        "peak memory, hydrating",
        "load",
        "installation of all views",
    )
    series = {
        name: [_gib(found.one("state", name, mode=mode)) for mode in modes]
        for name in ("state", "process", "peak memory, loading", "peak memory, hydrating")
    }
    rows = [(name, *(number(found.one("state", name, mode=mode)) for mode in modes)) for name in names]
    views = sorted(found.select("state", "state of a view", mode=modes[0]), key=lambda each: -each.value)
    installs = {each.of["view"]: each for each in found.select("state", "installation", mode=modes[-1])}
    each_view = [(str(each.of["view"]), number(each), number(installs.get(each.of["view"]))) for each in views]
    runs = [
        (str(each.of["mode"]), number(each), *(number(found.one("state", name, mode=each.of["mode"])) for name in _RUN))
        for each in found.select("state", "whole run, commits")
    ]
    memory = {
        str(each.of["mode"]): [(x, y / _GIB) for x, y in each.points]
        for each in found.select("state", "whole run, state")
    }
    parts = [
        text("What is held after the load stream under all views: installed before it, or hydrated after it."),
        beside(bars("Memory of all views", modes, series, "GiB"), table(("", *modes), rows)),
        table(("view", "state that it needs", "installation"), each_view, "views, the largest first"),
    ]
    if runs:
        parts.append(
            beside(
                curves("State over the stream under ten views", memory, ("engine time [s]", "state [GiB]")),
                table(("the whole stream", "commits", "with installations", "peak memory"), runs),
            )
        )
    return "".join(parts)


_RUN = ("whole run, with installations", "whole run, peak memory")


def _gib(figure: Figure | None) -> float | None:
    return None if figure is None else figure.value / _GIB


def adversarial(found: Found) -> str:
    """Single changes that hurt."""
    figures = {str(each.of["case"]): each for each in found.select("adversarial", "commit")}
    if not figures:
        return text("Not measured.")
    rows = [
        (
            case,
            *tail(each),
            number(found.one("adversarial", "rows visited", case=case)),
            number(found.one("adversarial", "rows crossed", case=case)),
        )
        for case, each in figures.items()
    ]
    return text("One change a commit to a large group: its extremes, its first rows, a bound over its rows.") + beside(
        tails("One change", dict(list(figures.items())[:_MOST_CURVES]), "commit [ms]"),
        table(("case", *TAILS, "rows visited", "rows crossed"), rows),
    )


def one_commit(found: Found) -> str:
    """What a small commit costs, part by part."""
    figures = {str(each.of["commit"]): each for each in found.select("commit", "commit")}
    if not figures:
        return text("Not measured.")
    parts = [str(each) for each in found.labels("commit", "part", "part of a commit")]
    by = {
        (str(each.of["commit"]), str(each.of["part"])): each.value
        for each in found.select("commit", "part of a commit")
    }
    rows = [
        (
            name,
            number(figure),
            number(found.one("commit", "commit, 99 %", commit=name)),
            *(f"{by[name, part]:,.0f}" for part in parts),
            *(number(found.one("commit", "calls of a commit", commit=name, of=of)) for of in ("Python", "C")),
        )
        for name, figure in figures.items()
    ]
    return (
        text(
            "Microseconds of the committing thread on its processor, by part, and the calls of functions that it makes."
        )
        + bars(
            "One commit", list(figures), {part: [by[name, part] for name in figures] for part in parts}, "us", log=True
        )
        + table(("commit", "us", "99 %", *parts, "calls", "of C"), rows)
    )


def waiting(found: Found) -> str:
    """How long others wait while a view is created."""
    figures = found.select("waiting", "wait")
    if not figures:
        return text("Not measured.")
    kinds = list(dict.fromkeys(str(each.of["kind"]) for each in figures))
    whos = list(dict.fromkeys(str(each.of["who"]) for each in figures))
    by = {(str(each.of["kind"]), str(each.of["who"])): each for each in figures}
    series: dict[str, list[float | None]] = {
        who: [by[kind, who].quantile(0.99) if (kind, who) in by else None for kind in kinds] for who in whos
    }
    rows = [
        (
            kind,
            number(found.one("waiting", "creation", kind=kind)),
            *(part for who in whos for part in tail(by.get((kind, who)))[:4:2]),
            number(found.one("waiting", "compilations meanwhile", kind=kind)),
        )
        for kind in kinds
    ]
    columns = ("kind", "created in", *(f"{who}: {q}" for who in whos for q in ("p50", "p99.9")), "compilations")
    return (
        text("A view of each kind is created over a large table, while others commit single rows and read.")
        + bars("99 of 100 wait no longer", kinds, series, "ms", log=True)
        + table(columns, rows)
    )


def live(found: Found) -> str:
    """What it costs that others look on."""
    figures = [figure for each in found.of("live") for figure in each.figures]
    if not figures:
        return text("Not measured.")
    rows = [(str(each.of["kind"]), each.name, number(each), str(each.of.get("asked", ""))) for each in figures]
    goals = {each.name: each.value / float(each.of["asked"]) for each in figures if "asked" in each.of}
    return (
        text("What others cost who listen, read, select or verify meanwhile.")
        + bars("Found, times what is asked at most", list(goals), {"times": list(goals.values())}, "times")
        + table(("kind", "what", "found", "asked at most"), rows)
    )


def first_use(found: Found) -> str:
    """What a newcomer waits for."""
    figures = [figure for each in found.of("first-use") for figure in each.figures]
    if not figures:
        return text("Not measured.")
    names = list(dict.fromkeys(each.name for each in figures))
    by = {(each.name, str(each.of["cached"])): each for each in figures}
    rows = [
        (
            name,
            number(by.get((name, "nothing"))),
            number(by.get((name, "all"))),
            next(str(each.of["target"]) for each in figures if each.name == name),
        )
        for name in names
    ]
    series = {
        label: [_seconds(by.get((name, cached))) for name in names]
        for label, cached in (("nothing cached", "nothing"), ("again", "all"))
    }
    return text("In a copy of the checkout as an installation leaves it, with nothing cached, and again.") + beside(
        bars("First use", [str(number + 1) for number in range(len(names))], series, "seconds", log=True),
        table(
            ("", "nothing cached", "again", "target"), [(f"{i + 1} {row[0]}", *row[1:]) for i, row in enumerate(rows)]
        ),
    )


def _seconds(figure: Figure | None) -> float | None:
    if figure is None:
        return None
    return figure.value / 1e3 if figure.unit == "ms" else figure.value
