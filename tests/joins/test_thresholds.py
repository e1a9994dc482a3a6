"""Comparisons with bounds that change: as DuckDB answers them, and at the cost of the rows that a bound passes."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

import ivm
from tests.joins.changes import Rows, commit, connect, install

NAN = "CASE WHEN u = 4 THEN 'nan'::DOUBLE WHEN u = 3 THEN -0.0::DOUBLE ELSE u - 2.0::DOUBLE END"
QUERIES = {
    "above_avg": "SELECT k, u FROM a WHERE u > (SELECT avg(w) FROM b)",
    "below_sum": "SELECT k, u FROM a WHERE u * 10 <= (SELECT sum(w) FROM b)",
    "at_most_none": "SELECT k, u FROM a WHERE u >= (SELECT sum(w) FROM b HAVING count(*) > 2)",
    "equal": "SELECT k, u FROM a WHERE u::DOUBLE = (SELECT avg(w) FROM b)",
    "own_group": "SELECT k, u FROM a WHERE u > (SELECT avg(x.u) FROM a x WHERE x.k = a.k)",
    "other_group": "SELECT k, u FROM a WHERE u < (SELECT 0.5 * sum(w) FROM b WHERE b.k = a.k)",
    "text": "SELECT k, s FROM a WHERE s >= (SELECT min(s) FROM b WHERE w > 1)",
    "text_group": "SELECT k, s FROM a WHERE s < (SELECT max(s) FROM b WHERE b.k = a.k)",
    "double": f"SELECT k, u FROM a WHERE {NAN} > (SELECT max({NAN.replace('u', 'w')}) - 1 FROM b)",
    "double_at_least": f"SELECT k, u FROM a WHERE {NAN} >= (SELECT max({NAN.replace('u', 'w')}) FROM b)",
    "decimal": "SELECT k, v FROM d WHERE v > (SELECT avg(v) FROM d)",
    "both": "SELECT a.k, a.u FROM a, (SELECT min(w) AS l, max(w) AS h FROM b) x WHERE a.u > x.l AND a.u < x.h",
    "between": "SELECT a.k, a.u FROM a JOIN b ON a.u BETWEEN b.k AND b.w",
    "text_between": "SELECT k, s FROM a WHERE s > (SELECT min(s) FROM b) AND s <= (SELECT max(s) FROM b WHERE w > 1)",
    "double_between": f"SELECT k, u FROM a, (SELECT max({NAN.replace('u', 'w')}) AS m FROM b) x WHERE {NAN} >= m - 2 AND {NAN} < m",
    "shown": "SELECT a.k, a.u, x.m FROM a, (SELECT 0.4 * sum(w) AS m FROM b) x WHERE a.u < x.m",
    "counted": "SELECT k, count(*) AS c, sum(u) AS t FROM a WHERE u > (SELECT avg(w) FROM b) GROUP BY k",
    "sums": "SELECT k, sum(u) AS t FROM a GROUP BY k HAVING sum(u) > (SELECT 0.3 * sum(u) FROM a)",
    "joined": "SELECT a.k, a.u, b.w FROM a JOIN b ON a.k = b.k WHERE a.u > (SELECT avg(v) FROM d)",
    "joined_sum": "SELECT a.k, a.u, b.w FROM a JOIN b ON a.k = b.k WHERE a.u + b.w > (SELECT avg(u) FROM a)",
    "two_sums": "SELECT a.u, b.w FROM a JOIN b ON a.k = b.k WHERE a.u + b.w > (SELECT avg(u) FROM a) "
    "AND a.u - b.w < (SELECT avg(w) FROM b)",
    "inequality": "SELECT a.k, b.w FROM a JOIN b ON a.u < b.w",
    "itself": "SELECT x.u, y.u AS z FROM a x JOIN a y ON x.u < y.u AND x.k = y.k",
    "outer": "SELECT a.k, a.u, b.w FROM a LEFT JOIN b ON a.u > b.w",
    "exists": "SELECT k, u FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.w > a.u)",
    "minus": "SELECT k FROM (SELECT k, u FROM a EXCEPT ALL SELECT k, w FROM b) x WHERE u >= (SELECT avg(w) FROM b)",
}
HALVES = {"first": dict(list(QUERIES.items())[::2]), "second": dict(list(QUERIES.items())[1::2])}


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("sharing", [True, False])
def test_views_are_right_after_every_commit(half, sharing):
    db, rows = connect(compile="off", sharing=sharing), Rows(11)
    install(db, HALVES[half])
    for number in range(8):
        commit(db, [rows.clear() if number == 5 else rows.step()])
        db.verify()
    commit(db, [rows.clear()])
    db.verify()


@pytest.mark.parametrize("half", HALVES)
def test_views_installed_later_and_many_times_in_one_batch(half):
    db, rows = connect(compile="off"), Rows(12)
    for _ in range(4):
        commit(db, [rows.step()])
    install(db, HALVES[half])
    db.verify()
    for _ in range(3):
        commit(db, [rows.step(3) for _ in range(6)], db.time + 1)
        db.verify()


@pytest.mark.parametrize("name", ["above_avg", "own_group", "sums", "text", "joined_sum"])
def test_every_time_of_a_batch_has_its_own_changes(name):
    alone, together = connect(compile="off"), connect(compile="off")
    for db in (alone, together):
        install(db, {name: QUERIES[name]})
    both = [db.subscribe(f"v_{name}") for db in (alone, together)]
    rows = Rows(13)
    for _ in range(4):
        steps = [rows.step(3) for _ in range(5)]
        first = alone.time + 1
        for number, step in enumerate(steps):
            commit(alone, [step], first + number)
        commit(together, steps, first)
    of_alone, of_together = ([str(row) for row in changes.fetch().to_pylist()] for changes in both)
    assert of_alone
    assert sorted(of_alone) == sorted(of_together)


def test_a_failed_commit_leaves_the_order_as_it_was():
    db, rows = connect(compile="off"), Rows(14)
    install(db, QUERIES)
    for _ in range(4):
        commit(db, [rows.step()])
    sizes = db.sql("SELECT arrangement, rows, entries FROM ivm_arrangements ORDER BY ALL").fetchall()
    broken = rows.step()
    broken["d"] += [((9, 1, None), 1), ((9, 2, None), 1)]
    with pytest.raises(ivm.ConstraintError):
        commit(db, [broken])
    assert db.sql("SELECT arrangement, rows, entries FROM ivm_arrangements ORDER BY ALL").fetchall() == sizes
    db.verify()


def test_a_row_that_cannot_be_compared_fails_when_it_is_met():
    db = connect(compile="off")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT k, u FROM a WHERE 6 // u > (SELECT avg(w) FROM b HAVING count(*) > 1)")
    commit(db, [{"a": [((1, 0, "x"), 1), ((1, 2, "x"), 1)], "b": [((1, 1, "x"), 1)], "d": []}])
    assert db.view("v").fetchall() == []
    with pytest.raises(ivm.NumericError, match="division by zero"):
        commit(db, [{"a": [], "b": [((1, 1, "x"), 1)], "d": []}])
    assert db.view("v").fetchall() == []
    commit(db, [{"a": [((1, 0, "x"), -1)], "b": [((1, 1, "x"), 1)], "d": []}])
    assert db.view("v").fetchall() == [(1, 2)]
    db.verify()


def visited(db: ivm.Database) -> int:
    """The rows that threshold joins have visited."""
    return int(db.sql("SELECT sum(visited) FROM ivm_operators WHERE operator = 'join'").fetchall()[0][0])


def numbers(rows: int, value: str, sql: str = "SELECT id FROM t WHERE v > (SELECT max(b) FROM m)") -> ivm.Database:
    """t(id, g, v) of so many rows, whose v is an expression over `range` i; m(g, b) with one bound, 0, for each g."""
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, g INTEGER NOT NULL, v INTEGER NOT NULL)")
    db.sql("CREATE TABLE m (g INTEGER PRIMARY KEY, b INTEGER NOT NULL)")
    values = [eval(value, {"i": i}) for i in range(rows)]
    int32 = pa.int32()
    ids = pa.array(range(rows), int32)
    db.apply(
        {"t": pa.table({"id": ids, "g": pa.array([i % 2 for i in range(rows)], int32), "v": pa.array(values, int32)})}
    )
    db.sql("INSERT INTO m VALUES (0, 0)")
    db.sql(f"CREATE MATERIALIZED VIEW v AS {sql}")
    return db


def sweep(rows: int, step: int) -> list[int]:
    """Bounds that go up over all rows and back."""
    return [*range(0, rows + step, step), *range(rows, -step, -step)]


@pytest.mark.parametrize("comparison", [">", ">=", "<", "<="])
def test_a_bound_that_sweeps_visits_each_row_as_often_as_it_passes_it(comparison):
    rows = 500
    db = numbers(rows, "i * 37 % 500", f"SELECT id FROM t WHERE v {comparison} (SELECT max(b) FROM m)")
    before, bound, passed = visited(db), 0, 0
    for new in sweep(rows, 20):
        db.sql(f"UPDATE m SET b = {new} WHERE g = 0")
        low, high = sorted((bound, new))
        strict = comparison in (">", "<=")
        passed += sum(low < v <= high if strict else low <= v < high for v in range(rows))
        bound = new
    assert passed > rows
    assert visited(db) - before == passed
    db.verify()


def test_all_bounds_of_one_batch_visit_what_each_of_them_passes():
    db = numbers(500, "i * 37 % 500")
    before, bounds = visited(db), sweep(500, 20)
    int32 = pa.int32()
    went, came = [0, *bounds[:-1]], bounds
    moves = pa.table(
        {
            "g": pa.array([0] * 2 * len(bounds), int32),
            "b": pa.array([b for pair in zip(went, came, strict=True) for b in pair], int32),
            "_time": pa.array([db.time + 1 + i // 2 for i in range(2 * len(bounds))], pa.int64()),
            "_diff": pa.array([-1, 1] * len(bounds), pa.int64()),
        }
    )
    with db.subscribe("v"):  # who sees each of them; else only the last one counts
        db.apply({"m": moves})
    assert visited(db) - before == 2 * 499
    db.verify()


def test_ties_are_visited_when_the_bound_passes_them_and_not_before():
    db = numbers(300, "7")
    before = visited(db)
    for bound in (1, 2, 6, 3):
        db.sql(f"UPDATE m SET b = {bound} WHERE g = 0")
    assert visited(db) == before
    db.sql("UPDATE m SET b = 7 WHERE g = 0")
    db.sql("UPDATE m SET b = 100 WHERE g = 0")
    assert visited(db) == before + 300
    db.verify()


def test_a_bound_moved_by_what_it_is_compared_with_visits_what_it_passes():
    db = numbers(400, "i", "SELECT id FROM t WHERE v > (SELECT avg(v) FROM t)")
    before, random = visited(db), Random(3)
    crossed = 0
    values = list(range(400))
    for number in range(60):
        old = sum(values) / len(values)
        value = random.choice([-1000, 0, 200, 1000])
        db.sql(f"INSERT INTO t VALUES ({400 + number}, 0, {value})")
        values.append(value)
        low, high = sorted((old, sum(values) / len(values)))
        crossed += sum(low < v <= high for v in values)
    assert visited(db) - before == crossed
    db.verify()


def test_bounds_of_groups_visit_rows_of_their_group_alone():
    db = numbers(400, "i", "SELECT id FROM t WHERE v > (SELECT max(b) FROM m WHERE m.g = t.g)")
    db.sql("CREATE MATERIALIZED VIEW w AS SELECT id FROM t WHERE v < (SELECT avg(x.v) FROM t x WHERE x.g = t.g)")
    before = visited(db)
    db.sql("INSERT INTO t VALUES (1000, 1, 400)")  # moves the average of group 1 from 200 to 200.995
    assert visited(db) - before <= 1
    db.verify()


def test_a_bound_that_goes_takes_the_rows_that_it_admitted():
    db = numbers(100, "i", "SELECT id FROM t WHERE v > (SELECT max(b) FROM m)")
    before = visited(db)
    db.sql("UPDATE m SET b = 89 WHERE g = 0")
    assert visited(db) == before + 89
    db.sql("DELETE FROM m")
    assert visited(db) == before + 89 + 10
    db.sql("INSERT INTO m VALUES (0, 94)")
    assert visited(db) == before + 89 + 10 + 5
    db.verify()


@pytest.mark.parametrize(("ends", "first"), [("v > b AND v <= b + 50", 1), ("b + 50 > v AND b <= v", 0)])
def test_both_bounds_of_a_window_move_at_once(ends, first):
    def within(bound: int) -> set[int]:
        return set(range(300)).intersection(range(bound + first, bound + first + 50))

    db = numbers(300, "i * 37 % 300", f"SELECT t.id FROM t, m WHERE {ends}")
    before, shown = visited(db), within(0)
    for bound in (20, 100, 90, 90, -60, 400, 260):
        db.sql(f"UPDATE m SET b = {bound} WHERE g = 0")
        assert visited(db) - before == len(shown ^ within(bound))
        before, shown = visited(db), within(bound)
        db.verify()
    db.sql("INSERT INTO m VALUES (1, 270)")
    db.sql("DELETE FROM m WHERE g = 0")
    assert visited(db) - before == len(within(270)) + len(within(260))
    db.verify()


def test_rows_that_are_gone_are_not_visited():
    db = numbers(200, "i")
    for number in range(50):
        db.sql(f"UPDATE t SET v = v + 1 WHERE id >= {number % 2}")
    before = visited(db)
    db.sql("UPDATE m SET b = 1000 WHERE g = 0")
    assert visited(db) - before == 200
    entries = db.sql("SELECT entries FROM ivm_arrangements WHERE kind = 'ordered'").fetchall()
    assert entries == [(200,)]


def test_explain_says_what_is_kept_in_order():
    db = numbers(0, "i")
    text = db.explain("SELECT id FROM t WHERE v > (SELECT max(b) FROM m)")
    assert "lookup t(ordered by v) by [] before where #2:v > #3:#0; a moved bound visits the rows between" in text or (
        "lookup t(ordered by v) by [] where #2:v > #3:#0; a moved bound visits the rows between" in text
    )
    assert "ordered t(ordered by v): shared" in text
    assert "every operator is incremental" in text


def test_an_order_is_shared_and_goes_with_its_last_view():
    db = numbers(10, "i")
    db.sql("CREATE MATERIALIZED VIEW w AS SELECT v FROM t WHERE v <= (SELECT min(b) FROM m)")
    kept = "SELECT arrangement, views FROM ivm_arrangements WHERE kind = 'ordered'"
    assert db.sql(kept).fetchall() == [("t(ordered by v)", ["v", "w"])]
    db.sql("DROP VIEW v")
    db.sql("DROP VIEW w")
    assert db.sql(kept).fetchall() == []
    db.sql("INSERT INTO t VALUES (100, 1, 1)")


def test_few_rows_of_a_table_are_looked_at_rather_than_kept_in_order():
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE p (id INTEGER PRIMARY KEY, n VARCHAR)")
    db.sql("CREATE TABLE l (id INTEGER PRIMARY KEY, p INTEGER NOT NULL, q INTEGER NOT NULL)")
    text = db.explain(
        "SELECT l.q FROM l, p WHERE l.p = p.id AND l.q < (SELECT 0.2 * avg(x.q) FROM l x WHERE x.p = p.id)"
    )
    assert "ordered" not in text


def test_what_is_computed_of_what_is_computed_needs_no_column_of_the_join() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t0 (f1 DOUBLE)")
    db.sql("CREATE TABLE t2 (k BIGINT NOT NULL, t1 DATE, f1 DOUBLE, PRIMARY KEY (k))")
    db.sql("CREATE MATERIALIZED VIEW v0 AS SELECT CAST(1 AS TEXT) AS c0, a5.f1 AS c1 FROM t0 AS a1, t0 AS a5")
    db.sql(
        """CREATE MATERIALIZED VIEW v1 AS WITH w1 AS (SELECT BOOL_OR(CAST(TRUE AS BOOLEAN)) AS c0 FROM v0 AS a2
        LEFT JOIN t2 AS a3 ON a2.c1 = a3.f1 SEMI JOIN t2 AS a4 ON a3.f1 = a4.f1 AND (a3.k / 2) = (a3.k / 2)
        GROUP BY a3.f1)
        SELECT CASE WHEN a6.c0 THEN l9.c2 ELSE l9.c0 END AS c3 FROM t2 AS a5, w1 AS a6 CROSS JOIN LATERAL (
        SELECT CAST(DATE_TRUNC('YEAR', a8.t1) AS DATE) AS c0, a5.f1 AS c1, CAST(DATE_TRUNC('MONTH', a5.t1) AS DATE)
        AS c2, a7.c0 AS c3 FROM v0 AS a7 LEFT JOIN t2 AS a8 ON a7.c1 = a8.f1 WHERE 'z' >= a7.c0) AS l9
        WHERE a5.k BETWEEN a5.k AND LENGTH(l9.c3)"""
    )
    db.sql("INSERT INTO t0 VALUES (1), (2)")
    db.sql("INSERT INTO t2 VALUES (0, DATE '2020-03-05', 1), (1, DATE '2021-07-09', 2), (7, NULL, 2)")
    assert [checked.rows > 0 for checked in db.verify()] == [True, True]
