"""Views that read functions of texts alone, while rows come and go: the texts need no codes."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import ivm
from ivm.database import core_of
from ivm.trace import compaction

TABLES = (
    "CREATE TABLE t (k BIGINT PRIMARY KEY, s VARCHAR, d BIGINT NOT NULL)",
    "CREATE TABLE u (n BIGINT PRIMARY KEY, tk BIGINT NOT NULL, note VARCHAR NOT NULL)",
)
VIEWS = {
    "joined": "SELECT count(*), sum(u.n) FROM u JOIN t ON tk = k WHERE s LIKE '%ab%' AND note <> 'x'",
    "outer_": "SELECT k, count(n) FROM t LEFT JOIN u ON tk = k AND note NOT LIKE '%special%requests%' GROUP BY k",
    "pieces": "SELECT substring(s, 1, 2) AS p, count(*), sum(d) FROM t GROUP BY p",
    "absent": "SELECT k FROM t WHERE length(s) > 2 AND NOT EXISTS (SELECT 1 FROM u WHERE tk = k AND note >= 'm')",
    "nulls": "SELECT count(*) FROM t JOIN u ON tk = k WHERE s IS NULL OR upper(s) IN ('AB', 'XAB')",
}
BY_CODE = {"whole": "SELECT s, note FROM u JOIN t ON tk = k WHERE s LIKE 'a%'"}
MANY = {f"many{i}": f"SELECT count(*) FROM u JOIN t ON tk = k WHERE s LIKE '{i}%'" for i in range(6)}


def text(chance: random.Random) -> str | None:
    size = chance.choice([0, 1, 2, 3, 12])
    made = "".join(chance.choices("abxé日 ", k=size)) + chance.choice(["", "", "special requests", "ab"])
    return None if chance.random() < 0.1 else made


def rows_of(chance: random.Random, table: str, keys: list[int]) -> pa.Table:
    texts = [text(chance) for _ in keys]
    if table == "t":
        encoding = chance.choice([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
        strings = pa.array(texts).dictionary_encode() if pa.types.is_dictionary(encoding) else pa.array(texts, encoding)
        return pa.table({"k": keys, "s": strings, "d": [chance.randrange(9) for _ in keys]})
    return pa.table({"n": keys, "tk": [chance.randrange(40) for _ in keys], "note": [t or "x" for t in texts]})


def change(db: ivm.Database, chance: random.Random) -> None:
    with db.transaction() as tx:
        for table, key in (("t", "k"), ("u", "n")):
            keys = chance.sample(range(40 if table == "t" else 120), chance.choice([0, 1, 30]))
            if keys:
                tx.upsert(table, rows_of(chance, table, keys))
            there = [row[0] for row in db.sql(f"SELECT {key} FROM {table}").fetchall()]
            gone = [each for each in there if each not in keys and chance.random() < 0.3]
            if gone:
                tx.delete(table, pa.table({key: gone}))


def fail(db: ivm.Database, chance: random.Random) -> None:
    """A commit whose last change is impossible, so that all of it is undone."""
    keys = list(range(100, 120))
    with pytest.raises(ivm.ConstraintError), db.transaction() as tx:
        tx.upsert("t", rows_of(chance, "t", keys))
        tx.upsert("u", rows_of(chance, "u", keys))
        tx.insert("t", rows_of(chance, "t", [1, 1]))


@pytest.mark.parametrize("seed", range(4))
def test_rows_come_and_go(seed: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(compaction, "FROM_ROWS", 20)
    chance = random.Random(seed)
    db = ivm.connect()
    for each in TABLES:
        db.sql(each)
    late = dict(VIEWS) if seed % 2 else {}
    for name, query in ({} if late else VIEWS).items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    for step in range(14):
        change(db, chance)
        if step == 3:
            for name, query in late.items():
                db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        if step == 5:
            fail(db, chance)
        if step == 6:
            for name, query in {**BY_CODE, **MANY}.items():
                db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        if step == 10:
            for name in ("joined", "whole", "many0"):
                db.sql(f"DROP VIEW {name}")
        db.verify()


def test_the_texts_get_no_codes() -> None:
    db = ivm.connect()
    for each in TABLES:
        db.sql(each)
    for name, query in VIEWS.items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    before = len(core_of(db).engine.renderer.dictionary)
    n = 500
    db.apply({
        "t": pa.table({"k": range(n), "s": [f"ab number {i}" for i in range(n)], "d": [1] * n}),
        "u": pa.table({"n": range(n), "tk": range(n), "note": [f"a special one {i}, requests" for i in range(n)]}),
    })  # fmt: skip
    db.verify()
    assert len(core_of(db).engine.renderer.dictionary) <= before + 2
    assert db.view("joined").fetchall() == [(n, n * (n - 1) // 2)]


def test_updates_that_change_no_function_find_nothing_new() -> None:
    """Nor do they give the texts codes, though rows of both signs meet."""
    db = ivm.connect()
    for each in TABLES:
        db.sql(each)
    db.sql(f"CREATE MATERIALIZED VIEW v AS {VIEWS['joined']}")
    n = 300
    tables = {
        "t": pa.table({"k": range(n), "s": [f"ab number {i}" for i in range(n)], "d": [1] * n}),
        "u": pa.table({"n": range(n), "tk": range(n), "note": [f"note {i}" for i in range(n)]}),
    }
    db.apply(tables)
    before = len(core_of(db).engine.renderer.dictionary)
    with db.transaction() as tx:
        tx.upsert("t", tables["t"].set_column(1, "s", pa.array([f"{i} is ab number" for i in range(n)])))
    assert len(core_of(db).engine.renderer.dictionary) == before
    db.verify()
    with db.transaction() as tx:
        tx.upsert("t", tables["t"].slice(0, 9).set_column(1, "s", pa.array([None, "b", *"abcdefg"])))
    db.verify()
    assert db.view("v").fetchall() == [(n - 9, sum(range(9, n)))]
    assert len(core_of(db).engine.renderer.dictionary) == before
