"""Random scripts are as DuckDB says after each statement; scripts that differed once are run again."""

from __future__ import annotations

from pathlib import Path

import pytest

import ivm
from tests.random.scripts.play import play
from tests.random.scripts.script import random_script
from tests.random.scripts.step import Script, Step, parsed, written

CASES = sorted((Path(__file__).parent / "cases").glob("*.sql"))
SEEDS = range(1_000, 1_003)
MORE_SEEDS = range(2_000, 2_100)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_scripts_are_as_duckdb_says(seed: int) -> None:
    _check(seed)


@pytest.mark.slow
def test_many_random_scripts_are_as_duckdb_says() -> None:
    for seed in MORE_SEEDS:
        _check(seed)


def _check(seed: int) -> None:
    script = random_script(seed)
    played = play(script)
    assert played.failure is None, written(script, f"seed {seed}: {played.failure}")
    assert played.skipped or played.compared


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_script(path: Path) -> None:
    played = play(parsed(path.read_text(encoding="utf-8")))
    assert played.failure is None
    assert not played.skipped
    assert not played.refused


def test_a_script_is_read_as_it_is_written() -> None:
    for seed in range(10):
        script = random_script(seed)
        assert random_script(seed) == script
        assert parsed(written(script, "a comment; with a semicolon")) == script


def test_what_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that deletes the rows that should stay."""
    sql = ivm.Database.sql

    def wrong(self: ivm.Database, text: str, *args: object, **options: object) -> object:
        return sql(self, text.replace("> 1", "<= 1"), *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(ivm.Database, "sql", wrong)
    texts = ("CREATE TABLE t (k INTEGER)", "INSERT INTO t VALUES (1), (2)", "DELETE FROM t WHERE k > 1")
    failure = play(Script(tuple(map(Step, texts)))).failure
    assert failure is not None
    assert (failure.kind, failure.step) == ("rows", 2)
