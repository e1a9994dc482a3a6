"""Who reads while a commit of many times is under way sees one commit or the next, nothing between, and errs never."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ivm
from ivm.dataflow.graph import Graph

ROWS, COMMITS, GROUPS = 8_192, 14, 64
VIEWS = {
    "by_group": "SELECT g, count(*) AS n, sum(v) AS s, max(v) AS m FROM t GROUP BY g",
    "joined": "SELECT d.name, count(*) AS n, sum(t.v) AS s FROM t JOIN d ON t.g = d.g GROUP BY d.name",
    "all_of_it": "SELECT count(*) AS n, sum(v) AS s FROM t",
    "chosen": "SELECT k, g AS n, v AS s FROM t WHERE v >= 0",
    "first": "SELECT k, v FROM t ORDER BY k DESC LIMIT 7",
    "distinct_groups": "SELECT DISTINCT g FROM t",
}


def _batch(number: int) -> pa.Table:
    """Rows of a commit, each of a time of its own: as many come as the commit before brought and this one takes away,
    and `ROWS` more. The values of each commit add up to nothing, those of no part of it do.
    """
    k = np.arange(ROWS) + number * ROWS
    values = np.where(np.arange(ROWS) < ROWS // 2, 1, -1)
    come = {"k": k, "g": k % GROUPS, "v": values, "_diff": np.ones(ROWS, np.int64)}
    passing = {**come, "k": k + 10**9}
    gone = {**passing, "_diff": -come["_diff"]}
    parts = [pa.table(each) for each in (come, passing, gone)]
    times = np.arange(3 * ROWS) + 10 + number * 3 * ROWS
    return pa.concat_tables(parts).append_column("_time", pa.array(times)).combine_chunks()


def _check(name: str, table: pa.Table) -> int:
    """How many commits a view shows, of which AssertionError if it is not a whole number."""
    if name == "first":
        keys = sorted(table["k"].to_pylist())
        assert not keys or keys == list(range(keys[-1] - 6, keys[-1] + 1))
        shown, rest = divmod(keys[-1] + 1, ROWS) if keys else (0, 0)
    elif name == "distinct_groups":
        assert table.num_rows in (0, GROUPS)
        return 0
    elif name == "chosen":
        assert len(set(table["k"].to_pylist())) == table.num_rows
        shown, rest = divmod(table.num_rows, ROWS // 2)
    else:
        assert sum(each or 0 for each in table["s"].to_pylist()) == 0
        shown, rest = divmod(sum(table["n"].to_pylist()), ROWS)
    assert rest == 0, f"{name} shows a part of a commit"
    return shown


def _world(threads: int) -> ivm.Database:
    db = ivm.connect(threads=threads)
    db.execute("CREATE TABLE t (k BIGINT, g BIGINT, v BIGINT); CREATE TABLE d (g BIGINT, name VARCHAR)")
    db.apply({"d": pa.table({"g": np.arange(GROUPS), "name": [f"d{each % 7}" for each in range(GROUPS)]})})
    for name, query in VIEWS.items():
        db.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    return db


def _contents(db: ivm.Database) -> dict[str, list[str]]:
    """What each view shows; none is looked up, or read, with a lock."""
    return {name: sorted(map(str, db.view(name).arrow().to_pylist())) for name in VIEWS}


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_not_sealed_is_not_seen(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    seal = Graph.seal

    def read_first(graph: Graph, *given: Any) -> Any:
        with ThreadPoolExecutor(1) as other:
            seen.append(other.submit(_contents, db).result())
        return seal(graph, *given)

    with _world(threads) as db, _world(1) as alone:
        for number in range(4):
            before = _contents(alone)
            with monkeypatch.context() as patch:
                patch.setattr(Graph, "seal", read_first)
                db.apply({"t": _batch(number)})
            assert seen.pop() == before, "who is the first to read a commit does so in the middle of the next"
            alone.apply({"t": _batch(number)})
        assert _contents(db) == _contents(alone)


@pytest.fixture
def turns() -> Iterator[None]:
    """Threads take turns so often that some read in the middle of a commit."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("turns")
@pytest.mark.parametrize("threads", [1, 2])
def test_readers_see_whole_commits(threads: int) -> None:
    with _world(threads) as db:
        done, wrong, reads = threading.Event(), list[BaseException](), [0] * len(VIEWS)

        def reading(number: int, name: str) -> None:
            last, wait = 0, random.Random(number)
            try:
                while not done.is_set():
                    shown = _check(name, db.view(name).arrow())
                    assert shown >= last, f"{name} goes back"
                    last, reads[number] = shown, reads[number] + 1
                    time.sleep(wait.uniform(0, 0.01))  # so that who is first to read a commit is at times in the next
            except BaseException as error:  # noqa: BLE001
                wrong.append(error)

        readers = [threading.Thread(target=reading, args=each) for each in enumerate(VIEWS)]
        for reader in readers:
            reader.start()
        try:
            for number in range(COMMITS):
                db.apply({"t": _batch(number)})
        finally:
            done.set()
            for reader in readers:
                reader.join()
        assert not wrong, wrong[0]
        assert min(reads) > 1
        assert all(_check(name, db.view(name).arrow()) in (0, COMMITS) for name in VIEWS)
        db.verify()
