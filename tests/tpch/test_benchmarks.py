"""A smoke run of each benchmark at a tiny scale: the figures are there; how large they are is not asserted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from benchmarks import process, refresh_latency, streaming
from benchmarks.streaming_engine import Task
from tests.tpch.conftest import SF


def run(app: Typer, *arguments: str) -> str:
    """Run a benchmark's command; what it prints."""
    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output + repr(done.exception)
    return done.output


def test_streaming(streams: Path, tmp_path: Path) -> None:
    file = tmp_path / "results" / "streaming.json"
    arguments = ["--sf", str(SF), "--views", "q6,q12", "--batch", "1000", "--samples", "2", "--data", str(streams)]
    run(streaming.app, *arguments, "--json", str(file))
    result = json.loads(file.read_text())
    assert result["machine"]["cores"] >= 1
    assert result["machine"]["commit"]
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


def test_refresh_latency(streams: Path, tmp_path: Path) -> None:
    file = tmp_path / "latency.json"
    (tmp_path / f"sf{SF:g}").symlink_to(streams)
    arguments = ["--sf", f"{SF:g},{SF:g}", "--views", "q3", "--commits", "10", "--data", str(tmp_path)]
    run(refresh_latency.app, *arguments, "--json", str(file))
    result = json.loads(file.read_text())
    assert result["p50_growth"] > 0
    for entry in result["results"]:
        assert entry["commits"] == 10
        assert 50 < entry["rows_per_commit"] < 150
        assert 0 < entry["p50_ms"] <= entry["p99_ms"] <= entry["max_ms"]


def test_a_failing_measurement_says_what_failed() -> None:
    with pytest.raises(process.BenchmarkError, match="streaming_engine failed for Task"):
        process.measure("benchmarks.streaming_engine", Task("/nowhere", "q1", 1))
