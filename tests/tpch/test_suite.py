"""A smoke run of the whole suite at a tiny scale: every run has figures, and the report every section and plot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ivm.benchmarks import plan, suite
from ivm.benchmarks.engine import takes_threads
from ivm.benchmarks.figures import read
from ivm.benchmarks.report.report import SECTIONS
from tests.tpch.conftest import SF, measuring_here

WITHOUT_PLOTS = {"scale"}
"""Sections that take two scale factors, where there is one."""


@pytest.fixture(scope="module")
def data(streams: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("data")
    (place / f"sf{SF:g}").symlink_to(streams)
    return place


@pytest.fixture(scope="module")
def measured(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    out = tmp_path_factory.mktemp("suite")
    with measuring_here():
        done = run(data, out)
        assert done.exit_code == 0, done.output + repr(done.exception)
        yield out


def run(data: Path, out: Path, *more: str) -> Any:
    arguments = ["--sf", str(SF), "--scale", "", "--data", str(data), "--out", str(out), "--size", "smoke"]
    return CliRunner().invoke(suite.app, [*arguments, "--passes", "1", *more], env={"COLUMNS": "200"})


def test_every_run_has_figures(measured: Path) -> None:
    asked = plan.Asked(SF, (SF,), Path(), 1, plan.SMOKE)
    runs = list(plan.runs(asked, takes_threads=takes_threads()))
    found = read(measured / "report.json")
    assert [each.benchmark for each in found] == [_benchmark(run) for run in runs]
    for each in found:
        assert each.machine["cores"] >= 1
        assert each.parameters
        assert each.seconds >= 0
        assert each.figures
        for figure in each.figures:
            assert figure.value >= 0 or figure.name.endswith("more than that")  # a difference, and noise
            assert figure.of or each.benchmark == "first-use"
    first = next(each for each in found if each.benchmark == "first-use")
    assert len(first.figures) == 6
    assert all(figure.value > 0 for figure in first.figures)
    (arranged,) = (each for each in found if each.benchmark == "arrange")
    assert {figure.of["step"] for figure in arranged.select("step")} == {"insert", "probe", "seal"}
    assert {each.of["stream"] for m in found if m.benchmark == "concurrent" for each in m.select("commit")} == {
        "load", "refresh", "churn", "window",
    }  # fmt: skip


def _benchmark(run: plan.Run) -> str:
    other = {"refresh_latency": "refresh-latency", "first_use": "first-use", "graph.cli": "graph"}
    return other.get(run.module, run.module)


def test_the_page_stands_alone_and_has_every_section(measured: Path) -> None:
    page = (measured / "report.html").read_text()
    needed = re.findall(r'(?:src|href)="([^#"][^"]*)"|url\(([^#)][^)]*)\)|@import|<script|<link', page)
    assert not needed
    assert len(page) < 1_500_000
    parts = dict(re.findall(r'<section id="([\w-]+)">(.*?)</section>', page, flags=re.DOTALL))
    assert list(parts) == [*SECTIONS, "how"]
    for name in SECTIONS:
        if name not in WITHOUT_PLOTS:
            assert "<svg" in parts[name], name
            assert "<table>" in parts[name], name
            assert "Not measured" not in parts[name], name
    for plot in re.findall(r"<figure>.*?</figure>", page, flags=re.DOTALL):
        assert plot.count("<svg") == 1
        assert "currentColor" in plot
    assert "another sitting" in parts["how"]


def test_it_goes_on_where_it_was(measured: Path, data: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in (measured / suite.PARTS).iterdir()}
    streaming = next(file for file in before if file.name.startswith("streaming-") and "engine" not in file.name)
    streaming.unlink()
    done = run(data, measured)
    assert done.exit_code == 0, done.output
    runs = int(re.findall(r"^\[1/(\d+)\]", done.output, flags=re.MULTILINE)[0])
    assert done.output.count("it is there already") == runs - 1
    after = {file: file.stat().st_mtime_ns for file in (measured / suite.PARTS).iterdir()}
    assert set(after) == set(before)
    assert [file.name for file in after if after[file] != before[file]] == [streaming.name]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "streaming,speed"], "there is no run speed; there are streaming, batch"),
        (["--size", "huge"], "there is no size huge; there are full, smoke"),
        (["--scale", "one"], "one is not a list of scale factors"),
    ],
)
def test_what_is_not_there_is_said(data: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    done = run(data, tmp_path, *arguments)
    assert done.exit_code == 2
    assert said in " ".join(re.sub(r"[│╭╮╰╯─]", " ", done.output).split())


def test_data_that_is_damaged_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / f"sf{SF:g}" / "load").mkdir(parents=True)
    done = run(tmp_path, tmp_path / "out", "--only", "streaming")
    assert done.exit_code == 1
    assert "is not a stream directory" in done.output
