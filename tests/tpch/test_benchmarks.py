"""A smoke run of each benchmark at a tiny scale: the figures are there; how large they are is not asserted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer import Typer
from typer.testing import CliRunner

import ivm
from ivm.benchmarks import (
    adversarial,
    cluster,
    durability,
    estimates,
    figures,
    films,
    installing,
    live,
    live_engine,
    process,
    refresh_latency,
    sharing,
    state,
    streaming,
    waiting,
)
from ivm.benchmarks.adversarial_engine import CASES
from ivm.benchmarks.phases import PHASES, clocked
from ivm.benchmarks.pinned import pinned
from ivm.benchmarks.sharing_plots import ccdf
from ivm.benchmarks.streaming_duckdb import Task as DuckdbTask
from ivm.benchmarks.streaming_engine import Task
from ivm.benchmarks.waiting_engine import KINDS, SCHEMA
from ivm.benchmarks.warm_up import warm_up
from ivm.tpch import queries
from ivm.tpch.options import STREAMS
from ivm.tpch.queries import NAMES
from ivm.tpch.reader import open_stream
from tests.tpch.conftest import SF


def run(app: Typer, *arguments: str) -> str:
    """Run a benchmark's command; what it prints."""
    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output + repr(done.exception)
    return done.output


@pytest.mark.usefixtures("in_this_process")
def test_streaming(streams: Path, tmp_path: Path) -> None:
    file = tmp_path / "results" / "streaming.json"
    arguments = ["--sf", str(SF), "--views", "q6,q12", "--batch", "1000", "--samples", "2", "--data", str(streams)]
    arguments += ["--passes", "2"]
    run(streaming.app, *arguments, "--json", str(file))
    (measured,) = figures.read(file)
    assert measured.machine["cores"] >= 1
    assert measured.machine["commit"]
    assert [f.of["view"] for f in measured.select("later passes", batch=1_000, times="coalesced")] == ["q6", "q12"]
    assert all(len(f.samples) == 2 and f.value > 0 for f in measured.select("later passes"))
    assert all(f.count == 2 * 7 and f.value <= f.quantile(0.99) for f in measured.select("commit"))
    result = measured.detail
    assert result["stream"]["seed"] == 7
    assert [(entry["view"], entry["batch"]) for entry in result["results"]] == [("q6", 1_000), ("q12", 1_000)]
    for entry in result["results"]:
        engine, other = entry["engine"], entry["duckdb"]
        assert engine["commits"] == other["commits"] == 7
        assert 0 < engine["p50_ms"] <= engine["p99_ms"] <= engine["max_ms"]
        assert engine["tuples_per_second"] > 0
        assert engine["peak_bytes"] > engine["grown_bytes"]
        assert other["query_runs_measured"] == 2
        assert other["query_once_seconds"] > 0
        assert other["seconds"] > other["append_seconds"] > 0
    assert result["results"][0]["engine"]["tuples"] == 6_005
    assert result["results"][1]["engine"]["tuples"] == 6_005 + 1_500


@pytest.mark.usefixtures("in_this_process")
def test_refresh_latency(streams: Path, tmp_path: Path) -> None:
    file = tmp_path / "latency.json"
    (tmp_path / f"sf{SF:g}").symlink_to(streams)
    arguments = ["--sf", f"{SF:g},{SF:g}", "--views", "q3", "--commits", "10", "--data", str(tmp_path)]
    run(refresh_latency.app, *arguments, "--json", str(file))
    result = json.loads(file.read_text())["detail"]
    (measured,) = figures.read(file)
    assert [f.of["orders"] for f in measured.select("commit")] == [20, 20]
    for entry in result["results"]:
        assert entry["commits"] == 10
        assert 50 < entry["rows_per_commit"] < 150
        assert 0 < entry["p50_ms"] <= entry["p99_ms"] <= entry["max_ms"]


@pytest.mark.usefixtures("in_this_process")
def test_durability(streams: Path, tmp_path: Path) -> None:
    file = tmp_path / "durability.json"
    arguments = ["--sf", str(SF), "--views", "q6", "--batch", "2000", "--passes", "1", "--commits", "5"]
    arguments += ["--whole", "q3,q6", "--log", "0"]
    run(durability.app, *arguments, "--at", str(tmp_path), "--data", str(streams), "--json", str(file))
    (measured,) = figures.read(file)
    passes = measured.select("passes", view="q6", batch=2_000)
    assert [each.of["durability"] for each in passes] == ["memory", "off", "interval", "commit"]
    assert all(each.value > 0 for each in passes)
    assert 50 < measured.select("log of small commits, a change")[0].value < 500
    whole, sync = measured.select("commit on disk"), measured.select("its sync")
    assert whole[0].count == sync[0].count == 5
    assert whole[0].value > sync[0].value > 0
    assert [each.of["opened"] for each in measured.select("opening, first")] == [
        "after close",
        "after a kill, with a log",
    ]
    assert measured.select("commit without a checkpoint")[0].count > 5
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.usefixtures("in_this_process")
def test_sharing(streams: Path, tmp_path: Path) -> None:
    file = tmp_path / "sharing.json"
    arguments = ["--sf", str(SF), "--views", "q3,q5,q6", "--active", "2", "--batch", "500", "--every", "4"]
    printed = run(sharing.app, *arguments, "--again", "2", "--data", str(streams), "--json", str(file))
    assert "install again" in printed
    result = json.loads(file.read_text())["detail"]
    assert set(result["results"]) == set(result["summary"]) == {"shared", "not shared"}
    shared, apart = (result["results"][mode] for mode in ("shared", "not shared"))
    assert [each["view"] for each in shared["installs"]] == [each["view"] for each in apart["installs"]]
    for found in (shared, apart):
        assert found["commits"] == len(found["commit_ms"]) == 13
        assert found["changes"] == 2 * 6_005 - 500
        assert len(found["installs"]) == 2 + 3
        assert len(found["drop_ms"]) == 3
        assert [sample["changes"] for sample in found["memory"]] == sorted(s["changes"] for s in found["memory"])
        assert found["peak_bytes"] >= max(sample["resident_bytes"] for sample in found["memory"])
        for install in found["installs"] + found["again"]:
            assert sum(install[phase] for phase in PHASES) == pytest.approx(install["total"])
            assert install["first_result"] > install["total"]
        assert [each["view"] for each in found["again"]] == ["q3", "q3", "q5", "q5", "q6", "q6"]
    assert not any(each["indexed"] for each in shared["again"])
    assert all(each["indexed"] for each in apart["again"] if each["view"] != "q6")
    assert apart["end"]["rows"] == shared["end"]["rows"]
    for name in ("install", "update", "memory"):
        assert (tmp_path / f"sharing_{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("in_this_process")
def test_sharing_over_a_base(streams: Path, tmp_path: Path) -> None:
    file = tmp_path / "sharing.json"
    arguments = ["--sf", str(SF), "--stream", "refresh", "--views", "q3,q6", "--active", "1", "--commits", "2"]
    run(sharing.app, *arguments, "--batch", "50", "--again", "1", "--data", str(streams), "--json", str(file))
    result = json.loads(file.read_text())["detail"]
    assert [found["commits"] for found in result["results"].values()] == [2, 2]


@pytest.mark.parametrize("coalesce", [False, True], ids=["every-time", "coalesced"])
@pytest.mark.parametrize("name", STREAMS)
def test_the_warm_up_needs_nothing_that_its_few_rows_lack(streams: Path, name: str, coalesce: bool) -> None:
    stream = open_stream(streams / name)
    warm_up(stream, stream.base(), ("q3", "q6"), sharing=True, coalesce=coalesce)


def test_expected_rows_are_near_those_that_are_there(streams: Path) -> None:
    db = estimates.loaded(open_stream(streams / "load"))
    found = list(estimates.estimated(db, {name: queries.text(name) for name in NAMES}))
    assert {each.view for each in found} == set(NAMES)
    far = [each.text() for each in found if not all(each.near)]
    assert len(far) <= 0.3 * len(found), "\n".join(far)  # of so few rows many filters leave none


def test_expected_rows_of_films_are_near_those_that_are_there() -> None:
    db = ivm.connect()
    films.filled(db)
    found = list(estimates.estimated(db, films.VIEWS))
    far = [each.text() for each in found if not all(each.near)]
    assert len(far) <= 0.1 * len(found), "\n".join(far)


@pytest.mark.usefixtures("in_this_process")
def test_state(streams: Path, tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    arguments = ["--sf", str(SF), "--views", "q3,q5,q6", "--active", "2", "--batch", "2000", "--no-without"]
    run(state.app, *arguments, "--data", str(streams), "--json", str(file))
    result = json.loads(file.read_text())["detail"]
    assert list(result["all"]) == ["shared, installed first", "shared, hydrated"]
    for found in result["all"].values():
        held = found["held"]
        assert held["entries"] == sum(each["entries"] for each in found["arrangements"])
        assert held["rows"] >= held["table_rows"] == open_stream(streams / "load").manifest.rows
        alone = sum(each["state_bytes"] for each in found["view_state"])  # reading a view may make it smaller
        assert held["alone_bytes"] == pytest.approx(alone, rel=0.1)
        assert found["install_seconds"] == pytest.approx(sum(each["total"] for each in found["installs"]) / 1e3)
        assert held["entries"] > 0
    for found in result["whole_run"].values():
        assert found["commits"] == 4
        assert found["seconds"] >= found["commit_seconds"] > 0
    assert len(result["whole_run"]["shared, one leaves, one comes"]["drop_ms"]) == 4


def test_the_phases_of_an_installation_are_all_there() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY, b BIGINT)")
    db.sql("INSERT INTO t VALUES (1, 2)")
    with clocked() as clock:
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT x.b, count(*) AS n FROM t x JOIN t y ON x.b = y.b GROUP BY x.b")
        lap = clock.lap(10.0)
    assert set(lap) == {*PHASES, "total"}
    assert all(lap[phase] > 0 for phase in PHASES)
    assert sum(clock.lap(1.0).values()) == 2e3  # all of it is left over: nothing ran since


def test_pinned_arrangements_stay_without_views_and_then_go() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY, b BIGINT)")
    join = "CREATE MATERIALIZED VIEW v AS SELECT x.b, y.a FROM t x JOIN t y ON x.b = y.b"
    count = "SELECT count(*) FROM ivm_arrangements WHERE kind = 'index'"
    db.sql(join)
    with pinned(db):
        db.sql("DROP VIEW v")
        assert db.sql(count).fetchall() == [(1,)]
        db.sql("INSERT INTO t VALUES (1, 2)")
        db.sql(join)
        assert db.view("v").fetchall() == [(2, 1)]
        db.sql("DROP VIEW v")
    assert db.sql(count).fetchall() == [(0,)]


def test_the_complementary_distribution_counts_what_is_greater() -> None:
    values, shares = ccdf([3.0, 1.0, 3.0, 2.0])
    assert np.array_equal(values, [1.0, 2.0, 3.0, 3.0])
    assert np.array_equal(shares, [0.75, 0.5, 0.0, 0.0])


@pytest.mark.usefixtures("in_this_process")
def test_adversarial(tmp_path: Path) -> None:
    file = tmp_path / "adversarial.json"
    run(adversarial.app, "--rows", "2000", "--commits", "30", "--json", str(file))
    result = json.loads(file.read_text())["detail"]
    assert {entry["case"] for entry in result["results"]} == set(CASES)
    for entry in result["results"]:
        assert entry["commits"] == 30
        assert 0 < entry["p50_ms"] <= entry["p99_ms"] <= entry["max_ms"]
    swept = next(entry for entry in result["results"] if entry["case"] == "sweep")
    assert swept["visited"] == swept["crossed"] > 2000


@pytest.mark.usefixtures("in_this_process")
def test_installing(streams: Path, tmp_path: Path) -> None:
    file = tmp_path / "installing.json"
    (tmp_path / f"sf{SF:g}").symlink_to(streams)
    run(installing.app, "--sf", f"{SF:g}", "--views", "q3,q18", "--data", str(tmp_path), "--json", str(file))
    result = json.loads(file.read_text())["detail"]
    assert [entry["view"] for entry in result["results"]] == ["q3", "q18"]
    for entry in result["results"]:
        assert entry["commits"] >= 1
        assert entry["peak_bytes"] > 0


@pytest.mark.usefixtures("in_this_process")
def test_cluster_without_a_cluster(streams: Path, tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    arguments = ["--sf", str(SF), "--views", "q1,q3", "--spark", "", "--counted", "2,3", "--batches", "1"]
    arguments += ["--over", "2,3", "--changes", "100,1000", "--passes", "2", "--wait", "1"]
    printed = run(cluster.app, *arguments, "--data", str(streams), "--json", str(file))
    assert "one engine" in printed
    (measured,) = figures.read(file)
    assert [f.of["shards"] for f in measured.select("state of a row")] == [1, 2, 3]
    assert all(1 <= f.value <= float(f.of["shards"]) for f in measured.select("busiest by mean"))
    for view in measured.detail["counted"]["3"]["views"]:
        assert view["busiest"] >= view["mean"] > 0
        assert all(hot["busiest"] > hot["mean"] for hot in view["hot"])
    for shards in (2, 3):
        few, many = (
            {f.name: f.value for f in measured.figures if f.of.get("shards") == shards and f.of.get("changes") == size}
            for size in (100, 1000)
        )
        assert len(few) == len(many) == 8
        # Two levels with what all have to say to all, and what each has to say to itself about the level below.
        assert 2 * shards < few["messages of a commit"] <= many["messages of a commit"] < 6 * shards * shards
        assert few["messages of a commit, size"] < many["messages of a commit, size"]
        assert few["files of a commit, size"] < many["files of a commit, size"]
    assert "folder of" in printed


@pytest.mark.usefixtures("in_this_process")
def test_waiting(tmp_path: Path) -> None:
    file = tmp_path / "waiting.json"
    run(waiting.app, "--rows", "3000", "--kinds", "join", "--json", str(file))
    result = json.loads(file.read_text())["detail"]
    assert [entry["kind"] for entry in result["results"]] == ["join"]
    for entry in result["results"]:
        assert set(entry["waits"]) == {"apart", "same", "read"}
        for waits in entry["waits"].values():
            assert waits["p50_ms"] <= waits["p99_ms"] <= waits["max_ms"]


@pytest.mark.usefixtures("in_this_process")
def test_live(tmp_path: Path) -> None:
    file = tmp_path / "live.json"
    printed = run(live.app, "--listeners", "3", "--rows", "300", "--commits", "5", "--json", str(file))
    assert "3 listeners, times nobody" in printed
    (measured,) = figures.read(file)
    assert list(dict.fromkeys(each.of["kind"] for each in measured.figures)) == list(live_engine.KINDS)
    assert {each.of["asked"] for each in measured.figures if "asked" in each.of} >= {1.11, 1.2, 1.5}


def test_every_kind_of_view_can_be_waited_for() -> None:
    db = ivm.connect(compile="off")
    db.sql(SCHEMA)
    rows = {"id": [1, 2], "g": [1, 1], "o": [3, 4], "v": [5, 6]}
    db.apply({"big": rows | {"s": ["t7", "x"]}, "half": rows, "lookup": {"id": [3, 4], "w": [3, 4]}})
    for number, query in enumerate(KINDS.values()):
        db.sql(f"CREATE MATERIALIZED VIEW v{number} AS {query}")
    db.verify()


def test_a_measurement_has_a_process_of_its_own(streams: Path) -> None:
    found = process.measure("ivm.benchmarks.streaming_engine", Task(str(streams / "load"), "q6", 0, 1))
    assert (found["tuples"], found["commits"]) == (6_005, 1)
    found = process.measure("ivm.benchmarks.streaming_duckdb", DuckdbTask(str(streams / "load"), "q6", 0, 1))
    assert found["seconds"] > found["append_seconds"] > 0


def test_a_failing_measurement_says_what_failed() -> None:
    with pytest.raises(process.BenchmarkError, match="streaming_engine failed for Task"):
        process.measure("ivm.benchmarks.streaming_engine", Task("/nowhere", "q1", 1))
