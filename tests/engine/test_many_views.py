"""Many views that each want few rows: as right as few views are, and only those are looked at that may want a row."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import ivm
from ivm.dataflow import routing
from ivm.session.core import engine_of
from ivm.session.database import core_of
from tests.more import by_day, with_more

MANY = 40
"""So many readers that rows are routed to them."""
TABLES = (
    """CREATE TABLE t (
        id BIGINT PRIMARY KEY, a INTEGER, b DECIMAL(9,2), w DECIMAL(30,3), h HUGEINT, s VARCHAR, d DATE, at TIMESTAMP,
        x DOUBLE, f FLOAT, e ENUM('low', 'mid', 'high'), u UUID, bo BOOLEAN, c INTEGER NOT NULL)""",
    "CREATE TABLE c (k INTEGER PRIMARY KEY, v INTEGER)",
)
_UUIDS = [f"00000000-0000-0000-0000-00000000000{i}" for i in range(4)]
VALUES: dict[str, list[Any]] = {
    "a": [None, -(2**31), -1, 0, 1, 2, 3, 4, 2**31 - 1],
    "b": [None, *(Decimal(i) / 2 for i in range(-2, 6)), Decimal("9999999.99")],
    "w": [None, Decimal("-1.5"), Decimal(0), Decimal("1.5"), Decimal(10) ** 26, -(Decimal(10) ** 26)],
    "h": [None, 0, 1, -1, 2**64, -(2**64), 2**64 + 1],
    "s": [None, "", "a", "b", "ab", "é", "12", "7"],
    "d": [None, date(2020, 1, 1), date(2020, 1, 2), date(1969, 12, 31)],
    "at": [None, datetime(2020, 1, 1), datetime(2020, 1, 1, 12), datetime(1969, 12, 31, 23)],
    "x": [None, 0.0, -0.0, 1.5, -1.5, float("nan"), float("inf"), float("-inf"), 5e-324],
    "f": [None, 0.0, -0.0, 0.5, 1.5, float("nan")],
    "e": [None, "low", "mid", "high"],
    "u": [None, *_UUIDS],
    "bo": [None, True, False],
    "c": [0, 1, 2, 3],
}
CONSTANTS: dict[str, list[str]] = {
    "a": ["-1", "0", "1", "2", "3", "2.5", "99999999999", "-2147483648", "2147483647", "NULL", "1e0"],
    "b": ["-1", "0", "0.5", "1.25", "2", "9999999.99", "1e30::DOUBLE", "12345678901234567890", "0.001", "NULL"],
    "w": ["0", "1.5", "-1.5", "1e26::DECIMAL(30,3)", "1.0005", "NULL"],
    "h": ["0", "1", "18446744073709551616", "-18446744073709551616", "1.5", "NULL"],
    "s": ["''", "'a'", "'b'", "'ab'", "'é'", "'nobody'", "NULL"],
    "d": ["DATE '2020-01-01'", "DATE '1969-12-31'", "TIMESTAMP '2020-01-01 12:00:00'", "NULL"],
    "at": ["TIMESTAMP '2020-01-01'", "DATE '2020-01-01'", "TIMESTAMP '1969-12-31 23:00:00'", "NULL"],
    "x": ["0", "-0.0::DOUBLE", "1.5", "'nan'::DOUBLE", "'infinity'::DOUBLE", "'-infinity'::DOUBLE", "5e-324", "NULL"],
    "f": ["0", "0.5", "1.5::DOUBLE", "'nan'::FLOAT", "0.1", "NULL"],
    "e": ["'low'", "'mid'", "'high'", "'none'"],
    "u": [f"'{each}'" for each in _UUIDS],
    "bo": ["TRUE", "FALSE", "NULL"],
}


def condition(chance: random.Random, depth: int = 0) -> str:
    """Some condition of a row of t."""
    if depth < 2 and chance.random() < 0.3:
        parts = [condition(chance, depth + 1) for _ in range(chance.choice([2, 2, 3]))]
        return f"({chance.choice([' AND ', ' OR ']).join(parts)})"
    if depth < 2 and chance.random() < 0.1:
        return f"NOT {condition(chance, depth + 1)}"
    column = chance.choice(list(CONSTANTS))
    constants = CONSTANTS[column]
    form = chance.choice(["=", "=", "=", "<", "<=", ">", ">=", "<>", "in", "between", "mirrored", "is"])
    if column in ("e", "u") and form not in ("=", "<>", "in"):
        form = "="
    if form == "in":
        return f"{column} IN ({', '.join(chance.sample(constants, min(3, len(constants))))})"
    if form == "between":
        return f"{column} BETWEEN {chance.choice(constants)} AND {chance.choice(constants)}"
    if form == "mirrored":
        return f"{chance.choice(constants)} {chance.choice('=<>')} {column}"
    if form == "is":
        return f"{column} IS {chance.choice(['NULL', 'NOT NULL', 'NOT DISTINCT FROM ' + chance.choice(constants)])}"
    return f"{column} {form} {chance.choice(constants)}"


def query(chance: random.Random) -> str:
    """Some view, with a filter over the table, a join or groups."""
    where = condition(chance)
    match chance.randrange(8):
        case 0:
            return f"SELECT s, sum(b) AS b, count(*) AS n, max(x) AS x FROM t WHERE {where} GROUP BY s"
        case 1:
            return f"SELECT sum(a) AS a FROM t WHERE {where} AND c = {chance.randrange(4)}"
        case 2:
            return f"SELECT t.id, v FROM t JOIN c ON k = c WHERE {where} AND v > {chance.randrange(4)}"
        case 3:
            return f"SELECT k, v, n FROM c, (SELECT c, count(*) AS n FROM t GROUP BY c) WHERE c = k AND n = {chance.randrange(9)}"
        case 4:
            return f"SELECT c, n FROM (SELECT c, count(*) AS n FROM t GROUP BY c) WHERE n > {chance.randrange(9)}"
        case 5:
            return f"SELECT one.id, other.id AS o FROM t one JOIN t other ON one.c = other.a WHERE other.b = {chance.randrange(3)}"
    return f"SELECT * FROM t WHERE {where}"


def risky(chance: random.Random) -> str:
    """A view that may raise NumericError, but for rows that another condition drops."""
    raising = chance.choice(
        ["a * 1073741824 > 5", "CAST(s AS INTEGER) > 9", "CAST(a AS TINYINT) = 1", "CAST(h AS INT) > 0"]
    )
    if chance.random() < 0.5:
        return f"SELECT id, {raising} AS r FROM t WHERE {condition(chance, 2)} AND c = {chance.randrange(4)}"
    return f"SELECT id FROM t WHERE {raising} AND {condition(chance, 2)} AND c = {chance.randrange(4)}"


class World:
    """One database with all views, and the same views in databases of their own, too few in each for any routing.

    Views that may raise are all in the first of these, which says whether a commit fails.
    """

    def __init__(self, chance: random.Random, compile: str) -> None:
        self.chance = chance
        self.many = self._new(compile)
        self.few = [self._new(compile) for _ in range(7)]
        self.at: dict[str, ivm.Database] = {}
        self.made = 0
        self.listening: dict[str, tuple[ivm.Subscription, ivm.Subscription]] = {}

    def _new(self, compile: str) -> ivm.Database:
        db = ivm.connect(compile=compile)  # type: ignore[arg-type]
        for each in TABLES:
            db.sql(each)
        db.apply({"c": [{"k": i, "v": i % 3} for i in range(4)]})
        return db

    @property
    def all(self) -> Iterator[ivm.Database]:
        yield self.many
        yield from self.few

    def create(self, sql: str, db: ivm.Database, progress: Any = None) -> None:
        """One more view; none where the rows there are would raise."""
        name = f"v{self.made}"
        self.made += 1
        text = f"CREATE MATERIALIZED VIEW {name} AS {sql}"
        try:
            db.sql(text)
        except ivm.NumericError:
            with pytest.raises(ivm.NumericError):
                self.many.sql(text)
            return
        self.many.sql(text, progress=progress)
        self.at[name] = db
        if self.chance.random() < 0.3:
            self.listening[name] = self.many.subscribe(name), db.subscribe(name)

    def drop(self) -> None:
        name = self.chance.choice(list(self.at))
        self.listening.pop(name, None)
        for db in (self.many, self.at.pop(name)):
            db.sql(f"DROP VIEW {name}")

    def row(self, key: int) -> dict[str, Any]:
        return {"id": key} | {column: self.chance.choice(values) for column, values in VALUES.items()}

    def commit(self, most: int = 4) -> None:
        """Rows that come, go and change, at one time or at several, or a commit that fails."""
        chance = self.chance
        keys = chance.sample(range(40), chance.choice([1, 1, 2, most]))
        rows = [self.row(key) for key in keys]
        kind = chance.choice(["upsert", "upsert", "upsert", "delete", "twice", "times", "other", "fail"])
        there = {row[0] for row in self.many.sql("SELECT id FROM t").fetchall()}
        if kind == "fail":  # some rows come, but one that is there already comes last
            rows = [*(row for row in rows if row["id"] not in there), self.row(min(there, default=0))]
            for db in self.all:
                if there:
                    with pytest.raises(ivm.ConstraintError):
                        db.apply({"t": typed(rows)})
            return
        for number, db in enumerate((*self.few, self.many)):
            try:
                self._apply(db, kind, rows, there)
            except ivm.NumericError:
                assert number in (0, len(self.few))
                if number == 0:
                    with pytest.raises(ivm.NumericError):
                        self._apply(self.many, kind, rows, there)
                    return
                raise

    def _apply(self, db: ivm.Database, kind: str, rows: list[dict[str, Any]], there: set[int]) -> None:
        if kind == "times":  # they come, go and come back
            new = [row for row in rows if row["id"] not in there]
            times = [db.time + 1 + i for i in range(3) for _ in new]
            data = typed(3 * new).append_column("_time", pa.array(times, pa.int64()))
            signs = [sign for sign in (1, -1, 1) for _ in new]
            db.apply({"t": data.append_column("_diff", pa.array(signs, pa.int64()))})
            return
        with db.transaction() as tx:
            if kind == "delete":
                tx.delete("t", pa.table({"id": pa.array([row["id"] for row in rows], pa.int64())}), missing="ignore")
                return
            if kind == "twice":
                tx.upsert("t", typed([{**row, "a": 3, "s": "a"} for row in rows]))
            if kind == "other":
                tx.upsert("c", [{"k": rows[0]["c"], "v": len(there) % 4}])
            tx.upsert("t", typed(rows))

    def check(self) -> None:
        """All views are as they are among few, and so is what was told of their changes."""
        for name, db in self.at.items():
            assert bag(self.many.view(name).arrow()) == bag(db.view(name).arrow()), name
        for name, (one, other) in self.listening.items():
            assert bag(one.fetch()) == bag(other.fetch()), name


def typed(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def bag(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


with ivm.connect(compile="off") as _db:
    _db.sql(TABLES[0])
    _SCHEMA = pa.schema(
        [(f.name, pa.string() if f.name in "eu" else f.type) for f in _db.sql("SELECT * FROM t").schema]
    )


LIVES = [(1, "off", False), (3, "off", True), (5, "background", True)]


@pytest.mark.parametrize("life", with_more(by_day(LIVES, 3), [(2, "off", False), (4, "off", True)]), ids=str)
def test_many_views_are_as_few_are(life: tuple[int, str, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """`divided`: views get those rows alone that they may want, however few come."""
    seed, mode, divided = life
    if divided:
        monkeypatch.setattr(routing, "_DIVIDED", 1)
    world = World(random.Random(seed), mode)
    chance = world.chance
    for _ in range(8):
        world.commit(20)
    for _ in range(6):
        world.create(risky(chance), world.few[0])
    for db in world.few[1:]:
        for _ in range(6):
            world.create(query(chance), db)
    for step in range(60):
        world.commit()
        if step % 6 == 0:
            world.drop()
            first = chance.random() < 0.2
            db = world.few[0] if first else chance.choice(world.few[1:])
            if sum(each is db for each in world.at.values()) < 7:
                if first:
                    world.create(risky(chance), db)
                else:
                    world.create(query(chance), db, progress=lambda _: world.commit())
            world.check()
    world.check()
    world.many.verify()


FORMS: dict[str, dict[str, Any]] = {
    "a = {0}": {"a": 3},
    "{0} = a": {"a": 3},
    "a IN ({0}, NULL, -{0})": {"a": 3},
    "a >= {0} AND c > 0 AND a < {0} + 1": {"a": 3},
    "a BETWEEN {0} AND {0} AND s <> 'x'": {"a": 3},
    "a IS NOT NULL AND (a = {0} OR a = -{0} - 100)": {"a": 3},
    "c > 0 AND CAST(a AS DECIMAL(12,2)) >= {0} - 0.5 AND CAST(a AS DECIMAL(12,2)) < {0}.5": {"a": 3},
    "b > {0} - 0.5 AND b <= {0}": {"b": Decimal("2.75")},
    "w = {0}.5": {"w": Decimal("3.5")},
    "h = {0}": {"h": 3},
    "x > {0} - 1 AND x <= {0}": {"x": 2.5},
    "f = {0}": {"f": 3.0},
    "s = 'n{0}'": {"s": "n3"},
    "s IN ('n{0}', 'm{0}')": {"s": "m3"},
    "d = DATE '2020-01-01' + INTERVAL {0} DAY": {"d": date(2020, 1, 4)},
    "at >= TIMESTAMP '2020-01-01' + INTERVAL {0} DAY AND at < TIMESTAMP '2020-01-02' + INTERVAL {0} DAY": {
        "at": datetime(2020, 1, 4, 1)
    },
    "u = '00000000-0000-0000-0000-0000000000{0:02}'": {"u": "00000000-0000-0000-0000-000000000003"},
    "c = 1 AND s = 'a' AND a = {0}": {"a": 3},
    "CAST(s AS INTEGER) > 0 AND a = {0}": {"a": 3, "s": "1"},
    "s = 'a' AND b > {0} - 0.5 AND b <= {0}": {"b": Decimal(3)},
}


@pytest.mark.parametrize("form", FORMS)
def test_only_views_that_may_want_a_row_are_looked_at(form: str) -> None:
    db = ivm.connect(compile="off")
    db.sql(TABLES[0])
    for i in range(MANY):
        where = form.format(i)
        db.sql(f"CREATE MATERIALIZED VIEW v{i} AS SELECT id, sum(c) AS c FROM t WHERE {where} GROUP BY id")
    nobody, wanted = dict.fromkeys(VALUES) | {"c": 0}, dict.fromkeys(VALUES) | {"c": 1, "s": "a"} | FORMS[form]
    most = 20 if "s = 'a' AND b" in form else 5  # as many as may be found by a text before they are by their numbers
    assert looked_at(db, lambda: db.apply({"t": typed([{"id": 1} | wanted])})) <= most
    assert [i for i in range(MANY) if db.view(f"v{i}").fetchall()] == [3]
    assert looked_at(db, lambda: db.apply({"t": typed([{"id": 2} | nobody])})) == 0
    assert looked_at(db, lambda: db.apply({"t": typed([{"id": 1} | nobody])}, mode="upsert")) <= most
    assert not any(db.view(f"v{i}").fetchall() for i in range(MANY))


@pytest.mark.parametrize(
    "drawn",
    [
        "JOIN c ON k = c WHERE a = {0}",
        "JOIN c ON k = c WHERE b = {0} AND v >= 0",
        "WHERE a = {0}",
        "JOIN (SELECT k + 1 - 1 AS k FROM c WHERE v >= 0) ON k = c WHERE b = {0}",
    ],
)
def test_joins_and_filters_over_groups_are_found_too(drawn: str) -> None:
    db = ivm.connect(compile="off")
    for each in TABLES:
        db.sql(each)
    db.sql("CREATE MATERIALIZED VIEW g AS SELECT a, max(b) AS b, any_value(c) AS c FROM t GROUP BY a")
    for i in range(MANY):
        for table in ("t", "g"):
            db.sql(f"CREATE MATERIALIZED VIEW {table}{i} AS SELECT a, b, c FROM {table} {drawn.format(i)}")
    db.apply({"c": [{"k": i, "v": i} for i in range(3)]})
    row = dict.fromkeys(VALUES) | {"id": 1, "a": 3, "b": Decimal(3), "c": 1}
    assert looked_at(db, lambda: db.apply({"t": typed([row])})) <= 12
    assert [(i, each) for each in ("t", "g") for i in range(MANY) if db.view(f"{each}{i}").fetchall()] == [
        (3, "t"),
        (3, "g"),
    ]
    db.verify()


def looked_at(db: ivm.Database, change: Callable[[], object]) -> int:
    """How many nodes have been stepped by a change."""
    nodes = engine_of(core_of(db)).renderer.graph.nodes
    before = [node.updates_in for node in nodes]
    change()
    return sum(node.updates_in != was for node, was in zip(nodes, before, strict=True))
