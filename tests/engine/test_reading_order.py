"""The order in which a view is read: a function of its rows, however they came to be there."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ivm
from ivm.engine.sorting import sort_table

ROWS: list[tuple[object, ...]] = [(i, i % 3, None if i % 4 == 0 else float(i % 2), f"n{i % 5}") for i in range(24)]
VIEWS = {
    "few": "SELECT g, count(*) AS n FROM t GROUP BY g, name ORDER BY n DESC LIMIT 7",
    "whole": "SELECT name, g, x FROM t ORDER BY g DESC",
    "hidden": "SELECT x, name FROM t ORDER BY name NULLS FIRST LIMIT 9 OFFSET 2",
    "lists": "SELECT g, list(name ORDER BY id) AS names, max(x) AS most FROM t GROUP BY g, id % 4 ORDER BY g",
}


def database(batches: list[list[tuple[object, ...]]], late: int) -> ivm.Database:
    db = ivm.connect(compile="off", history=100)
    db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, g INTEGER, x DOUBLE, name VARCHAR)")
    for number, rows in enumerate([*batches, []]):
        if number == late:
            for name, text in VIEWS.items():
                db.sql(f"CREATE MATERIALIZED VIEW {name} AS {text}")
        if rows:
            db.apply({"t": [dict(zip(("id", "g", "x", "name"), row, strict=True)) for row in rows]})
    return db


def test_it_does_not_depend_on_what_came_before() -> None:
    whole = database([ROWS], 1)
    grown = database([ROWS[12:], ROWS[:5], ROWS[5:12]], 1)
    reverse = database([[row] for row in reversed(ROWS)], 0)
    reverse.sql("UPDATE t SET x = x + 1; UPDATE t SET x = x - 1")
    for name in VIEWS:
        assert whole.view(name).fetchall() == grown.view(name).fetchall() == reverse.view(name).fetchall()
    before = grown.view("whole").fetchall()
    grown.sql("DELETE FROM t WHERE id < 20")
    assert grown.view("whole").fetchall(as_of=grown.time - 1) == before
    grown.verify()


@pytest.mark.parametrize(
    ("columns", "order", "expected"),
    [
        ({"a": [1, 1, 2], "b": [None, 3, 0]}, [(0, True, False)], [2, 1, 0]),
        ({"a": [1.0, 1.0, 1.0], "b": [float("nan"), None, 5.0]}, [(0, False, False)], [2, 0, 1]),
        ({"a": ["x", "x", None], "b": [True, False, True]}, [(0, False, True)], [2, 1, 0]),
        ({"a": [0, 0, 0, 0], "b": [[2], [1, 9], [1], None]}, [(0, False, False)], [2, 1, 0, 3]),
        ({"a": [0, 0, 1], "b": [["b", None], ["b"], ["a"]], "c": [0, 0, 0]}, [(0, True, False)], [2, 1, 0]),
        ({"a": [0, 0, 0], "b": [[1], [1], [1]], "c": [3, None, 1]}, [(0, False, False)], [2, 0, 1]),
        ({"a": [1, 0]}, [], [0, 1]),
    ],
)
def test_ties_go_by_all_columns(
    columns: dict[str, list[object]], order: list[tuple[int, bool, bool]], expected: list[int]
) -> None:
    numbered = pa.table({**columns, "row": list(range(len(expected)))})
    width = numbered.num_columns - 1
    found = sort_table(numbered.select(range(width)), order)
    assert str(found.to_pylist()) == str(numbered.take(expected).select(range(width)).to_pylist())
