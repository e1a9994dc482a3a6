"""Random views equal DuckDB at every logical time; cases that failed once are run again; the search finds and shrinks."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
import sqlglot

import ivm
from tests.more import by_day
from tests.random.case import Case, parsed, written
from tests.random.kinds import TYPES
from tests.random.layouts import laid_out
from tests.random.run import run
from tests.random.search import Counts, random_case, try_seed
from tests.random.shrink import candidates, shrunk
from tests.random.tables import Column, Table

CASES = sorted((Path(__file__).parent / "cases").glob("*.sql"))
SEEDS = range(1_000, 1_012)
MORE_SEEDS = range(2_000, 2_600)
SHARES = 3


@pytest.mark.parametrize("share", by_day(range(SHARES), SHARES))
def test_random_views_are_as_duckdb_says(share: int) -> None:
    _search(SEEDS[share::SHARES])


@pytest.mark.slow
def test_many_random_views_are_as_duckdb_says() -> None:
    _search(MORE_SEEDS)


def _search(seeds: range) -> None:
    counts = Counts()
    for seed in seeds:
        case, outcome = try_seed(seed, counts)
        assert outcome.failure is None, f"seed {seed}: {outcome.failure}\n{written(case)}"
    assert counts.filled > counts.cases / 3


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_case(path: Path) -> None:
    outcome = run(parsed(path.read_text(encoding="utf-8")), "wait" if path.stem.startswith("compiled") else "off")
    assert outcome.failure is None
    assert not outcome.refused
    assert outcome.compared or outcome.skipped == ["both raise"]


def test_a_seed_is_one_case() -> None:
    assert random_case(7) == random_case(7)
    assert random_case(7) != random_case(8)


@pytest.mark.parametrize("seed", range(20))
def test_a_case_is_read_as_it_is_written(seed: int) -> None:
    case = random_case(seed)
    again = parsed(written(case, "a comment; with a semicolon"))
    assert written(again) == written(case)
    assert again.tables == case.tables
    assert again.ways == case.ways
    assert [view for view, _ in again.views] == [view for view, _ in case.views]


def test_every_layout_holds_the_same_values() -> None:
    rng, laid = Random(4), set[object]()
    for name, type_ in TYPES.items():
        data = Table("t", (Column("x", name),)).arrow([(value,) for value in (*type_.domain, None)])
        for _ in range(30):
            column = laid_out(rng, data).column(0)
            laid.add(column.type)
            assert column.to_pylist() == data.column(0).to_pylist() or name.startswith("TIMESTAMP")
    assert len(laid) > 30


@pytest.mark.parametrize("case", ["CASE WHEN a > 1 THEN b ELSE 3 END", "CASE a WHEN 1 THEN b WHEN 2 THEN c END"])
def test_every_step_of_shrinking_can_be_written(case: str) -> None:
    tree = sqlglot.parse_one(f"SELECT {case} AS x FROM t", read="duckdb")
    assert "SELECT b AS x FROM t" in [smaller.sql("duckdb") for smaller in candidates(tree)]


def test_a_wrong_view_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that takes every sum for a minimum."""
    sql = ivm.Database.sql

    def wrong(self: ivm.Database, text: str, *args: object, **options: object) -> object:
        return sql(self, text.replace("sum(", "min(").replace("SUM(", "MIN("), *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(ivm.Database, "sql", wrong)
    changes = (("t", (1, 2, "x"), 1), ("t", (2, 2, "y"), 1), ("t", (3, None, None), 1))
    tables = parsed("CREATE TABLE t (k INTEGER NOT NULL, i INTEGER, s VARCHAR, PRIMARY KEY (k));").tables
    text = "SELECT k % 1 AS c0, CAST(sum(i + 0) AS INTEGER) AS c1, count(*) AS c2 FROM t WHERE k > 0 GROUP BY k % 1"
    case = Case(tables, (("v", text),), ((changes,), ((("t", (3, None, None), -1),),)))
    failure = run(case).failure
    assert failure is not None
    assert failure.kind == "rows"
    smaller = shrunk(case, failure, 60.0)
    assert len(smaller.views[0][1]) < len("SELECT CAST(SUM(i) AS INTEGER) AS c1 FROM t AS t GROUP")
    assert len(smaller.batches) == 1
    assert len(smaller.batches[0][0]) <= 2
