"""Few rows of a view that are asked for by values are those that DuckDB finds, whatever has become of the view."""

from __future__ import annotations

import random
import threading

import pytest

import ivm
from ivm.catalog.errors import Error
from ivm.results.result import tuples_of
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.session.statements import run_statement
from ivm.sql.parse import parse
from ivm.trace import log_index, view_log
from tests.more import with_more

VALUES = {
    "a": ("INTEGER", ["1", "2", "3", "NULL"]),
    "d": ("DECIMAL(9,2)", ["1.5", "2", "0", "NULL", "-0.01"]),
    "w": ("DECIMAL(30,4)", ["1.5", "99999999999999999999999999", "NULL"]),
    "h": ("HUGEINT", ["0", "-1", "99999999999999999999999999999999999999"]),
    "f": ("DOUBLE", ["0.0", "-0.0::DOUBLE", "'NaN'::DOUBLE", "1.5", "NULL"]),
    "s": ("VARCHAR", ["'a'", "''", "'it''s'", "NULL", "'nobody'"]),
    "c": ("VARCHAR COLLATE NOCASE", ["'a'", "'A'", "'b'"]),
    "b": ("BOOLEAN", ["true", "false", "NULL"]),
    "x": ("DATE", ["DATE '2020-01-01'", "DATE '2021-01-01'", "NULL"]),
    "m": ("TIMESTAMP", ["TIMESTAMP '2020-01-01 01:02:03'", "NULL"]),
    "u": ("UUID", ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::UUID", "NULL"]),
    "l": ("INTEGER[]", ["[1]", "NULL"]),
}
TABLE = f"""
CREATE TABLE t (id BIGINT PRIMARY KEY, {", ".join(f"{name} {type_}" for name, (type_, _) in VALUES.items())});
CREATE MATERIALIZED VIEW v AS SELECT * EXCLUDE (id) FROM t;
CREATE MATERIALIZED VIEW o AS SELECT id, a, s, d FROM t ORDER BY f DESC, id
"""


def _literals(rng: random.Random) -> str:
    return ", ".join(rng.choice(values) for _, values in VALUES.values())


def _where(rng: random.Random, names: list[str]) -> str:
    parts = []
    for name in rng.sample(names, rng.randint(1, 3)):
        values = VALUES[name][1]
        some = ", ".join(rng.choices(values, k=rng.randint(1, 3)))
        parts.append(rng.choice((f"{name} = {rng.choice(values)}", f"{name} IN ({some})")))
    return " AND ".join(parts)


def _rows(result: ivm.Result) -> list[str]:
    return sorted(repr(row).replace("-0.0", "0.0") for row in tuples_of(result.arrow()))


@pytest.mark.parametrize("seed", with_more([0], [1, 2, 3]))
def test_rows_are_those_that_duckdb_finds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, asked = random.Random(seed), 0
    monkeypatch.setattr(log_index, "_TAIL", 3)
    monkeypatch.setattr(view_log, "_SPARE_ROWS", 40)
    with ivm.connect(compile="off") as db:
        db.sql(TABLE)
        engine = engine_of(core_of(db))
        for number in range(60):
            ids = rng.sample(range(40), rng.randint(1, 6))
            with db.transaction() as tx:
                tx.delete("t", db.sql(f"SELECT id FROM t WHERE id IN ({', '.join(map(str, ids))})").arrow())
            if rng.random() < 0.8:
                rows = ", ".join(f"({each}, {_literals(rng)})" for each in rng.sample(ids, rng.randint(1, len(ids))))
                db.sql(f"INSERT INTO t VALUES {rows}")
            if rng.random() < 0.2:
                db.view(rng.choice("vo")).arrow()
            names = rng.sample([*VALUES], 3)
            for _ in range(4):
                view, names = rng.choice((("v", names), ("o", ["a", "s", "d"])))
                text = f"SELECT * FROM {view} WHERE {_where(rng, names)}"
                expected = _rows(run_statement(core_of(db), parse(text)[0], "duckdb"))
                assert _rows(db.sql(text)) == expected, (number, text)
                asked += sum(each.log.indexes.nbytes > 0 for each in engine.views.values())
        db.verify()
    assert asked > 100


def test_who_asks_sees_whole_commits_while_others_change_the_view(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each commit moves a pair of rows from one value to another."""
    monkeypatch.setattr(log_index, "_TAIL", 16)
    monkeypatch.setattr(view_log, "_SPARE_ROWS", 100)
    with ivm.connect(compile="off") as db:
        db.sql(
            "CREATE TABLE t (id BIGINT PRIMARY KEY, g INTEGER, s VARCHAR);"
            "CREATE MATERIALIZED VIEW v AS SELECT * FROM t; INSERT INTO t SELECT i, i // 2, 's' || i FROM range(400) r(i)"
        )
        ended, wrong = threading.Event(), list[object]()

        def ask(seed: int) -> None:
            rng = random.Random(seed)
            try:
                while not ended.is_set():
                    number = rng.randrange(400)
                    pair = db.sql(f"SELECT g FROM v WHERE s = 's{number}' OR s = 's{number ^ 1}'").fetchall()
                    one = db.sql(f"SELECT id, s FROM v WHERE id = {number}").fetchall()
                    both = db.sql(f"SELECT g FROM v WHERE id IN ({number}, {number ^ 1})").fetchall()
                    if len(set(pair)) != 1 or one != [(number, f"s{number}")] or len(both) != 2 or both[0] != both[1]:
                        wrong.append((number, pair, one, both))
            except Error as error:
                wrong.append(error)

        threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(2)]
        for each in threads:
            each.start()
        for number in range(300):
            pair = number * 37 % 400 & ~1
            db.sql(f"UPDATE t SET g = {1000 + number} WHERE id IN ({pair}, {pair + 1})")
            if number % 50 == 0:
                db.view("v").arrow()
        ended.set()
        for each in threads:
            each.join()
        assert not wrong
        assert engine_of(core_of(db)).views["v"].log.indexes.nbytes
