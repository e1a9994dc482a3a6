"""Operators stacked in any order and installed over rows that are there: what one chunk takes back, a later one brings.

Also what goes wrong half-way: an error in the middle of the rows is the error that it is, and a sum that only fits once
all rows are there is none.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import count

import pytest

import ivm
from ivm.session.core import engine_of
from ivm.session.database import core_of
from tests.engine.chunks import chunks_of, sizes_from

LAYERS = {
    "left join": "SELECT t.id, x.v AS a, t.b, t.c FROM ({}) AS t LEFT JOIN d AS x ON x.id = t.a",
    "full join": "SELECT coalesce(t.id, -x.id) AS id, t.c AS a, x.v AS b, t.a AS c "
    "FROM ({}) AS t FULL JOIN e AS x ON x.id = t.b",
    "not exists": "SELECT t.id, t.b AS a, t.c AS b, t.a AS c FROM ({}) AS t "
    "WHERE NOT EXISTS (SELECT 1 FROM d AS x WHERE x.id = t.a AND x.v > 2)",
    "not in": "SELECT t.id, t.c AS a, t.a AS b, t.b AS c FROM ({}) AS t "
    "WHERE t.a NOT IN (SELECT x.v FROM e AS x WHERE x.v > 3)",
    "scalars": "SELECT t.id, (SELECT max(x.v) FROM d AS x WHERE x.id = t.a) AS a, "
    "(SELECT count(x.v) FROM e AS x WHERE x.v = t.b) AS b, t.c FROM ({}) AS t",
    "groups": "SELECT min(t.id) AS id, t.b AS a, max(t.a) AS b, count(*)::INTEGER AS c FROM ({}) AS t GROUP BY t.b, t.c",
    "first": "SELECT t.id, t.a, t.c AS b, t.b AS c FROM ({}) AS t "
    "QUALIFY row_number() OVER (PARTITION BY t.a ORDER BY t.id, t.b, t.c) <= 2",
    "window": "SELECT t.id, t.c AS a, t.a AS b, (sum(t.b) OVER (PARTITION BY t.a ORDER BY t.id, t.b, t.c "
    "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW))::INTEGER AS c FROM ({}) AS t",
    "distinct": "SELECT DISTINCT t.id, t.b AS a, t.b, t.c FROM ({}) AS t",
    "union": "SELECT t.id, t.a, t.c AS b, t.b AS c FROM ({}) AS t UNION ALL SELECT id, v, id, v FROM d",
    "except": "SELECT t.id, t.a, t.b, t.c FROM ({}) AS t EXCEPT ALL SELECT v, id, v, id FROM e",
}
TABLES = """
CREATE TABLE f (id INTEGER, a INTEGER, b INTEGER, c INTEGER);
CREATE TABLE d (id INTEGER PRIMARY KEY, v INTEGER);
CREATE TABLE e (id INTEGER, v INTEGER)
"""
ROWS = """
INSERT INTO f SELECT range, range % 7, range % 5, range % 6 FROM range(64);
INSERT INTO d VALUES (0, 1), (1, NULL), (2, 3), (3, 2), (4, 5);
INSERT INTO e VALUES (0, 0), (1, 4), (2, 3), (2, 5), (3, 1)
"""


@pytest.fixture(autouse=True)
def small_chunks() -> Iterator[None]:
    with chunks_of(16), sizes_from(50):
        yield


def stacked(names: list[str]) -> str:
    """The layers one upon the other, the first one at the bottom."""
    query = "SELECT * FROM f"
    for name in names:
        query = LAYERS[name].format(query)
    return query


def changing(db: ivm.Database, rng: random.Random) -> Callable[[ivm.Progress], None]:
    """Commits in six of the pauses, the later the rarer."""
    pauses = {sum(2**n for n in range(at)) + rng.randrange(2**at) for at in range(6)}
    numbers = count()

    def progress(_: ivm.Progress) -> None:
        if next(numbers) not in pauses:
            return
        match rng.randrange(4):
            case 0:
                db.sql(f"DELETE FROM f WHERE id % 7 = {rng.randrange(7)}")
            case 1:
                first = rng.randrange(200)
                db.sql(f"INSERT INTO f SELECT range, range % 4, range % 5, range % 3 FROM range({first}, {first + 9})")
            case 2:
                db.sql(f"UPDATE d SET v = {rng.randrange(6)} WHERE id = {rng.randrange(5)}")
            case _:
                db.sql(f"DELETE FROM e WHERE v = {rng.randrange(6)}; INSERT INTO e VALUES (1, {rng.randrange(6)})")

    return progress


def _filled(sharing: bool) -> ivm.Database:
    db = ivm.connect(compile="off", sharing=sharing)
    db.sql(TABLES)
    db.sql(ROWS)
    return db


@pytest.mark.parametrize("first", LAYERS)
def test_stacks_of_any_order(first: str) -> None:
    names = list(LAYERS)
    start = names.index(first)
    db, rng = _filled(sharing=start % 2 == 0), random.Random(first)
    for at in range(start % 3, len(names), 3):
        stack = [first, names[at], names[(start + 2 * at + 1) % len(names)]]
        db.sql(f"CREATE MATERIALIZED VIEW v{at} AS {stacked(stack)}", progress=changing(db, rng))
    db.verify()
    db.sql("DELETE FROM f WHERE id % 5 = 1; UPDATE d SET v = 4 WHERE id = 2; DELETE FROM e WHERE v = 1")
    db.verify()
    for view in rng.sample(sorted(engine_of(core_of(db)).views), len(engine_of(core_of(db)).views)):
        db.sql(f"DROP VIEW {view}")
    assert engine_of(core_of(db)).renderer.graph.nodes == []


@pytest.mark.parametrize("sharing", [True, False])
def test_outer_joins_upon_each_other_over_views(sharing: bool) -> None:
    db = _filled(sharing)
    rng, below = random.Random(5), "f"
    names = ["left join", "not exists", "full join", "scalars"]
    for number, name in enumerate(names):
        query = LAYERS[name].format(f"SELECT * FROM {below}")
        db.sql(f"CREATE MATERIALIZED VIEW v{number} AS {query}", progress=changing(db, rng))
        whole = stacked(names[: number + 1])
        db.sql(f"CREATE MATERIALIZED VIEW w{number} AS {whole}", progress=changing(db, rng))
        below = f"v{number}"
    db.verify()
    for number in range(len(names)):
        assert db.sql(f"SELECT * FROM v{number} EXCEPT ALL SELECT * FROM w{number}").fetchall() == []


ERRORS = {
    "SELECT f.a + big.j AS s FROM f LEFT JOIN big ON big.i = f.id": "does not fit",
    "SELECT f.a + big.j AS s FROM f FULL JOIN big ON big.i = f.id LEFT JOIN d ON d.id = f.a": "does not fit",
    "SELECT max(f.a + big.j) AS s FROM f LEFT JOIN big ON big.i = f.id GROUP BY f.b": "does not fit",
    "SELECT CAST(f.a + big.j::BIGINT AS INTEGER) AS s FROM f LEFT JOIN big ON big.i = f.id": "cast",
    "SELECT f.id // (big.j - 2147483647) AS s FROM f LEFT JOIN big ON big.i = f.id": "division by zero",
    "SELECT f.id, (SELECT x.v FROM e AS x WHERE x.id = f.a) AS v FROM f": "more than one row",
    "SELECT f.id FROM f LEFT JOIN d ON d.id = f.a WHERE f.b = (SELECT x.v FROM e AS x WHERE x.id = f.a)": "one row",
    "SELECT CAST(t.n AS INTEGER) FROM (SELECT CASE WHEN big.j IS NULL THEN '1' ELSE 'x' END AS n "
    "FROM f LEFT JOIN big ON big.i = f.id) AS t": "cast",
    "SELECT sum(f.a + big.j) OVER (ORDER BY f.id) AS s FROM f LEFT JOIN big ON big.i = f.id": "does not fit",
    "SELECT DISTINCT f.a + big.j AS s FROM f LEFT JOIN big ON big.i = f.id": "does not fit",
    "SELECT f.a + big.j AS s, f.id FROM f LEFT JOIN big ON big.i = f.id ORDER BY s DESC, id LIMIT 2": "does not fit",
    "SELECT f.id FROM f LEFT JOIN big ON big.i = f.id AND f.a + big.j > 0": "does not fit",
    "SELECT f.id FROM f WHERE f.b NOT IN (SELECT g.a + big.j FROM f AS g LEFT JOIN big ON big.i = g.id)": "fit",
    "SELECT sum(big.j::HUGEINT * 85070591730234615865843651857942052864) AS s FROM big": "does not fit",
}


@pytest.mark.parametrize("append_only", [False, True])
@pytest.mark.parametrize("sharing", [True, False])
def test_an_error_in_the_middle_of_the_rows_is_what_it_is(sharing: bool, append_only: bool) -> None:
    db = ivm.connect(compile="off", sharing=sharing)
    db.sql(TABLES.replace(");", ") WITH (append_only = true);") if append_only else TABLES)
    db.sql("CREATE TABLE big (i INTEGER, j INTEGER)")
    db.sql(ROWS)
    db.sql("INSERT INTO big VALUES (1, 1), (51, 2147483647)")
    db.sql("CREATE MATERIALIZED VIEW fine AS SELECT f.id, d.v FROM f LEFT JOIN d ON d.id = f.a")
    for number, (query, said) in enumerate(ERRORS.items()):
        before = list(engine_of(core_of(db)).renderer.graph.nodes)
        with pytest.raises(ivm.NumericError, match=said) as raised:
            db.sql(f"CREATE MATERIALIZED VIEW bad AS {query}")
        assert "cannot create view bad" in str(raised.value)
        assert engine_of(core_of(db)).renderer.graph.nodes == before
        db.sql(f"INSERT INTO f VALUES ({1000 + number}, 1, 2, 3)")
    db.verify()


def test_sums_that_fit_once_all_rows_are_there() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE h (k INTEGER, i HUGEINT)")
    most = 10**38 - 1
    db.sql("INSERT INTO h SELECT 1, ? FROM range(40)", [most])
    db.sql("INSERT INTO h SELECT 1, -? FROM range(39)", [most])
    db.sql("CREATE MATERIALIZED VIEW g AS SELECT k, sum(i) AS s, count(*) AS n FROM h GROUP BY k")
    db.sql("CREATE MATERIALIZED VIEW w AS SELECT k, sum(i) OVER (PARTITION BY k) AS s FROM h")
    db.sql("CREATE MATERIALIZED VIEW o AS SELECT sum(s) AS s FROM (SELECT k, sum(i) AS s FROM h GROUP BY k)")
    assert db.view("g").fetchall() == [(1, most, 79)]
    assert set(db.view("w").fetchall()) == {(1, most)}
    assert db.view("o").fetchall() == [(most,)]
    with pytest.raises(ivm.NumericError):
        db.sql("INSERT INTO h VALUES (1, ?)", [most])
    assert db.view("g").fetchall() == [(1, most, 79)]
