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
