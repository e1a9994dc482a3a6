"""Views that read functions of texts alone, while rows come and go: the texts need no codes."""

from __future__ import annotations

import random
from typing import Any, Literal

import pyarrow as pa
import pytest

import ivm
from ivm.render.scalars import functions
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.trace.rows import compaction

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
    before = len(engine_of(core_of(db)).renderer.dictionary)
    n = 500
    db.apply({
        "t": pa.table({"k": range(n), "s": [f"ab number {i}" for i in range(n)], "d": [1] * n}),
        "u": pa.table({"n": range(n), "tk": range(n), "note": [f"a special one {i}, requests" for i in range(n)]}),
    })  # fmt: skip
    db.verify()
    assert len(engine_of(core_of(db)).renderer.dictionary) <= before + 2
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
    before = len(engine_of(core_of(db)).renderer.dictionary)
    with db.transaction() as tx:
        tx.upsert("t", tables["t"].set_column(1, "s", pa.array([f"{i} is ab number" for i in range(n)])))
    assert len(engine_of(core_of(db)).renderer.dictionary) == before
    db.verify()
    with db.transaction() as tx:
        tx.upsert("t", tables["t"].slice(0, 9).set_column(1, "s", pa.array([None, "b", *"abcdefg"])))
    db.verify()
    assert db.view("v").fetchall() == [(n - 9, sum(range(9, n)))]
    assert len(engine_of(core_of(db)).renderer.dictionary) == before


ON_THEIR_WAY = (
    "SELECT k FROM w WHERE upper(s) = lower(u)",
    "SELECT k FROM w WHERE upper(s) || u = 'AB NUMBER 7key 7'",
    "SELECT k, length(s || u) AS n FROM w",
    "SELECT count(*) FROM w WHERE substring(s || u, 2, 3) = 'b n'",
    "SELECT k FROM w WHERE replace(s || '/' || u, '1', '2') LIKE '%22%'",
    "SELECT k FROM w WHERE coalesce(s, '') || coalesce(u, '') = 'x' OR concat(s, u) LIKE '%7k%'",
    "SELECT k, length(CASE WHEN k % 2 = 0 THEN s || 'x' ELSE cast(k AS VARCHAR) END) AS n FROM w",
    "SELECT k FROM w WHERE s || cast(k AS VARCHAR) LIKE '%22%' AND (upper(s) LIKE 'AB%' OR lower(u) = 'key')",
    "SELECT k, levenshtein(s, u) AS n, strpos(s, right(u, 1)) AS p FROM w WHERE s > u OR s LIKE u || '%'",
    "SELECT k FROM w WHERE nullif(s || u, 'ab') IS NULL",
    "SELECT k FROM w WHERE upper(u) IS DISTINCT FROM 'KEY 7' AND coalesce(lower(u), 'none') <> 'key 8'",
    "SELECT k, upper(u) IN ('KEY 7', 'KEY 8') AS i, coalesce(length(trim(upper(u))), -1) AS n FROM w",
    "SELECT k, cast(right(u, 1) || left(right(s, 2), 1) AS INTEGER) AS n FROM w WHERE k BETWEEN 10 AND 99",
    "SELECT sum(length(t)) FROM (SELECT k, s || u AS t FROM w) x WHERE t LIKE '%7%' AND t <> 'ab'",
)
KEPT = {
    "SELECT k, s || u AS t FROM w WHERE k % 100 = 3": 3,
    "SELECT k, upper(s) AS t FROM w WHERE k % 100 = 3": 3,
    "SELECT k, upper(s) AS t FROM w WHERE lower(s) LIKE '%33'": 3,
    "SELECT * FROM (SELECT k, s || u AS t FROM w) x WHERE t LIKE '%33key%'": 3,
    "SELECT k, CASE WHEN k % 2 = 0 THEN s || u ELSE cast(k AS VARCHAR) END AS t FROM w WHERE k < 10": 10,
    "SELECT left(upper(s) || u, 2) AS t, count(*) FROM w GROUP BY t": 1,
    "SELECT k FROM w WHERE upper(u) IN ('KEY 7', NULL) OR length(reverse(upper(u))) > 5": 277,  # their own: 300 - 23
}


def text_rows(start: int) -> dict[str, list[Any]]:
    keys = range(start, start + 150)
    return {"k": list(keys), "s": [f"ab number {i}" for i in keys], "u": [f"key {i}" if i % 13 else None for i in keys]}


@pytest.mark.parametrize("mode", ["off", "wait"])
def test_texts_on_their_way_get_no_codes(mode: Literal["off", "wait"]) -> None:
    """Nor do those of rows that a filter drops."""
    for queries, most in ((ON_THEIR_WAY, 0), *((((query,), new)) for query, new in KEPT.items())):
        db = ivm.connect(compile=mode)
        db.sql("CREATE TABLE w (k BIGINT PRIMARY KEY, s VARCHAR NOT NULL, u VARCHAR)")
        for i, query in enumerate(queries):
            db.sql(f"CREATE MATERIALIZED VIEW v{i} AS {query}")
        before = len(engine_of(core_of(db)).renderer.dictionary)
        for start in (0, 150):
            with db.transaction() as tx:
                tx.insert("w", text_rows(start))
        assert len(engine_of(core_of(db)).renderer.dictionary) <= before + most, queries
        with db.transaction() as tx:
            tx.delete("w", {"k": list(range(100, 120))})
            tx.upsert("w", {"k": [1, 2], "s": ["", "é日"], "u": ["é1", None]})
        db.verify()


def test_a_text_on_its_way_that_has_no_value_fails_the_commit() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE w (k BIGINT PRIMARY KEY, s VARCHAR, u VARCHAR)")
    db.sql("CREATE MATERIALIZED VIEW one AS SELECT k, cast(right(s, 2) AS INTEGER) AS n FROM w WHERE length(s) > 1")
    db.sql("CREATE MATERIALIZED VIEW two AS SELECT k FROM w WHERE cast(s || u AS INTEGER) > 11 AND u <> 'x'")
    for wrong, said in (
        ({"s": "ab", "u": None}, "cannot cast 'ab' to INTEGER"),
        ({"s": "1", "u": "y"}, "cast '1y' to"),
    ):
        with pytest.raises(ivm.NumericError, match=said), db.transaction() as tx:
            tx.insert("w", [{"k": 1, "s": "1", "u": "2"}, {"k": 2, **wrong}])
    with db.transaction() as tx:
        tx.insert("w", [{"k": 1, "s": "1", "u": "2"}, {"k": 2, "s": "7", "u": "x"}, {"k": 3, "s": "12", "u": None}])
    db.verify()
    assert (db.view("one").fetchall(), db.view("two").fetchall()) == ([(3, 12)], [(1,)])


def test_much_text_on_its_way_is_thrown_away(monkeypatch: Any) -> None:
    monkeypatch.setattr(functions, "MOST", 1 << 10)
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE w (k BIGINT PRIMARY KEY, s VARCHAR NOT NULL, u VARCHAR)")
    db.sql("CREATE MATERIALIZED VIEW codes AS SELECT u, count(*) FROM w GROUP BY u")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT reverse(s || u) AS t, count(*) FROM w GROUP BY t")
    db.sql("CREATE MATERIALIZED VIEW r AS SELECT k FROM w WHERE length(reverse(u)) > 6 OR upper(reverse(s)) LIKE '1%'")
    for start in range(0, 900, 150):
        with db.transaction() as tx:
            tx.insert("w", text_rows(start))
        db.verify()


@pytest.mark.parametrize("encoded", [False, True])
def test_loads_of_texts_are_cast_to_numbers_without_codes(encoded: bool) -> None:
    """What is no number is refused where its row is asked for, and nowhere else."""
    db = ivm.connect()
    db.sql(TABLES[0])
    views = {
        "sums": "SELECT sum(s::DOUBLE), sum(TRY_CAST(s AS DECIMAL(9, 2))), count(s::DECIMAL(12, 3)) FROM t WHERE d < 3",
        "ints": "SELECT d, sum(s::BIGINT) FROM t WHERE s NOT LIKE '%.%' AND d < 3 GROUP BY d",
        "tried": "SELECT k, TRY_CAST(s AS INTEGER) AS i FROM t",
    }
    for name, view in views.items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {view}")
    texts = [None if i % 97 == 0 else f"{i % 1009 - 500}.{i % 7}" if i % 3 else str(i) for i in range(10_000)]
    d = [i % 3 for i in range(10_000)]

    def load(first: int, changed: dict[int, tuple[str, int]]) -> None:
        rows = [changed.get(i, each) for i, each in enumerate(zip(texts, d, strict=True))]
        strings = pa.array([text for text, _ in rows])
        strings = strings.dictionary_encode() if encoded else strings
        keys = range(first, first + len(rows))
        db.apply({"t": pa.table({"k": keys, "s": strings, "d": [group for _, group in rows]})})

    load(0, {})
    load(10_000, {5: ("no number", 3), 700: ("123456789", 2)})
    assert all(checked.rows for checked in db.verify())
    there = [view.fetchall() for view in map(db.view, views)]
    with pytest.raises(ivm.NumericError, match="cannot cast 'no number' to DOUBLE"):
        load(20_000, {9_000: ("no number", 1)})
    assert [view.fetchall() for view in map(db.view, views)] == there
    with pytest.raises(ivm.NumericError, match="cannot cast 'no number' to DOUBLE"):
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT k, s::DOUBLE AS n FROM t")
    db.sql("DELETE FROM t WHERE k % 2 = 1 OR s = 'no number'")
    db.sql("UPDATE t SET s = ' 7 ' WHERE k = 4")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT k, s::DOUBLE AS n FROM t")
    assert all(checked.rows for checked in db.verify())
