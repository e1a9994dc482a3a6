"""`ivm tpch run --spark` and `ivm tpch bench cluster`, on the session of this module."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from ivm.benchmarks import cluster_engine
from ivm.tpch.cli import app
from tests.transport.conftest import SF, TWO_EXECUTORS


def test_a_stream_is_maintained_over_spark_and_goes_on_where_it_ended(spark, streams, tmp_path):
    where = [
        "--spark",
        TWO_EXECUTORS,
        "--shards",
        "2",
        "--db",
        str(tmp_path / "root"),
        "--json",
        str(tmp_path / "json"),
    ]
    arguments = ["run", "--sf", str(SF), "--views", "q1,q3", "--batch", "1000", "--data", str(streams), *where]
    for is_again in (False, True):
        ran = CliRunner().invoke(app, arguments)
        assert ran.exit_code == 0, ran.output + repr(ran.exception)
        report = json.loads((tmp_path / "json").read_text())
        assert report["spread"]["shards"] == 2
        assert [view["verified"] for view in report["views"]] == [1, 1]
        assert bool(report["reached"]) is is_again
        assert is_again or all(view["busy_seconds"] > 0 for view in report["views"])


@pytest.mark.slow
def test_commits_are_measured_and_processes_killed(spark, streams):
    asked = cluster_engine.Task(str(streams / "refresh"), ("q3", "q6"), TWO_EXECUTORS, 2, 20, 2, 500, 1)
    found = cluster_engine.measure(asked)
    for views in ("q3", "all"):
        for form in ("rows", "frames"):
            each = found[views][form]
            pairs = zip(each["seconds"], each["engine_seconds"], strict=True)
            assert all(seconds > engine > 0 for seconds, engine in pairs)
            assert len(each["seconds"]) == 2
    assert found["large"]["changes"] == 500
    assert set(found["kills"]) == {"a worker between commits", "a worker in a commit", "an executor in a commit"}
