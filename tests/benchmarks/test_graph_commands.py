"""`ivm graph`: what it takes, shows and writes; and how workloads are measured."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import typer
from typer.testing import CliRunner, Result

import ivm
from ivm.benchmarks.figures import SHARES, read
from ivm.benchmarks.graph import bench, engine, maintain
from ivm.benchmarks.graph.beside import anchors
from ivm.benchmarks.graph.cli import app
from ivm.benchmarks.graph.programs import FITTING, PROGRAMS, Program
from ivm.benchmarks.graph.shapes import Shape
from ivm.benchmarks.graph.stream import Changes, Stream, ensure, open_stream
from ivm.benchmarks.graph.workloads import UNITS, WORKLOADS
from ivm.benchmarks.process import Steps
from ivm.progress import Tell

SMALL = ["--graph", "uniform", "--nodes", "30", "--degree", "2", "--steps", "20"]

_OF_TRIANGLES = {"a row joined", "a row met"}


def untold(step: str, done: int, total: int) -> None:
    pass


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "200"})


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Databases that compile nothing, which takes longer than these graphs."""
    for module in (maintain, engine):
        monkeypatch.setattr(module, "connect", lambda threads=1: ivm.connect(compile="off"))


def test_generate_says_where_it_is(tmp_path: Path) -> None:
    for _ in range(2):
        done = call("generate", *SMALL, "--seed", 3, "--data", tmp_path)
        assert done.exit_code == 0, done.output
        directory = Path(done.stdout.strip())
        assert directory == tmp_path / "uniform-30-2-3-20"
        assert open_stream(directory).shape == Shape("uniform", 30, 2, 3)


def test_a_degree_is_of_graphs_that_are_drawn(tmp_path: Path) -> None:
    done = call("generate", "--graph", "grid", "--nodes", 9, "--degree", 4, "--steps", 3, "--data", tmp_path)
    assert open_stream(Path(done.stdout.strip())).shape == Shape("grid", 9)


@pytest.mark.parametrize(("command", "compared"), [("run", 1), ("verify", 4)])
def test_a_program_is_maintained_shown_and_saved(command: str, compared: int, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    done = call(command, *SMALL, "--programs", "hops2", "--data", tmp_path, "--json", file)
    assert done.exit_code == 0, done.output
    assert "uniform-30-2-1" in done.stdout
    assert "hops2" in done.stdout
    (report,) = json.loads(file.read_text())["programs"]
    assert (report["program"], report["commits"], report["verified"]) == ("hops2", 40, compared)


def test_all_that_fit_are_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def run(stream: Stream, program: Program, batch: int, every: int, tell: Tell) -> maintain.Report:
        asked.append(program.name)
        return maintain.Report(program.name, 0, 0.0, 0, 0, 0, 0, {}, 1, 0.0)

    monkeypatch.setattr("ivm.benchmarks.graph.commands.run", run)
    assert call("run", "--graph", "tree", "--nodes", 9, "--data", tmp_path).exit_code == 0
    assert tuple(asked) == FITTING["tree"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--graph", "ring"),
        ("run", "--programs", "reach,fly"),
        ("run", "--programs", ""),
        ("bench", "--workloads", "reach,fly"),
    ],
)
def test_names_that_there_are_not_are_refused(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = call(*arguments, "--data", tmp_path)
    assert done.exit_code == 2
    assert "there is no" in done.output
    assert list(tmp_path.iterdir()) == []


def test_bench_measures_beside_what_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "measure", lambda module, task, tell: engine.measure(task))
    monkeypatch.setattr(Steps, "tell", lambda *told: None)
    file = tmp_path / "graph.json"
    names = "triangles-skewed,triangles-uniform,hops"
    done = call("bench", "--workloads", names, "--scale", 0.0005, "--steps", 40, "--data", tmp_path, "--json", file)
    assert done.exit_code == 0, done.output
    assert "asked, at most" in done.stdout
    (found,) = read(file)
    assert found.labels("workload") == names.split(",")
    for entry in found.detail["results"]:
        workload = WORKLOADS[entry["workload"]]
        assert entry["asked"] == dict(workload.asked)
        assert entry["figures"].keys() == UNITS.keys() - (set() if "triangles" in workload.name else _OF_TRIANGLES)
        if "triangles" in workload.name:
            assert 0 < entry["figures"]["a row joined"] < entry["figures"]["a row met"]
        assert entry["measured"] == 36 * (4 if workload.name == "hops" else 1)
        assert entry["again_seconds"] > 0
        assert [*entry["published"]] == [*workload.anchors]


def test_what_is_asked_is_measured_and_what_is_named_is_there() -> None:
    for name, workload in WORKLOADS.items():
        assert name == workload.name
        assert workload.asked.keys() <= UNITS.keys()
        assert set(workload.programs) <= PROGRAMS.keys()
        assert set(workload.anchors) <= anchors().keys()


def test_a_scale_changes_the_nodes() -> None:
    assert WORKLOADS["reach"].scaled(0.01).shape == Shape("uniform", 10_000, 10)
    assert WORKLOADS["reach"].scaled(1e-9).shape.nodes == 64
    assert WORKLOADS["chain"].scaled(0.01) == WORKLOADS["chain"]


def test_figures_by_row() -> None:
    result = {
        "fill_seconds": 2.0,
        "filled": 1_000,
        "mean_ms": 0.5,
        "joining_ms": 0.125,
        "quantiles_ms": [share * 10 for share in SHARES],
        "state_bytes": 7,
    }
    found = bench.figures_of(result, met=250.0)
    assert found["a row filled"] == 2_000
    assert (found["a row joined"], found["a row met"]) == (500, 2_000)
    assert (found["p50"], found["p90"], found["p99"], found["max"]) == (5.0, 9.0, 9.9, 10.0)
    assert not _OF_TRIANGLES & bench.figures_of(result, met=0.0).keys()


def test_edges_met_in_a_fixed_order_are_those_of_both_ends(tmp_path: Path) -> None:
    stream = ensure(Shape("uniform", 20, 3), 30, tmp_path, untold)
    edges = [tuple(row.values()) for row in stream.base(("e",))["e"].to_pylist()]
    met = [
        sum((s == row["d"]) + (d == row["s"]) + (s == row["s"]) for s, d in edges)
        for row in stream.changes(("e",)).between(0, 30)["e"].to_pylist()
    ]
    assert bench._met(stream) == pytest.approx(sum(met) / len(met))


class Slow:
    """A database whose commits take some time, and which remembers how many changes each had."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.sizes: list[int] = []

    def apply(self, tables: dict[str, pa.Table]) -> None:
        self.sizes.append(sum(table.num_rows for table in tables.values()))
        time.sleep(self.seconds)


@pytest.mark.parametrize(("seconds", "rate"), [(0.02, 500.0), (0.0, 100.0)])
def test_what_is_offered_waits_for_the_commit_before(seconds: float, rate: float, monkeypatch) -> None:
    monkeypatch.setattr(Steps, "tell", lambda *told: None)
    rows = pa.table({"s": range(30), "d": range(30), "_step": range(30), "_diff": [1] * 30})
    db: Any = Slow(seconds)
    began = time.perf_counter()
    latencies = engine._offered(db, Changes({"e": rows}), range(5, 30), rate, Steps())
    took = time.perf_counter() - began
    assert len(latencies) == sum(db.sizes) == 25
    assert all(each >= seconds for each in latencies)
    assert max(latencies) <= took
    assert took >= 24 / rate
    if seconds:
        assert max(db.sizes) > 5


def test_the_command_line_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["ivm.commands"]["graph"] == "ivm.benchmarks.graph.cli:app"
    assert isinstance(app, typer.Typer)
