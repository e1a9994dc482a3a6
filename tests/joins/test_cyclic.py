"""Cyclic joins: triangles, four-cycles and cliques over histories, as DuckDB has them, and as without a race."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

import ivm
from ivm.operators.join import DeltaJoin
from ivm.operators.race import Race
from ivm.plan import join_keys, join_lowering
from ivm.plan.join_races import Ways
from ivm.session.core import engine_of
from ivm.session.database import core_of
from tests.engine.chunks import chunks_of
from tests.engine.threads import helped

TABLES = {
    "e": "CREATE TABLE e (s BIGINT, d BIGINT)",
    "k": "CREATE TABLE k (s BIGINT, d BIGINT, PRIMARY KEY (d, s))",
    "r": "CREATE TABLE r (a BIGINT, b VARCHAR)",
    "t": "CREATE TABLE t (b VARCHAR, c INTEGER, w BIGINT)",
    "u": "CREATE TABLE u (c BIGINT, a BIGINT)",
    "v": "CREATE TABLE v (id BIGINT PRIMARY KEY, name VARCHAR)",
}
TRIANGLE = "e e1, e e2, e e3 WHERE e1.d = e2.s AND e2.d = e3.d AND e1.s = e3.s"
MIXED = "r, t, u WHERE r.b = t.b AND t.c = u.c AND u.a = r.a"
VIEWS = {
    "triangles": f"SELECT e1.s AS a, e1.d AS b, e2.d AS c FROM {TRIANGLE}",
    "counted": f"SELECT e1.s, count(*) AS n, sum(e2.d) AS total FROM {TRIANGLE} GROUP BY e1.s",
    "mixed": f"SELECT r.a, r.b, t.c, t.w FROM {MIXED}",
    "filtered": f"SELECT r.a, t.w FROM {MIXED} AND r.b <> 'x' AND t.w + u.a > 1 AND u.c < 4",
    "of_keys": "SELECT x.s, y.s AS m, z.d FROM k x, k y, k z WHERE x.d = y.s AND y.d = z.d AND x.s = z.s",
    "with_ears": f"SELECT v.name, e2.d, r.b FROM r, v, {TRIANGLE} AND v.id = e1.s AND r.a = e2.d",
    "cycle": "SELECT w.s, x.s AS t, y.s AS u, z.s AS v FROM e w, e x, k y, e z"
    " WHERE w.d = x.s AND x.d = y.s AND y.d = z.s AND z.d = w.s",
    "clique": "SELECT count(*) AS n, min(o.s + q.d) AS m FROM e o, e p, e q, k x, e y, e z WHERE o.s = p.s AND o.s = q.s"
    " AND o.d = x.s AND o.d = y.s AND p.d = x.d AND p.d = z.s AND q.d = y.d AND q.d = z.d"
    " AND o.s < o.d AND x.s < x.d AND z.s < z.d",
    "distinct": "SELECT x.s, y.s AS m, z.n FROM (SELECT DISTINCT s, d FROM e) x, e y,"
    " (SELECT s, d, count(*) AS n FROM e GROUP BY s, d) z WHERE x.d = y.s AND y.d = z.d AND x.s = z.s",
    "careful": f"SELECT e1.s FROM {TRIANGLE} AND CAST(20 * (e1.s + e2.s + e3.d) AS TINYINT) > 10",
}
KEYS = {"k": 2, "v": 1}
SCHEMAS = {
    "e": (("s", pa.int64()), ("d", pa.int64())),
    "k": (("s", pa.int64()), ("d", pa.int64())),
    "r": (("a", pa.int64()), ("b", pa.string())),
    "t": (("b", pa.string()), ("c", pa.int32()), ("w", pa.int64())),
    "u": (("c", pa.int64()), ("a", pa.int64())),
    "v": (("id", pa.int64()), ("name", pa.string())),
}
Row = tuple[Any, ...]
Step = dict[str, list[tuple[Row, int]]]


def _straight(sides: object, source: int, steps: Sequence[join_keys.Step]) -> Iterator[Ways]:
    yield from (((step,),) for step in steps)


@contextmanager
def without_races() -> Iterator[None]:
    """Within, joins are planned in a fixed order."""
    with patch.object(join_lowering, "raced", _straight):
        yield


class Rows:
    """The rows of all tables, with NULLs, duplicates and nodes that have most of the edges; and changes of them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.rows: dict[str, list[Row]] = {name: [] for name in TABLES}

    def step(self, most: int = 4) -> Step:
        """Rows go and others come, some of those that have just gone, or that there are already."""
        choose, step = self.random, dict[str, list[tuple[Row, int]]]()
        for name, rows in self.rows.items():
            gone = [rows.pop(choose.randrange(len(rows))) for _ in range(min(len(rows), choose.randint(0, most)))]
            come = [self._row(name) for _ in range(choose.randint(0, most + 1))]
            come += [row for row in gone if choose.random() < 0.3]
            if name in KEYS:
                there = {row[: KEYS[name]] for row in rows}
                by_key = {row[: KEYS[name]]: row for row in come}
                come = [row for key, row in by_key.items() if key not in there and None not in key]
            rows.extend(come)
            step[name] = [(row, -1) for row in gone] + [(row, 1) for row in come]
        return step

    def _row(self, name: str) -> Row:
        node, other = (self.random.choice([0, 0, 0, 0, 0, 1, 1, 2, 3, 4, None]) for _ in range(2))
        text = self.random.choice(["", "x", "x", "x", "yz", None])
        if name == "t":
            return text, node, other
        return (node, text) if name in ("r", "v") else (node, other)


class Pair:
    """A database with a view, by races, and its twin, in a fixed order; what they tell of the view's changes."""

    def __init__(self, name: str) -> None:
        self.raced, self.fixed = _database(), _database()
        self.raced.sql(f"CREATE MATERIALIZED VIEW seen AS {VIEWS[name]}")
        with without_races():
            self.fixed.sql(f"CREATE MATERIALIZED VIEW seen AS {VIEWS[name]}")
        for db in (self.raced, self.fixed):  # after the join, so that this has done its part when a commit is undone
            db.sql("CREATE MATERIALIZED VIEW small AS SELECT CAST(x AS TINYINT) AS x FROM large")
        self.logs = [db.subscribe("seen") for db in (self.raced, self.fixed)]

    def commit(self, steps: Sequence[Step], *, fails: bool = False) -> bool:
        """The steps in one call, each at a time of its own; whether it fails, in both."""
        errors = list[str]()
        for db in (self.raced, self.fixed):
            changes = _changes(steps, db.time + 1)
            if fails:
                changes["large"] = pa.table({"x": [1000], "_time": [db.time + len(steps)]})
            try:
                db.apply(changes)
            except ivm.NumericError as error:
                errors.append(str(error))
        assert len(errors) in (0, 2)
        assert len(set(errors)) < 2
        one, other = (_by_time(log.fetch()) for log in self.logs)
        assert one == other
        return bool(errors)


def _database(**options: Any) -> ivm.Database:
    db = ivm.connect(compile="off", **options)
    for text in (*TABLES.values(), "CREATE TABLE large (x BIGINT)"):
        db.sql(text)
    return db


def _changes(steps: Sequence[Step], first: int | None = None) -> dict[str, pa.Table]:
    changes = dict[str, pa.Table]()
    for name, fields in SCHEMAS.items():
        rows = [(*row, diff, number) for number, step in enumerate(steps) for row, diff in step.get(name, [])]
        if rows:
            *columns, diffs, numbers = zip(*rows, strict=True)
            arrays = {field: pa.array(each, type_) for (field, type_), each in zip(fields, columns, strict=True)}
            times = {} if first is None else {"_time": pa.array([first + number for number in numbers], pa.int64())}
            changes[name] = pa.table(arrays | times | {"_diff": pa.array(diffs, pa.int64())})
    return changes


def _by_time(told: pa.Table) -> dict[Row, int]:
    """The diff of each time and row, other than 0."""
    found = Counter[Row]()
    for row in told.to_pylist():
        diff = row.pop("_diff")
        found[tuple(sorted(row.items()))] += diff
    return {row: diff for row, diff in found.items() if diff}


@pytest.mark.parametrize("name", VIEWS)
def test_they_race(name: str) -> None:
    assert "race: " in _database().explain(VIEWS[name])
    with without_races():
        assert "race: " not in _database().explain(VIEWS[name])


@pytest.mark.parametrize("name", VIEWS)
def test_as_duckdb_says_and_as_without_races(name: str) -> None:
    for seed in range(3):
        with chunks_of(3) if seed else nullcontext(), helped() if seed == 2 else nullcontext():
            pair, rows = Pair(name), Rows(seed)
            for _ in range(14):
                before = deepcopy(rows.rows)
                steps = [rows.step() for _ in range(rows.random.choice([1, 1, 2, 4]))]
                if pair.commit(steps, fails=rows.random.random() < 0.2):
                    rows.rows = before
            pair.raced.verify()
            assert Counter(pair.raced.view("seen").fetchall()) == Counter(pair.fixed.view("seen").fetchall())
            pair.commit([{name: [(row, -1) for row in each] for name, each in rows.rows.items()}])
            assert pair.raced.view("seen").fetchall() == pair.fixed.view("seen").fetchall()


@pytest.mark.parametrize("name", VIEWS)
def test_hydrated_while_commits_go_on(name: str) -> None:
    for seed in range(3):
        with chunks_of(4):
            db, rows = _database(), Rows(seed)
            for _ in range(12):
                db.apply(_changes([rows.step()]))
            left = iter(range(12))

            def commit(_: object, db: ivm.Database = db, rows: Rows = rows, left: Iterator[int] = left) -> None:
                if next(left, None) is not None:
                    before = deepcopy(rows.rows)
                    try:
                        db.apply(_changes([rows.step()]))
                    except ivm.NumericError:
                        rows.rows = before

            with suppress(ivm.NumericError) if name == "careful" else nullcontext():
                db.sql(f"CREATE MATERIALIZED VIEW late AS {VIEWS[name]}", progress=commit)
            db.verify()


@pytest.mark.parametrize(
    "options", [{"sharing": False}, {"shards": 3}, {"threads": 2}], ids=lambda options: next(iter(options))
)
def test_side_by_side(options: dict[str, Any]) -> None:
    db, rows = _database(**options), Rows(4)
    for name in sorted(VIEWS.keys() - {"careful"}):
        db.sql(f"CREATE MATERIALIZED VIEW v_{name} AS {VIEWS[name]}")
    for _ in range(8):
        db.apply(_changes([rows.step()]))
    db.verify()


def test_opened_again(tmp_path: Path) -> None:
    rows, names = Rows(5), sorted(VIEWS.keys() - {"careful"})
    with _database(path=tmp_path / "db") as db:
        for name in names:
            db.sql(f"CREATE MATERIALIZED VIEW v_{name} AS {VIEWS[name]}")
        for _ in range(6):
            db.apply(_changes([rows.step()]))
    with ivm.connect(tmp_path / "db", compile="off") as db:
        for _ in range(6):
            db.apply(_changes([rows.step()]))
        assert len(db.verify()) == len(names)


def test_few_meet_few_where_one_node_has_most_edges() -> None:
    """An edge between a node with many and one with few meets the few, whichever input it changes."""
    visited = list[int]()
    for many in (100, 10_000):
        db = _database()
        db.sql(f"CREATE MATERIALIZED VIEW seen AS {VIEWS['triangles']}")
        edges = [(0, node) for node in range(2, many)] + [(node, 0) for node in range(2, many)] + [(1, 2), (2, 1)]
        db.apply({"e": pa.table({"s": [s for s, _ in edges], "d": [d for _, d in edges]})})
        before = _met(db)
        for edge in ((0, 1), (1, 0)):
            for diff in (1, -1):
                db.apply({"e": pa.table({"s": [edge[0]], "d": [edge[1]], "_diff": [diff]})})
        visited.append(_met(db) - before)
        db.verify()
    assert 0 < visited[0] == visited[1] < 400


def _met(db: ivm.Database) -> int:
    """How many entries races have met so far."""
    operators = (node.operator for node in engine_of(core_of(db)).renderer.graph.nodes)
    joins = (each for each in operators if isinstance(each, DeltaJoin))
    return sum(stage.met for join in joins for path in join.paths for stage in path.stages if isinstance(stage, Race))
