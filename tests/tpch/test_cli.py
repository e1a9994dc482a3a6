"""The commands of `ivm tpch`: what they print and write, and how they end."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from shutil import copytree

import pytest
from typer.testing import CliRunner, Result

import ivm
from ivm.catalog.errors import Error
from ivm.tpch import cache, queries
from ivm.tpch.cli import app
from ivm.tpch.errors import SetupError
from ivm.tpch.keeping import begin
from ivm.tpch.options import Options
from ivm.tpch.reader import open_stream
from ivm.tpch.schema import ddl
from ivm.tpch.spark import why
from tests.tpch.conftest import SEED, SF

SEEDED = ["--sf", str(SF), "--seed", str(SEED)]


def call(*arguments: str) -> Result:
    """Run `ivm tpch` with these arguments."""
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})


def test_generate_then_run_what_was_generated(spark: object, tmp_path: Path) -> None:
    made = call("generate", *SEEDED, "--stream", "refresh", "--pairs", "5", "--out", str(tmp_path))
    assert made.exit_code == 0, made.output
    assert (tmp_path / "refresh" / "manifest.json").is_file()
    again = call("generate", *SEEDED, "--stream", "refresh", "--out", str(tmp_path))
    assert isinstance(again.exception, Error)
    assert "exists already" in str(again.exception)
    ran = call("run", *SEEDED, "--views", "q1", "--data", str(tmp_path / "refresh"))
    assert ran.exit_code == 0, ran.output


def test_run_makes_what_is_missing(monkeypatch: pytest.MonkeyPatch, streams: Path, tmp_path: Path) -> None:
    """As `generate` does, whose work is shown above."""
    asked: list[object] = []

    def make(sf: float, names: list[str], target: Path, *seed_and_options: object) -> None:
        asked.extend((sf, names, target, *seed_and_options))
        copytree(streams / "churn", target / "churn")

    monkeypatch.setattr(cache, "make", make)
    ran = call("run", *SEEDED, "--stream", "churn", "--batch", "50", "--views", "q6", "--data", str(tmp_path / "new"))
    assert ran.exit_code == 0, ran.output
    assert asked == [SF, ["churn"], tmp_path / "new", SEED, Options()]


@pytest.mark.parametrize("extra", [[], ["--coalesce"]], ids=["every-time", "coalesced"])
def test_run_says_what_it_showed_and_prints_what_differs_from_view_to_view(streams: Path, extra: list[str]) -> None:
    ran = call("run", *SEEDED, "--stream", "churn", "--batch", "100", "--every", "2", "--data", str(streams), *extra)
    assert ran.exit_code == 0, ran.output
    for name in queries.NAMES:
        assert f"\n  {name} " in ran.output
    said = " ".join(ran.output.split())
    assert f"{len(queries.NAMES)} SQL queries, kept up to date as views of 8 tables" in said
    for beginning in ("stream ", "speed ", "instead to run the queries again in DuckDB ", "memory ", "before "):
        assert f" {beginning}" in said
    assert "proof DuckDB computed every view anew from the tables 3 times, the last one at the end: equal" in said


def test_run_writes_json(streams: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    ran = call("run", *SEEDED, "--stream", "load", "--views", "1,q6", "--data", str(streams), "--json", str(file))
    assert ran.exit_code == 0, ran.output
    report = json.loads(file.read_text())
    assert report["stream"] == "load"
    assert report["base_rows"] == 0
    assert [view["view"] for view in report["views"]] == ["q1", "q6"]
    assert all(view["verified"] == 1 and view["ever_filled"] for view in report["views"])
    assert report["views"][0]["changes"] == 6_005
    printed = call("run", *SEEDED, "--stream", "load", "--views", "1,q6", "--data", str(streams), "--json", "-")
    assert json.loads(printed.stdout)["changes"] == report["changes"]


def test_run_over_shards_of_this_process(streams: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    arguments = [*SEEDED, "--views", "q3,q5", "--batch", "500", "--data", str(streams), "--shards", "3"]
    ran = call("run", *arguments, "--json", str(file))
    assert ran.exit_code == 0, ran.output
    assert "shards 3, of which the busiest did 1." in " ".join(ran.output.split())
    report = json.loads(file.read_text())
    assert report["spread"]["shards"] == 3
    assert all(view["busy_seconds"] > 0 and view["state_rows"] > 0 for view in report["views"])
    assert report["state"]["bytes"] > sum(view["state_bytes"] for view in report["views"]) / len(report["views"])
    kept = call("run", *arguments, "--db", str(tmp_path / "kept"))
    assert "shards of one process are in memory" in str(kept.exception)


def test_a_spark_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, streams: Path) -> None:
    monkeypatch.setitem(sys.modules, "ivm.tpch.spark", None)
    ran = call("run", *SEEDED, "--views", "q6", "--data", str(streams), "--spark", "local[1]")
    assert isinstance(ran.exception, SetupError)
    assert "install ivm-engine[spark]" in str(ran.exception)


def test_generating_without_spark_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ivm.tpch.generate", None)
    ran = call("run", *SEEDED, "--data", str(tmp_path))
    assert isinstance(ran.exception, SetupError)
    assert "install ivm-engine[tpch]" in str(ran.exception)


def test_why_spark_does_not_start_is_one_line() -> None:
    said = "WARNING: incubator\nException in thread main: org.apache.spark.SparkException: no such master\n\tat org.x.Y(Z:1)"
    assert why(said) == "no such master"
    assert why("gone. Reason: All masters are unresponsive!\nmore") == "All masters are unresponsive!"
    assert why(" it ended ") == "it ended"


def test_verify_compares_after_every_batch(streams: Path, tmp_path: Path) -> None:
    file = tmp_path / "verify.json"
    arguments = ["--stream", "window", "--batch", "2000", "--views", "q1,q3", "--data", str(streams)]
    ran = call("verify", *SEEDED, *arguments, "--json", str(file))
    assert ran.exit_code == 0, ran.output
    report = json.loads(file.read_text())
    assert report["commits"] == 4 + report["alone"]["steps"]
    assert report["verifications"] == 5


def test_a_stream_of_another_scale_factor_or_seed_is_refused(streams: Path) -> None:
    other = call("run", "--sf", "0.002", "--stream", "load", "--data", str(streams))
    assert "has sf 0.001, not 0.002" in str(other.exception)
    other = call("run", "--sf", str(SF), "--seed", "8", "--stream", "load", "--data", str(streams))
    assert "has seed 7, not 8" in str(other.exception)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--stream", "flood"], "flood is not a stream"),
        (["run", "--views", "q23"], "q23 is not a TPC-H query"),
        (["run", "--batch", "0"], "--batch"),
        (["run", "--sf", "0"], "--sf"),
        (["generate", "--stream", "load,flood"], "flood is not a stream"),
        (["bench", "nothing"], "nothing is not a benchmark"),
        (["drown"], "No such command"),
    ],
)
def test_wrong_usage_ends_with_2(arguments: list[str], said: str) -> None:
    ran = call(*arguments)
    assert ran.exit_code == 2
    assert said in ran.output


def test_a_run_on_disk_goes_on_where_another_ended(streams: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "kept.ivm", tmp_path / "run.json"
    stream = open_stream(streams / "refresh")
    with ivm.connect(path, compile="off", durability="off") as db:  # killed in the middle, some other batches before
        found = begin(db, stream.manifest, is_kept=True)
        db.apply(stream.base(), **found.options(stream.manifest.first_time - 1))
        for batch in list(stream.batches(13))[:5]:
            db.apply(batch.tables, **found.options(batch.last_time))
        reached = found.reached(db)
    arguments = [*SEEDED, "--views", "q1,q6", "--batch", "500", "--data", str(streams), "--db", str(path)]
    ran = call("run", *arguments, "--json", str(out))
    assert ran.exit_code == 0, ran.exception
    report = json.loads(out.read_text())
    assert (report["reached"], report["base_rows"], report["verifications"]) == (reached, 0, 1)
    assert report["logical_times"] == stream.manifest.last_time - reached
    with ivm.connect(compile="off") as fresh, ivm.connect(path, compile="off", read_only=True) as kept:
        fresh.sql(ddl())
        fresh.apply(stream.base())
        for batch in stream.batches(10_000):
            fresh.apply(batch.tables)
        counts = "SELECT count(*), sum(l_quantity), max(l_orderkey) FROM lineitem"
        assert kept.sql(counts).fetchall() == fresh.sql(counts).fetchall()
        assert kept.time == fresh.time
    again = call("run", *arguments)
    assert again.exit_code == 0, again.exception
    assert f"all up to step {stream.manifest.last_time:,} of the stream was there" in " ".join(again.output.split())
    other = call("run", *SEEDED, "--stream", "churn", "--views", "q1", "--data", str(streams), "--db", str(path))
    assert "the database holds tpch refresh, scale factor 0.001" in str(other.exception)
