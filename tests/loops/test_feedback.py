"""What comes back waits for its round where rounds are counted, so that a loop ends that passes on what it holds."""

from __future__ import annotations

import pytest

import ivm

_CHANGES = (
    "INSERT INTO e VALUES (3, 4)",
    "DELETE FROM e WHERE s = 2",
    "INSERT INTO e VALUES (2, 3), (4, 5), (2, 3)",
    "UPDATE e SET d = 5 WHERE s = 3",
    "DELETE FROM e",
)


@pytest.mark.parametrize("union", ["UNION", "UNION ALL"])
@pytest.mark.parametrize(
    "branch",
    [
        "SELECT a.s, b.d FROM w a JOIN w b ON a.d = b.s",
        "SELECT s, max(d) + 1 FROM w WHERE d < 9 GROUP BY s",
        "SELECT s, d + 1 FROM w WHERE d < 9 AND s NOT IN (SELECT d FROM w)",
        "SELECT w.s, e.d FROM w LEFT JOIN e ON w.d = e.s WHERE w.d IS NOT NULL",
    ],
)
def test_what_was_found_is_passed_on_for_as_long_as_it_is_there(union: str, branch: str) -> None:
    db = ivm.connect(compile="off", recursion_limit=60)
    db.sql("CREATE TABLE e (s BIGINT NOT NULL, d BIGINT NOT NULL); INSERT INTO e VALUES (1, 2), (2, 3)")
    db.sql(
        f"CREATE MATERIALIZED VIEW v AS WITH RECURSIVE w(s, d) AS (SELECT s, d FROM e {union} ({branch})) SELECT * FROM w"
    )
    for change in _CHANGES:
        db.sql(change)
        db.verify()
    assert db.view("v").fetchall() == []


@pytest.mark.parametrize(
    "query",
    [
        "WITH RECURSIVE w(v) AS (SELECT v FROM roots UNION ALL SELECT d FROM w JOIN e ON v = s) SELECT * FROM w",
        "WITH RECURSIVE w(v) AS (SELECT v FROM roots UNION SELECT d FROM w JOIN e ON v = s) SELECT * FROM w",
        """WITH MUTUALLY RECURSIVE a(v BIGINT) AS (SELECT v FROM roots UNION SELECT v FROM b), b(v BIGINT) AS (
            SELECT d FROM a JOIN e ON v = s UNION ALL SELECT d FROM b JOIN e ON v = s WHERE v > 2) SELECT * FROM a""",
        """WITH MUTUALLY RECURSIVE a(v BIGINT, x BIGINT) AS (SELECT v, min(x) FROM (SELECT v, 0 AS x FROM roots
            UNION ALL SELECT v, x FROM b) GROUP BY v), b(v BIGINT, x BIGINT) AS (SELECT d, x + 1 FROM a JOIN e ON v = s
            UNION ALL SELECT d, x + 1 FROM b JOIN e ON v = s WHERE v > 2) SELECT v FROM a""",
    ],
)
def test_a_circle_that_closes_when_nothing_leads_to_it_any_more(query: str) -> None:
    db = ivm.connect(compile="off", recursion_limit=60)
    db.sql("CREATE TABLE e (s BIGINT NOT NULL, d BIGINT NOT NULL); CREATE TABLE roots (v BIGINT NOT NULL)")
    db.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    db.sql("INSERT INTO e VALUES (0, 1), (1, 3), (3, 4); INSERT INTO roots VALUES (0)")
    for edge in ({"s": 1, "d": 0}, {"s": 4, "d": 3}):
        assert sorted(set(db.view("v").fetchall())) == [(0,), (1,), (3,), (4,)]
        with db.transaction() as tx:
            tx.delete("roots", [{"v": 0}])
            tx.insert("e", [edge])
        assert db.view("v").fetchall() == []
        with db.transaction() as tx:
            tx.insert("roots", [{"v": 0}])
            tx.delete("e", [edge])
