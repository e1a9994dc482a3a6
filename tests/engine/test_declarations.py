"""What tables declare (enforced foreign keys, append-only, static) is kept, and never changes an answer at any time."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import ivm
from ivm.session.database import core_of

KEPT = "WITH (check_foreign_keys = true)"
APPENDED = "WITH (append_only = true, check_foreign_keys = true)"
STATIC = "WITH (static = true)"
COLUMNS = {"n": ("id", "name"), "c": ("id", "n", "v"), "o": ("id", "c", "boss", "v")}
VIEWS = {
    "child": "SELECT o.id, o.v FROM o JOIN c ON o.c = c.id",
    "key": "SELECT c.id, count(*) AS k FROM o JOIN c ON o.c = c.id GROUP BY c.id",
    "chain": "SELECT o.id, n.name FROM o JOIN c ON o.c = c.id JOIN n ON c.n = n.id",
    "read": "SELECT o.id, c.v AS x FROM o, c WHERE o.c = c.id AND c.v > 1",
    "few": "SELECT o.id, c.n AS x FROM o, c WHERE o.c = c.id AND c.v = 1",
    "bosses": "SELECT o.id, b.v FROM o JOIN o b ON o.boss = b.id",
    "bossy": "SELECT o.id FROM o JOIN o b ON o.boss = b.id",
    "left_over": "SELECT o.id, o.v FROM o LEFT JOIN c ON o.c = c.id",
    "without": "SELECT c.id FROM c WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.c = c.id)",
    "itself": "SELECT a.v, b.boss FROM o a JOIN o b ON a.id = b.id WHERE a.v > 1",
    "most": "SELECT c, max(v) AS m, min(v) AS l, sum(v) AS s FROM o GROUP BY c",
    "top": "SELECT max(c.v) AS m, max(n.name) AS t FROM o JOIN c ON o.c = c.id JOIN n ON c.n = n.id",
    "first": "SELECT id, v FROM o ORDER BY v DESC, id LIMIT 3",
    "firsts": "SELECT c, id, v FROM o QUALIFY row_number() OVER (PARTITION BY c ORDER BY v, id DESC) <= 2",
    "joined_first": "SELECT o.v, c.v AS w FROM o JOIN c ON o.c = c.id ORDER BY 2 DESC, 1 LIMIT 2 OFFSET 1",
    "different": "SELECT DISTINCT c.n, o.v FROM o JOIN c ON o.c = c.id",
    "deepest": "SELECT max(m) AS m FROM (SELECT c, min(v) AS m FROM o GROUP BY c) g",
    "square": "SELECT n.name, m.name AS other FROM n, n m WHERE n.id < m.id",
}


def _database(n: str = "", c: str = "", o: str = "") -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql(f"CREATE TABLE n (id BIGINT PRIMARY KEY, name VARCHAR NOT NULL) {n}")
    db.sql(f"CREATE TABLE c (id BIGINT PRIMARY KEY, n BIGINT NOT NULL REFERENCES n, v BIGINT NOT NULL) {c}")
    db.sql(
        "CREATE TABLE o (id BIGINT PRIMARY KEY, c BIGINT NOT NULL REFERENCES c, boss BIGINT REFERENCES o, "
        f"v BIGINT NOT NULL) {o}"
    )
    db.apply({"n": [{"id": i, "name": f"n{i}"} for i in range(4)]})
    return db


class Stream:
    """Random physical batches of several times, in which every reference is satisfied at every time."""

    def __init__(self, seed: int, deletes: str) -> None:
        self._rng = random.Random(seed)
        self._deletes = deletes
        self._time = 10
        self._rows: dict[str, dict[int, tuple[Any, ...]]] = {"c": {}, "o": {}}

    def batch(self) -> dict[str, pa.Table]:
        changes: dict[str, list[tuple[Any, ...]]] = {"c": [], "o": []}
        for _ in range(self._rng.randrange(1, 5)):
            self._time += self._rng.randrange(1, 3)
            for _ in range(self._rng.randrange(1, 5)):
                self._change(changes)
        return {
            name: pa.table(
                dict(zip((*COLUMNS[name], "_time", "_diff"), map(list, zip(*rows, strict=True)), strict=True)),
                pa.schema([(column, pa.int64()) for column in (*COLUMNS[name], "_time", "_diff")]),
            )
            for name, rows in changes.items()
            if rows
        }

    def _change(self, changes: dict[str, list[tuple[Any, ...]]]) -> None:
        rng, c, o = self._rng, self._rows["c"], self._rows["o"]
        kind = rng.random()
        if "o" in self._deletes and kind < 0.2 and o:
            key = rng.choice(list(o))
            if not any(row[2] == key for row in o.values() if row[0] != key):
                changes["o"].append((*o.pop(key), self._time, -1))
            return
        if "c" in self._deletes and kind < 0.3 and c:
            key = rng.choice(list(c))
            if not any(row[1] == key for row in o.values()):
                changes["c"].append((*c.pop(key), self._time, -1))
            return
        if kind < 0.5 or not c:
            key = len(changes["c"]) + self._time * 100
            c[key] = (key, rng.randrange(4), rng.randrange(4))
            changes["c"].append((*c[key], self._time, 1))
            return
        key = len(changes["o"]) + self._time * 100
        boss = rng.choice([None, key, *o])
        o[key] = (key, rng.choice(list(c)), boss, rng.randrange(5))
        changes["o"].append((*o[key], self._time, 1))


def _changes(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(map(tuple, (row.values() for row in table.to_pylist())))


@pytest.mark.parametrize(
    ("n", "c", "o", "deletes"),
    [
        (STATIC, KEPT, KEPT, "co"),
        ("", KEPT, KEPT, "co"),
        ("", "", KEPT, "co"),
        (STATIC, APPENDED, KEPT, "o"),
        (STATIC, APPENDED, APPENDED, ""),
        ("WITH (append_only = true)", APPENDED, APPENDED, ""),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_views_change_alike_at_every_time(n: str, c: str, o: str, deletes: str, seed: int) -> None:
    plain, declared = _database(), _database(n, c, o)
    late = list(VIEWS)[seed::3]
    for db in (plain, declared):
        for name, query in VIEWS.items():
            if name not in late:
                db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    subscriptions = [{name: db.subscribe(name) for name in VIEWS if name not in late} for db in (plain, declared)]
    stream = Stream(seed, deletes)
    for step in range(12):
        batch = stream.batch()
        for db in (plain, declared):
            db.apply(batch)
            if step == 5:
                for name in late:  # hydrated over what there is
                    db.sql(f"CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]}")
        if step == 5:
            for db, known in zip((plain, declared), subscriptions, strict=True):
                known.update({name: db.subscribe(name) for name in late})
        for name in subscriptions[0]:
            assert _changes(subscriptions[1][name].fetch()) == _changes(subscriptions[0][name].fetch()), name
    declared.verify()


def test_what_cannot_change_has_no_path_and_needs_no_index() -> None:
    joined = "SELECT o.v, c.v AS w, n.name FROM o, c, n WHERE o.c = c.id AND c.n = n.id"
    found = {}
    for options in [("", "", ""), (STATIC, "", ""), (STATIC, APPENDED, KEPT), ("", APPENDED, KEPT)]:
        db = _database(*options)
        text = db.explain(joined).split("plan:\n")[1]
        found[options] = (
            text.count("no path of"),
            sorted(line.strip().split(":")[0] for line in text.splitlines() if line.startswith("  index")),
        )
    assert found == {
        ("", "", ""): (0, ["index c(id)", "index c(n)", "index n(id)", "index o(c)"]),
        (STATIC, "", ""): (1, ["index c(id)", "index n(id)", "index o(c)"]),
        (STATIC, APPENDED, KEPT): (2, ["index c(id)", "index n(id)"]),
        ("", APPENDED, KEPT): (1, ["index c(id)", "index c(n)", "index n(id)", "index o(c)"]),
    }
    assert "no path of mfp of c:" in _database("", APPENDED, KEPT).explain(VIEWS["few"])


def test_a_reference_has_to_be_satisfied_at_each_time_of_a_batch() -> None:
    db = _database(c=KEPT, o=KEPT)
    child = pa.table({"id": [1], "c": [5], "boss": pa.array([None], pa.int64()), "v": [1], "_time": [10]})
    parent = pa.table({"id": [5], "n": [1], "v": [1], "_time": [11]})
    with pytest.raises(ivm.ConstraintError, match=r"FOREIGN KEY \(c\) of table o"):
        db.apply({"o": child, "c": parent})
    db.apply({"o": child, "c": parent.set_column(3, "_time", [[10]])})
    gone = pa.table({"id": [5, 5], "n": [1, 1], "v": [1, 1], "_time": [20, 21], "_diff": [-1, 1]})
    with pytest.raises(ivm.ConstraintError, match=r"still refer to rows removed from c"):
        db.apply({"c": gone})
    db.apply({"c": gone.set_column(3, "_time", [[20, 20]])})
    assert db.sql("SELECT id FROM c").fetchall() == [(5,)]


def test_append_only_tables_take_inserts_alone() -> None:
    db = _database(c="WITH (append_only = true)")
    db.sql("CREATE MATERIALIZED VIEW most AS SELECT n, max(v) AS m FROM c GROUP BY n")
    db.sql("INSERT INTO c VALUES (1, 0, 5), (2, 0, 6)")
    changes = {
        "DELETE FROM c WHERE id = 1": r"table c: it is declared append-only, and 1 row\(s\) .* \(id\) = \(1,\)",
        "UPDATE c SET v = 7 WHERE id = 2": r"append-only, and 1 row\(s\) .* \(2,\)",
    }
    for text, message in changes.items():
        with pytest.raises(ivm.ConstraintError, match=message):
            db.sql(text)
    with pytest.raises(ivm.ConstraintError, match="append-only"), db.transaction() as tx:
        tx.insert("c", [{"id": 9, "n": 0, "v": 99}])
        tx.upsert("c", [{"id": 1, "n": 0, "v": 8}])
    assert db.view("most").fetchall() == [(0, 6)]
    with db.transaction() as tx:
        tx.upsert("c", [{"id": 3, "n": 0, "v": 8}])  # replaces nothing
    assert db.view("most").fetchall() == [(0, 8)]


def test_static_tables_change_while_nobody_reads_them() -> None:
    db = _database(n=STATIC)
    db.sql("INSERT INTO n VALUES (7, 'seven')")
    db.sql("CREATE VIEW registered AS SELECT id, name FROM n")
    db.sql("INSERT INTO n VALUES (8, 'eight')")
    db.sql("CREATE MATERIALIZED VIEW one AS SELECT max(name) AS m FROM registered")
    db.sql("CREATE MATERIALIZED VIEW two AS SELECT c.id FROM c, n WHERE c.n = n.id")
    for text in ("INSERT INTO n VALUES (9, 'nine')", "DELETE FROM n WHERE id = 7"):
        with pytest.raises(ivm.ConstraintError, match=r"cannot change table n: it is declared static.* view one, two"):
            db.sql(text)
    db.sql("INSERT INTO c VALUES (1, 7, 0)")
    assert db.view("two").fetchall() == [(1,)]
    db.sql("DROP VIEW one; DROP VIEW two; DELETE FROM n WHERE id = 7")
    assert db.sql("SELECT count(*) FROM n WHERE id = 7").fetchall() == [(0,)]


def test_extremes_of_rows_that_only_come_keep_nothing_else() -> None:
    db = ivm.connect(compile="off")
    columns = "id BIGINT PRIMARY KEY, g BIGINT, t VARCHAR, d DOUBLE, h HUGEINT, e DATE"
    db.sql(f"CREATE TABLE plain ({columns}); CREATE TABLE grown ({columns}) WITH (append_only = true)")
    aggregates = ", ".join(f"min({c}) AS l{c}, max({c}) AS m{c}" for c in "tdhe")
    for table in ("plain", "grown"):
        db.sql(
            f"CREATE MATERIALIZED VIEW {table}_groups AS SELECT g, {aggregates}, sum(d) AS s FROM {table} GROUP BY g"
        )
        db.sql(f"CREATE MATERIALIZED VIEW {table}_all AS SELECT {aggregates} FROM {table}")
        db.sql(f"CREATE MATERIALIZED VIEW {table}_above AS SELECT max(lt) AS m FROM {table}_groups")
    subscriptions = {name: db.subscribe(name) for name in core_of(db).engine.views}
    rng = random.Random(3)
    texts, doubles = ["", "a", "b", "ab", "é", None], [1.5, -0.0, 0.0, float("nan"), float("inf"), -2e300, 1e-300, None]
    for step in range(8):
        count = rng.randrange(1, 30)
        rows = {
            "id": [step * 100 + i for i in range(count)],
            "g": [rng.choice([1, 2, 3, None]) for _ in range(count)],
            "t": [rng.choice(texts) for _ in range(count)],
            "d": [rng.choice(doubles) for _ in range(count)],
            "h": [rng.choice([Decimal(2**70), Decimal(-(2**80)), Decimal(3), None]) for _ in range(count)],
            "e": [rng.choice([None, date(1999, 1, 1), date(2001, 5, 5)]) for _ in range(count)],
        }
        times = sorted(1000 * step + 1 + rng.randrange(4) for _ in range(count))
        types = [pa.int64(), pa.int64(), pa.string(), pa.float64(), pa.decimal128(38, 0), pa.date32(), pa.int64()]
        arrays = [pa.array(v, t) for v, t in zip([*rows.values(), times], types, strict=True)]
        data = pa.table(arrays, [*rows, "_time"])
        db.apply({"plain": data, "grown": data})
        if step == 4:  # a commit that fails leaves the extremes as they were
            with pytest.raises(ivm.ConstraintError):
                db.apply({"plain": data, "grown": data})
        for name in ("groups", "all", "above"):
            plain, grown = (subscriptions[f"{table}_{name}"].fetch() for table in ("plain", "grown"))
            assert sorted(map(repr, plain.to_pylist())) == sorted(map(repr, grown.to_pylist()))
    db.verify()
    entries = dict(
        db.sql(
            "SELECT collection, sum(entries)::BIGINT FROM ivm_arrangements WHERE kind = 'derived' GROUP BY ALL"
        ).fetchall()
    )
    assert entries["reduce of plain"] > 0
    assert entries["reduce of grown"] == 0


def test_the_first_of_rows_that_only_come_are_all_that_is_kept() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE e (id BIGINT PRIMARY KEY, v BIGINT NOT NULL) WITH (append_only = true)")
    db.sql("CREATE MATERIALIZED VIEW first AS SELECT id, v FROM e ORDER BY v DESC, id LIMIT 3")
    db.sql("CREATE MATERIALIZED VIEW rest AS SELECT id, v FROM e ORDER BY v DESC, id OFFSET 990")
    db.apply({"e": pa.table({"id": range(1000), "v": [i * 7 % 997 for i in range(1000)]})})
    db.verify()
    kept = "SELECT rows FROM ivm_arrangements WHERE kind = 'ordered' AND list_contains(views, '{}')"
    assert db.sql(kept.format("first")).fetchall() == [(3,)]
    assert db.sql(kept.format("rest")).fetchall() == [(1000,)]
    assert "of rows that only come" in db.explain("SELECT id, v FROM e ORDER BY v DESC, id LIMIT 3")
    assert "of rows that only come" not in db.explain("SELECT id, v FROM e ORDER BY v DESC, id LIMIT 300")


def test_foreign_keys_of_several_columns() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE p (a BIGINT, b VARCHAR, v BIGINT, PRIMARY KEY (a, b)) WITH (append_only = true)")
    # The columns are named in another order than the key's.
    db.sql(
        "CREATE TABLE r (id BIGINT PRIMARY KEY, y VARCHAR, x BIGINT, FOREIGN KEY (y, x) REFERENCES p (b, a)) "
        "WITH (check_foreign_keys = true)"
    )
    db.sql("CREATE MATERIALIZED VIEW whole AS SELECT r.id FROM r JOIN p ON r.x = p.a AND r.y = p.b")
    db.sql("CREATE MATERIALIZED VIEW half AS SELECT r.id FROM r JOIN p ON r.x = p.a")
    db.sql("CREATE MATERIALIZED VIEW value AS SELECT r.id, p.v FROM r JOIN p ON r.x = p.a AND r.y = p.b")
    db.sql("INSERT INTO p VALUES (1, 'u', 10), (1, 'v', 11), (2, 'u', 12)")
    db.sql("INSERT INTO r VALUES (1, 'u', 1), (2, NULL, 1), (3, 'u', NULL), (4, 'u', 2), (5, NULL, 7)")
    with pytest.raises(ivm.ConstraintError, match=r"FOREIGN KEY \(y, x\)"):
        db.sql("INSERT INTO r VALUES (6, 'v', 2)")
    with db.transaction() as tx:  # both at one time
        tx.insert("r", [{"id": 7, "y": "w", "x": 9}])
        tx.insert("p", [{"a": 9, "b": "w", "v": 13}])
    db.sql("DELETE FROM r WHERE id = 4")
    db.verify()
    assert sorted(db.view("whole").fetchall()) == [(1,), (7,)]
    plans = {name: db.explain(db.view(name).sql).split("plan:")[1] for name in ("whole", "half", "value")}
    assert ["join" in plan for plan in plans.values()] == [False, True, True]
    assert ["no path of p" in plan for plan in plans.values()] == [False, False, True]
