"""Loops over shards, cut or gathered: through short histories as one engine and DuckDB say; see `tests.cluster.histories`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import ivm
from ivm.catalog.errors import NumericError
from ivm.operators.round_reduce import RoundReduce
from tests.cluster import histories
from tests.cluster.histories import Drawn, play
from tests.cluster.loops import CARRYING, GATHERED
from tests.cluster.memory import MemoryFolder
from tests.cluster.over_copies import connect

QUERIES = (*CARRYING.values(), *GATHERED.values())
LOOPS = Drawn(QUERIES)
OVER_COPIES = Drawn(QUERIES, kept=1, shards=(1, 2, 6))


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_loops_whose_rows_go_and_come_back(shards: int) -> None:
    for seed in range(1_700 + 1_000 * shards, 1_702 + 1_000 * shards):
        play(seed, shards, LOOPS)


@pytest.mark.parametrize("seed", range(4))
def test_loops_over_shards_that_die_and_become_more(seed: int) -> None:
    play(500 + seed, 2, OVER_COPIES)


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_many_short_histories_of_loops(shards: int) -> None:
    for seed in range(200_000 * shards, 200_000 * shards + 300):
        play(seed, shards, OVER_COPIES if seed % 4 == 0 else LOOPS)


TABLES = "CREATE TABLE e (s BIGINT, d BIGINT, PRIMARY KEY (s, d)); INSERT INTO e VALUES (1, 2), (2, 3), (5, 6), (6, 7)"
ENDING = {
    "cut": "w(s BIGINT, d BIGINT) AS (SELECT s, d FROM e UNION ALL SELECT w.s, e.d FROM w JOIN e ON w.d = e.s)",
    "gathered": "w(d BIGINT) AS (SELECT s FROM e WHERE s = 1 UNION ALL SELECT e.d FROM w JOIN e ON w.d = e.s)",
}
Over = Callable[[], ivm.Database]
OVER: dict[str, Over] = {
    "memory": partial(ivm.connect, shards=3, compile="off"),
    "copies": lambda: connect(MemoryFolder(), 3),
}


def views(kind: str) -> str:
    """One that raises where a loop has more than five rounds, and one over groups of it, which are elsewhere."""
    loop = f"WITH MUTUALLY RECURSIVE (ERROR AT RECURSION LIMIT 5) {ENDING[kind]}"
    return f"CREATE MATERIALIZED VIEW v AS {loop} SELECT d, count(*) AS n FROM w GROUP BY d"


def contents(db: ivm.Database) -> list[Any]:
    return sorted(db.view("v").fetchall())


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("kind", ENDING)
def test_a_loop_that_does_not_end_says_so_as_on_one_machine(kind: str, over: str) -> None:
    said = []
    for db in (ivm.connect(compile="off"), OVER[over]()):
        with db:
            db.sql(TABLES)
            db.sql(views(kind))
            before = contents(db)
            for _ in range(2):
                with pytest.raises(NumericError) as raised:
                    db.sql("INSERT INTO e VALUES (3, 1), (8, 9)")
                assert contents(db) == before
                said.append(str(raised.value))
            db.sql("INSERT INTO e VALUES (3, 4), (7, 8)")
            said.append(repr(contents(db)))
            db.sql("DROP VIEW v; INSERT INTO e VALUES (4, 1)")
            with pytest.raises(NumericError, match="cannot create view v") as raised:
                db.sql(views(kind))
            said.append(str(raised.value))
            db.sql("DELETE FROM e WHERE s = 4")
            db.sql(views(kind))
            said.append(repr(contents(db)))
    assert said[: len(said) // 2] == said[len(said) // 2 :]
    assert "view v: the loop of w has not ended after 5 rounds" in said[0]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("name", ["closure", "even and odd", "reached"])
def test_what_breaks_off_in_a_round_of_one_shard_is_undone_at_all(
    name: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is raised at every group that is looked at, one after the other, until a commit comes through."""
    with ivm.connect(shards=3, compile="off") as db:
        db.sql(histories.TABLES.format(replicated=""))
        db.sql("INSERT INTO bag VALUES (1, 'a'), (4, 'b'), (0, 'c')")
        db.sql("INSERT INTO sale VALUES (1, 1, 2, 'a'), (1, 3, 4, 'b')")
        db.sql(f"CREATE MATERIALIZED VIEW v AS {(CARRYING | GATHERED)[name]}")
        for text in (
            "INSERT INTO sale VALUES (1, 2, 3, 'a'), (1, 4, 1, 'b'), (1, 0, 1, 'c')",
            "DELETE FROM sale WHERE at = 2",
        ):
            before, evaluate, number = contents(db), RoundReduce.evaluate, 0
            while breaks_off(db, text, error, number, evaluate, monkeypatch):
                assert contents(db) == before
                number += 1
            assert number
            assert contents(db) != before
            db.verify()


def breaks_off(db, text, error, number, evaluate, monkeypatch):
    """Whether a commit ends by this error at a call of this number."""
    calls = iter(range(1_000_000))

    def evaluated(*given):
        if next(calls) == number:
            raise error("in the middle")
        return evaluate(*given)

    with monkeypatch.context() as patch:
        patch.setattr(RoundReduce, "evaluate", evaluated)
        try:
            db.sql(text)
        except error:
            return True
    return False
