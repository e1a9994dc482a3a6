"""The report of figures of scale factor 1: published figures stand beside ours, and what is missing is said."""

from __future__ import annotations

import re

from ivm.benchmarks.figures import SHARES, Figure, Label, Measurement, one, over, repeated, spread
from ivm.benchmarks.report.report import SECTIONS, anchors, report
from ivm.benchmarks.units import shown

MACHINE = {"processor": "<a> & b", "cores": 2, "memory_bytes": 1 << 30, "python": "3", "packages": {}, "commit": "1"}


def streaming(sf: float, batch: int | str, times: str, threads: int) -> list[Figure]:
    of = {"batch": batch, "times": times, "threads": threads}
    return [
        figure
        for view in ("q1", "q2")
        for figure in (
            one("first pass", "s", 2.0 * sf, view=view, **of),
            repeated("later passes", "s", [0.4, 0.5, 0.6], view=view, **of),
            spread("commit", "ms", [float(n) for n in range(len(SHARES))], 60, view=view, **of),
            one("commits that compiled", "", 3, view=view, **of),
            one("time of commits that compiled", "s", 1.5, view=view, **of),
        )
    ]


def measurement(benchmark: str, figures: list[Figure], **parameters: object) -> Measurement:
    return Measurement(benchmark, parameters, "2026-01-01T00:00:00+00:00", MACHINE, tuple(figures), 60.0)


def section(page: str, name: str) -> str:
    return re.findall(rf'<section id="{name}">(.*?)</section>', page, flags=re.DOTALL)[0]


def test_published_figures_stand_beside_ours():
    figures = [
        *streaming(1.0, 100_000, "coalesced", 1),
        *streaming(1.0, 100_000, "coalesced", 2),
        *streaming(1.0, 1_000, "kept", 1),
    ]
    page = report([measurement("streaming", figures, sf=1.0)], "title")
    there = section(page, "streaming")
    known = anchors()
    for what, seconds in (("dd_100k_s", 0.818), ("dd_L1_P1k_s", 1.699)):
        assert known["1"][what] == seconds
        assert f"<td>{shown(seconds, 's')}</td>" in there
    assert there.count("2 workers, published") == 1
    assert "later passes, 2 threads" in there
    assert "<td>500 ms (400 ms–600 ms)</td>" in there
    overview = section(page, "overview")
    assert shown(known["1"]["dd_100k_w2_s"] + known["2"]["dd_100k_w2_s"], "s") in overview
    assert "from another sitting" in overview
    assert "<td>q2: 0.49</td><td>q2</td>" in overview
    assert "<td>18</td><td>9 s</td><td>0</td>" in overview
    assert "&lt;a&gt; &amp; b" in page


def test_other_scales_have_none_beside_them():
    page = report([measurement("streaming", streaming(0.1, 1_000, "coalesced", 1), sf=0.1)], "title")
    assert "published" not in section(page, "streaming").replace("<th>published</th>", "")
    assert "none are shown" in section(page, "overview")


def loops(workload: str, scale: float) -> str:
    of: dict[str, Label] = {"workload": workload}
    figures = [
        spread("commit", "ms", [0.25] * len(SHARES), 10, **of),
        one("base rows", "", 10_000_000, **of),
        one("fill", "s", 21.5, **of),
        one("p50", "ms", 0.25, **of),
    ]
    return section(report([measurement("graph", figures, scale=scale)], "title"), "loops")


def test_loops_stand_beside_what_is_asked_and_the_papers():
    there = loops("reach", 1.0)
    assert "<td>10,000,000</td>" in there
    assert "<td>21.5 s*</td>" in there
    assert "<td>250 µs</td>" in there
    assert "asked, at most" in there
    assert "LiveJournal" in there
    assert "Another machine" in there


def test_nothing_is_asked_of_smaller_graphs():
    there = loops("reach", 0.01)
    assert "<td>21.5 s</td>" in there
    assert "asked, at most" not in there


def test_what_was_not_measured_is_said():
    page = report([measurement("concurrent", [])], "title", missing=["state"])
    assert "Not measured: state." in page
    for name in SECTIONS:
        assert "ot measured" in section(page, name), name


def test_cost_against_scale():
    figures = [
        spread("commit", "ms", [scale * orders] * len(SHARES), 10, sf=sf, orders=orders, threads=1)
        for sf, scale in ((0.1, 1.0), (1.0, 1.25))
        for orders in (1, 20)
    ]
    there = section(report([measurement("refresh-latency", figures)], "title"), "scale")
    assert there.count("<td>1.25</td>") == 2
    assert "scale factor" in there


def test_memory_over_time():
    of: dict[str, Label] = {"stream": "load", "batch": 10, "times": "kept", "threads": 1}
    figures = [
        spread("commit", "ms", [1.0] * len(SHARES), 10, **of),
        over("memory", "B", [(0.0, 1 << 30), (1.0, 2 << 30)], **of),
    ]
    there = section(report([measurement("concurrent", figures)], "title"), "concurrent")
    assert "memory [GiB]" in there
    assert "load, batches of 10, every time" in there
