"""The rows that subscriptions tell of: which are equal, and that they are those of the commit, however late."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import ivm
from ivm.subscriptions.net import row_numbers


def test_equal_keys_are_those_that_are_equal_to_sql():
    chosen = Random(3)
    some: dict[str, tuple[list[Any], pa.DataType]] = {
        "i": ([None, 0, 1], pa.int64()), "f": ([0.0, -0.0, float("nan"), None], pa.float64()),
        "s": (["", "a", None], pa.string()), "l": ([[], [None], [1], None], pa.list_(pa.int32())),
        "d": ([{"a": 1}, {"a": None}, None], pa.struct([("a", pa.int8())])), "e": (["x", "y"], pa.string()),
        "b": ([True, False, None], pa.bool_()), "t": ([b"", b"\0", None], pa.binary()), "n": ([None], pa.null()),
    }  # fmt: skip
    for rows in (0, 1, 60):
        columns = {name: pa.array([chosen.choice(v) for _ in range(rows)], type_) for name, (v, type_) in some.items()}
        columns["e"] = columns["e"].dictionary_encode()
        for names in (["i"], ["f", "s"], ["l", "d"], ["e", "b", "t", "n"], list(some)):
            table = pa.table({name: columns[name] for name in names})
            keys = [repr(row).replace("-0.0", "0.0") for row in table.to_pylist()]
            numbers = row_numbers(table, names)
            assert [keys.index(key) for key in keys] == [list(numbers).index(number) for number in numbers]


EVERY_TYPE = """
CREATE TABLE a (id BIGINT PRIMARY KEY, f DOUBLE, s VARCHAR, l INTEGER[], d STRUCT(a TINYINT), e ENUM('x', 'y'),
    b BOOLEAN, t BLOB, p DECIMAL(9, 2), h HUGEINT, m MAP(VARCHAR, INTEGER), c VARCHAR COLLATE NOCASE, ts TIMESTAMP);
CREATE MATERIALIZED VIEW every AS SELECT * EXCLUDE (id) FROM a;
"""
SOME_ROWS = (
    "0.0, 'a', [1], {'a': 1}, 'x', true, 'x'::BLOB, 1.5, 99999999999999999999999999999999999999, MAP {'k': 1}, 'A', "
    "TIMESTAMP '2026-01-01'",
    "'NaN', '', [], {'a': NULL}, 'y', false, ''::BLOB, 0, 0, MAP {}, 'a', NULL",
    "-0.0, 'a', [1], {'a': 1}, 'x', true, 'x'::BLOB, 1.5, 99999999999999999999999999999999999999, MAP {'k': 1}, 'A', "
    "TIMESTAMP '2026-01-01'",
    ", ".join(["NULL"] * 12),
)  # fmt: skip


@pytest.mark.parametrize("shards", [None, 2])
def test_what_is_told_late_is_what_the_commit_changed(shards):
    """Whatever the values are, and whatever happens to the texts and to the view meanwhile."""
    with ivm.connect(compile="off", shards=shards) as db:
        db.sql(EVERY_TYPE)
        _tell_late(db)


def _tell_late(db: ivm.Database) -> None:
    late, net_, rare = db.subscribe("every"), db.subscribe("every", limit=1), db.subscribe("every", every=2)
    told, expected = Counter[str](), Counter[str]()
    for number in range(13):
        before = db.view("every").arrow().to_pylist()
        db.sql(f"INSERT INTO a VALUES ({number}, {SOME_ROWS[number % 4]})")
        if number % 3 == 2:
            db.sql(f"DELETE FROM a WHERE id IN ({number - 2}, {number})")
        after = db.view("every").arrow().to_pylist()
        for rows, diff in ((before, -1), (after, 1)):
            for row in rows:
                expected[_known(row)] += diff
    for table, counted in ((late.fetch(), told), (net_.fetch(), Counter[str]()), (next(iter(rare)), Counter[str]())):
        for row in table.to_pylist():
            diff, _ = row.pop("_diff"), row.pop("_time")
            counted[_known(row)] += diff
        assert {key: n for key, n in counted.items() if n} == {key: n for key, n in expected.items() if n}


def _known(row: dict[str, Any]) -> str:
    return repr(row).replace("-0.0", "0.0")
