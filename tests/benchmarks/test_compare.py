"""What has changed between two files of figures: the same is the same, a fifth slower is said, noise is not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from ivm.benchmarks.compare import app, compared, differences
from ivm.benchmarks.figures import FORMAT, Figure, Measurement, one, repeated, spread, write
from ivm.benchmarks.noise import judge
from ivm.benchmarks.statistics import quantiles
from tests.house.modules import ROOT

RNG = np.random.default_rng(3)
MACHINE = {"processor": "a", "cores": 2, "commit": "1", "packages": {"numpy": "2"}}


def passes(times: float = 1.0, jitter: float = 0.02, count: int = 3) -> list[Figure]:
    """The passes of 22 views, which take so many times as long as usual."""
    return [
        repeated(
            "later passes", "s", times * (n + 1) * np.exp(RNG.normal(0, jitter, count)), view=f"q{n + 1}", batch=1_000
        )
        for n in range(22)
    ]


def commits(times: float = 1.0, count: int = 5_000) -> Figure:
    values = times * np.exp(RNG.normal(0, 0.3, count))
    return spread("commit", "ms", quantiles(values), count, view="q1")


def measurement(*figures: Figure, benchmark: str = "streaming", **parameters: object) -> Measurement:
    return Measurement(benchmark, parameters, "2026-01-01T00:00:00+00:00", MACHINE, figures, 1.0)


def words(before: Sequence[Measurement], after: Sequence[Measurement]) -> list[str]:
    return [row.word() for row in compared(before, after)]


def test_the_same_data_shows_no_difference():
    same = [measurement(*passes(), commits(), one("peak memory", "B", 1e9))]
    assert set(words(same, same)) == {"same"}
    assert list(differences(same, same)) == []


def test_a_fifth_slower_is_said_and_a_fifth_faster():
    usual, slow = [measurement(*passes(), commits())], [measurement(*passes(1.2), commits(1.2))]
    assert set(words(usual, slow)) == {"slower"}
    assert set(words(slow, usual)) == {"faster"}
    assert len(words(usual, slow)) == 22 + 2


def test_noise_is_not():
    """Of hundreds of figures of one code hardly any is said to have changed."""
    changed = sum(
        row.verdict.has_changed
        for _ in range(20)
        for row in compared(
            [measurement(*passes(jitter=0.05), commits())], [measurement(*passes(jitter=0.05), commits())]
        )
    )
    assert changed <= 10


def test_passes_that_differ_much_show_less():
    """What is a change where passes agree is none where they do not."""
    calm = repeated("x", "s", [1.0, 1.01, 0.99]), repeated("x", "s", [1.2, 1.21, 1.19])
    wild = repeated("x", "s", [1.0, 1.4, 0.8]), repeated("x", "s", [1.2, 1.6, 0.9])
    assert judge(*calm).has_changed
    assert not judge(*wild).has_changed
    assert judge(*wild).band > 5 * judge(*calm).band


def test_tails_need_more_than_medians():
    few = [spread("x", "ms", quantiles(times * np.exp(RNG.normal(0, 0.3, 100))), 100) for times in (1.0, 1.25)]
    assert judge(few[0], few[1]).band < judge(few[0], few[1], 0.99).band
    assert judge(commits(), commits(2.0), 0.99).has_changed


def test_two_commits_say_little():
    pair = [measurement(spread("x", "ms", quantiles([t, 1.001 * t]), 2)) for t in (1.0, 1.15)]
    (row,) = compared([pair[0]], [pair[1]])
    assert not row.verdict.is_repeated
    assert not row.verdict.has_changed


def test_what_was_measured_once_is_judged_by_its_kind():
    memory = judge(one("m", "B", 1e9), one("m", "B", 1.2e9))
    assert memory.has_changed
    assert not memory.is_repeated
    assert not judge(one("t", "s", 1.0), one("t", "s", 1.1)).has_changed
    assert judge(one("n", "", 0), one("n", "", 3)).has_changed
    assert not judge(one("n", "", 0), one("n", "", 0)).has_changed


def test_the_most_important_comes_first():
    before = [measurement(*passes(jitter=0.01))]
    worse = repeated("later passes", "s", [30.0, 30.1, 29.9], view="q8", batch=1_000)
    after = [measurement(*[worse if f.of["view"] == "q8" else f for f in before[0].figures])]
    first, *others = compared(before, after)
    assert first.figure.of["view"] == "q8"
    assert first.verdict.has_changed
    assert not any(row.verdict.has_changed for row in others)


def test_figures_that_differ_in_a_label_can_be_compared():
    one_thread, two = (
        [measurement(repeated("later passes", "s", [t, 1.01 * t, 0.99 * t], view="q1", threads=threads))]
        for threads, t in ((1, 1.0), (2, 0.6))
    )
    assert compared(one_thread, two) == []
    (row,) = compared(one_thread, two, frozenset({"threads"}))
    assert row.word() == "faster"
    assert row.verdict.ratio == pytest.approx(0.6)


def test_what_is_unlike_is_told():
    before = measurement(*passes(), passes=3)
    after = replace(measurement(*passes()[:3], passes=1), machine=MACHINE | {"cores": 4, "packages": {"numpy": "3"}})
    said = list(differences([before], [after, measurement(benchmark="arrange")]))
    assert said == [
        "machine: cores 2, now 4",
        "machine: numpy 2, now 3",
        "streaming was measured with other parameters: passes 3, now passes 1",
        "arrange is only in the second file",
        "19 figures are only in the first file, 0 only in the second",
    ]


def test_the_command_says_what_has_changed(tmp_path: Path) -> None:
    write([measurement(*passes(), commits())], tmp_path / "a.json")
    write([measurement(*passes(1.3), commits())], tmp_path / "b.json")
    done = run(tmp_path / "a.json", tmp_path / "b.json")
    assert done.exit_code == 0
    assert done.output.count("slower") == 22
    together = next(line for line in done.output.splitlines() if "streaming: later passes" in line)
    assert together.split()[3:4] == ["22"]
    assert together.split()[-2:] == ["0", "22"]
    assert "22 of 24 figures have changed by more than noise" in done.output
    assert run(tmp_path / "a.json", tmp_path / "b.json", "--all").output.count("noise") > 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read as JSON"),
        ("{", "cannot be read as JSON"),
        ("[]", f"has figures of format None, not {FORMAT}"),
        (json.dumps({"format": 99}), f"has figures of format 99, not {FORMAT}"),
        (json.dumps({"format": FORMAT, "measurements": [{}]}), "is damaged"),
    ],
)
def test_bad_files_are_said(tmp_path: Path, text: str | None, said: str) -> None:
    write([measurement()], tmp_path / "a.json")
    if text is not None:
        (tmp_path / "b.json").write_text(text)
    done = run(tmp_path / "a.json", tmp_path / "b.json")
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    write([measurement(*passes())], tmp_path / "a.json")
    command = [sys.executable, "-m", "ivm.benchmarks.compare", str(tmp_path / "a.json"), str(tmp_path / "a.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "0 of 22 figures" in done.stdout


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "200"})
