"""Small databases whose views reach every operator, and what is done to them while something is raised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import ivm
from ivm.session.database import core_of

Row = tuple[Any, ...]
Tables = Mapping[str, "Counter[Row]"]

TABLES = {
    "t": ("id", "g", "x", "d", "s"),
    "u": ("k", "v"),
    "w": ("a", "b"),
}

_SCHEMA = """
CREATE TABLE t (id BIGINT PRIMARY KEY, g INTEGER, x BIGINT, d DOUBLE, s VARCHAR);
CREATE TABLE u (k INTEGER, v BIGINT);
CREATE TABLE w (a INTEGER, b BIGINT, PRIMARY KEY (a, b));
"""

VIEWS: dict[str, dict[str, str]] = {
    "reduces": {
        "filtered": "SELECT id, x * 2 AS y, s FROM t WHERE x > 3",
        "sums": "SELECT g, count(*) AS n, sum(x) AS x, avg(x) AS m, sum(d) AS d, count(s) AS c FROM t GROUP BY g",
        "total": "SELECT count(*) AS n, sum(x) AS x FROM t",
        "spread": "SELECT g, stddev(x) AS e, bool_and(x > 2) AS b FROM t GROUP BY g",
        "extremes": "SELECT g, min(x) AS lo, max(s) AS hi FROM t GROUP BY g",
        "distinct_in": "SELECT g, count(DISTINCT x) AS n FROM t GROUP BY g",
        "strings": "SELECT g, string_agg(s, ',' ORDER BY x, id) AS s FROM t GROUP BY g",
        "lists": "SELECT g, list(x ORDER BY x, id) AS s FROM t GROUP BY g",
        "quantiles": "SELECT g, median(x) AS m, quantile_disc(x, 0.3) AS q FROM t GROUP BY g",
        "chosen": "SELECT g, arg_max(s, x) AS s FROM (SELECT g, s, x + id / 1000 AS x FROM t) GROUP BY g",
    },
    "sets": {
        "different": "SELECT DISTINCT g, s FROM t",
        "both": "SELECT g FROM t UNION ALL SELECT k FROM u",
        "one_of": "SELECT g FROM t UNION SELECT k FROM u",
        "without": "SELECT g FROM t EXCEPT SELECT k FROM u",
        "shared": "SELECT g FROM t INTERSECT ALL SELECT k FROM u",
        "top": "SELECT id, x FROM t ORDER BY x DESC, id LIMIT 5",
        "paged": "SELECT id, x FROM t ORDER BY x, id LIMIT 4 OFFSET 2",
        "top_each": "SELECT * FROM (SELECT g, id, row_number() OVER (PARTITION BY g ORDER BY x, id) AS r FROM t) WHERE r < 3",
        "over_view": "SELECT g, count(*) AS n FROM different GROUP BY g",
    },
    "windows": {
        "running": "SELECT id, sum(x) OVER (PARTITION BY g ORDER BY x, id) AS s FROM t",
        "ranks": "SELECT id, rank() OVER (PARTITION BY g ORDER BY x) AS r, dense_rank() OVER (ORDER BY x) AS q FROM t",
        "beside": "SELECT id, lag(x) OVER (ORDER BY id) AS b, first_value(s) OVER (PARTITION BY g ORDER BY id) AS f FROM t",
        "nearest": "SELECT t.id, u.v FROM t ASOF LEFT JOIN u ON t.g = u.k AND t.x >= u.v",
        "moving": "SELECT id, max(x) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS m FROM t",
    },
    "joins": {
        "inner_one": "SELECT t.id, u.v FROM t JOIN u ON t.g = u.k",
        "three": "SELECT t.id, u.v, w.b FROM t, u, w WHERE t.g = u.k AND w.a = u.k",
        "triangles": "SELECT t.id, u.v, w.a FROM t, u, w WHERE t.g = u.k AND u.v = w.b AND w.a = t.id",
        "left_one": "SELECT t.id, u.v FROM t LEFT JOIN u ON t.g = u.k",
        "full_one": "SELECT w.a, w.b, u.v FROM w FULL JOIN u ON w.a = u.k AND w.b = u.v",
        "semi": "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.g)",
        "anti": "SELECT id FROM t WHERE g NOT IN (SELECT k FROM u)",
        "above": "SELECT id, x FROM t WHERE x > (SELECT avg(v) FROM u)",
        "highest": "SELECT id FROM t WHERE x = (SELECT max(x) FROM t)",
        "ranges": "SELECT t.id, w.b FROM t, w WHERE t.x < w.b AND w.a = 1",
        "of_groups": "SELECT t.id, q.n FROM t JOIN (SELECT k, count(*) AS n FROM u GROUP BY k) q ON q.k = t.g",
    },
    "walks": {
        "few": "SELECT g, count(*) AS n, sum(x) AS x FROM t WHERE x < 9 GROUP BY g",
        "one": "SELECT count(*) AS n, sum(x * 2) AS x FROM t WHERE x > 2",
        "counted": "SELECT t.x, count(*) AS n FROM t JOIN u ON t.g = u.k GROUP BY t.x",
        "often": "SELECT g, sum(x) * 2 AS x FROM t WHERE x < 9 GROUP BY g HAVING count(*) > 1",
        "rare": "SELECT id FROM t WHERE x > 1000",
        "met": "SELECT t.id, u.v FROM t JOIN u ON t.g = u.k WHERE u.v > 2",
        "matched": "SELECT v, count(*) AS n, sum(g) AS g FROM t JOIN u ON t.x = k WHERE s = 'ant' GROUP BY v",
    },
    "loops": {
        "reached": "WITH RECURSIVE r(v) AS (SELECT id FROM t WHERE x < 3 UNION SELECT u.v FROM r JOIN u ON r.v = u.k) FROM r",
        "ways": "WITH RECURSIVE p(k, v, n) AS (SELECT k, v, 1 FROM u WHERE k < v UNION ALL SELECT p.k, u.v, n + 1 FROM p JOIN u"
        " ON p.v = u.k WHERE u.k < u.v) SELECT k, v, count(*) AS n, max(n) AS longest FROM p GROUP BY k, v",
        "least": "WITH MUTUALLY RECURSIVE c(v BIGINT, l BIGINT) AS (SELECT v, min(l) FROM (SELECT k::BIGINT AS v, k::BIGINT AS l"
        " FROM u UNION ALL SELECT u.v, c.l FROM c JOIN u ON c.v = u.k) GROUP BY v) FROM c",
        "distances": "WITH MUTUALLY RECURSIVE d(v BIGINT, x BIGINT) AS (SELECT v, min(x) FROM (SELECT 1 AS v, 0 AS x"
        " UNION ALL SELECT u.v, d.x + 1 + u.v % 3 FROM d JOIN u ON d.v = u.k WHERE u.v >= 0) GROUP BY v) FROM d",
        "won": "WITH MUTUALLY RECURSIVE hi(a INTEGER) AS (SELECT DISTINCT k FROM u WHERE v NOT IN (FROM lo)),"
        " lo(a INTEGER) AS (SELECT DISTINCT k FROM u WHERE v NOT IN (FROM hi)) FROM lo",
        "added": "WITH MUTUALLY RECURSIVE b(id BIGINT, x BIGINT) AS (SELECT id, sum(x)::BIGINT FROM (SELECT id, x FROM t"
        " UNION ALL SELECT id // 2, x FROM b WHERE id > 1) GROUP BY id), n(n BIGINT) AS (SELECT count(*) FROM b) FROM b, n",
        "first_two": "WITH MUTUALLY RECURSIVE (RETURN AT RECURSION LIMIT 5) r(v BIGINT, s VARCHAR) AS (SELECT id, s FROM t WHERE"
        " x < 3 UNION SELECT v, s FROM (SELECT u.v, r.s, row_number() OVER (PARTITION BY k ORDER BY u.v, s) AS n"
        " FROM r JOIN u ON r.v = u.k) WHERE n < 3) FROM r",
    },
}
"""The views of each scene. Those of "grown" stand over a table in which rows only come; the loops of "walks" are
compiled, so that these go as far as they can. Those of "loops" are one of each order of rounds, and of each state."""

_GROWN = {
    "grown_top": "SELECT g, id, x FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY x, id) AS r FROM h) WHERE r < 3",
    "grown_most": "SELECT g, max(x) AS x, count(*) AS n FROM h GROUP BY g",
    "grown_kinds": "SELECT DISTINCT g FROM h",
}

_TEXTS = ("ant", "bee", "cat", "dog", "a longer text than the others are", None)


def _t(number: int, shift: int = 0) -> Row:
    x = (number * 7 + shift) % 13
    return number, number % 4 or None, x, x / 4, _TEXTS[(number + shift) % len(_TEXTS)]


def _base() -> dict[str, Counter[Row]]:
    return {
        "t": Counter(_t(i) for i in range(24)),
        "u": Counter((i % 5, i * 3 % 11) for i in range(12)),
        "w": Counter((i % 3, i) for i in range(9)),
    }


def _with(tables: Tables, **changes: tuple[list[Row], list[Row]]) -> dict[str, Counter[Row]]:
    """Tables after some rows went and others came, of each table."""
    after = {name: Counter(rows) for name, rows in tables.items()}
    for name, (gone, come) in changes.items():
        after[name].subtract(gone)
        after[name].update(come)
        after[name] = +after[name]
    return after


@dataclass(frozen=True)
class Commit:
    """What is committed: from the base to what is there after it. `how`: by a transaction or in another way."""

    after: Tables
    how: Callable[[ivm.Database, Tables, Tables], None]


def _columns(name: str, rows: list[Row]) -> dict[str, list[Any]]:
    return {column: [row[i] for row in rows] for i, column in enumerate(TABLES[name])}


def move(db: ivm.Database, before: Tables, after: Tables) -> None:
    """Commit what leads from one state to another: deletes, then inserts."""
    with db.transaction() as tx:
        for name in TABLES:
            gone, come = before[name] - after[name], after[name] - before[name]
            if gone:
                tx.delete(name, _columns(name, list(gone.elements())))
            if come:
                tx.insert(name, _columns(name, list(come.elements())))


def _upsert(db: ivm.Database, before: Tables, after: Tables) -> None:
    with db.transaction() as tx:
        tx.upsert("t", _columns("t", list((after["t"] - before["t"]).elements())))


def _at_times(db: ivm.Database, before: Tables, after: Tables) -> None:
    """One batch of several times, in between of which rows come and go."""
    time, batch = db.time + 1, {}
    for name in TABLES:
        gone, come = list((before[name] - after[name]).elements()), list((after[name] - before[name]).elements())
        rows = [*gone, *come, *come, *come]
        if rows:
            batch[name] = _columns(name, rows) | {
                "_time": [time] * len(gone) + [time] * len(come) + [time + 1] * len(come) + [time + 2] * len(come),
                "_diff": [-1] * len(gone) + [1] * len(come) + [-1] * len(come) + [1] * len(come),
            }
    db.apply(batch)


def _refused(db: ivm.Database, before: Tables, after: Tables) -> None:
    """A commit that is refused at its end: a key is there already."""
    try:
        with db.transaction() as tx:
            tx.delete("u", _columns("u", [(0, 0)]))
            tx.insert("t", _columns("t", [_t(200), _t(201)]))
            tx.insert("w", _columns("w", [(0, 0)]))
    except ivm.ConstraintError:
        pass


def commits() -> dict[str, Commit]:
    """The shapes of a commit, each from the base."""
    base = _base()
    few = _with(base, t=([], [_t(i) for i in range(100, 104)]), u=([], [(3, 1), (9, 2)]), w=([], [(1, 50)]))
    gone = _with(base, t=([_t(1), _t(2), _t(9)], []), u=([(0, 0), (1, 3)], []), w=([(0, 0)], []))
    mixed = _with(
        base,
        t=([_t(3), _t(4)], [_t(i) for i in range(110, 113)]),
        u=([(2, 6)], [(2, 7), (7, 7)]),
        w=([(1, 1)], [(1, 99)]),
    )
    replaced = _with(base, t=([_t(5), _t(6)], [_t(5, 3), _t(6, 5), _t(120)]))
    many = _with(base, t=([], [_t(i) for i in range(1000, 4000)]), u=([], [(i % 700, i) for i in range(50, 900)]))
    return {
        "insert": Commit(few, move),
        "come": Commit(_with(base, t=([], [_t(i) for i in range(100, 112)])), move),
        "delete": Commit(gone, move),
        "mixed": Commit(mixed, move),
        "upsert": Commit(replaced, _upsert),
        "times": Commit(mixed, _at_times),
        "refused": Commit(base, _refused),
        "many": Commit(many, move),
    }


class World:
    """A database of one scene at its base, with a subscriber for each view, who adds up what it is told."""

    def __init__(self, scene: str) -> None:
        self.db = ivm.connect(compile="wait" if scene == "walks" else "off")
        self.scene = scene
        self.db.sql(_SCHEMA)
        self.base = _base()
        empty: Tables = {name: Counter() for name in TABLES}
        move(self.db, empty, self.base)
        self.seen: dict[str, Counter[Row]] = {}
        self.subscriptions: dict[str, ivm.Subscription] = {}
        for name, select in VIEWS[scene].items():
            self.create(name, select)
        self.spare = f"spare AS {next(iter(VIEWS[scene].values()))}"

    def create(self, name: str, select: str) -> None:
        """One more view, and who listens to it."""
        self.db.sql(f"CREATE MATERIALIZED VIEW {name} AS {select}")
        self.seen[name] = Counter()
        few = 1 if len(self.subscriptions) % 2 else 1000  # so that some add up what waits, at every commit
        self.subscriptions[name] = self.db.subscribe(name, snapshot=True, limit=few)

    def tables(self) -> dict[str, Counter[Row]]:
        """What the tables hold."""
        core = core_of(self.db)
        with core.lock:
            return {name: Counter(_rows(core.engine.tables[name].reading()())) for name in TABLES}

    def views(self) -> dict[str, Counter[Row]]:
        """What the views hold."""
        return {name: Counter(map(_plain, self.db.view(name).fetchall())) for name in self.subscriptions}

    def wrong_subscribers(self, views: Tables) -> list[str]:
        """The views of which a subscriber believes something else, or is told of a time twice."""
        wrong = []
        for name, subscription in self.subscriptions.items():
            for row in subscription.fetch().to_pylist():
                diff = row.pop("_diff")
                row.pop("_time")
                self.seen[name][_plain(tuple(row.values()))] += diff
            told = self.seen[name]
            if any(told[row] != views[name][row] for row in {*told, *views[name]}):
                wrong.append(name)
        return wrong


def _rows(table: Any) -> list[Row]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _plain(row: Row) -> Row:
    return tuple(tuple(value) if isinstance(value, list) else value for value in row)


def grown() -> ivm.Database:
    """A database with a table in which rows only come."""
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE h (id BIGINT PRIMARY KEY, g INTEGER, x BIGINT) WITH (append_only = true)")
    for name, select in _GROWN.items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {select}")
    grow(db, 0)
    return db


def grow(db: ivm.Database, first: int) -> None:
    """More rows of the table in which rows only come."""
    rows = range(first, first + 9)
    db.apply({"h": {"id": list(rows), "g": [i % 3 for i in rows], "x": [(i * 11) % 17 - i for i in rows]}})


READS = ("read", "select", "state", "subscribe", "fetch", "named")


def reads(world: World) -> dict[str, Callable[[], object]]:
    """What only reads, or listens."""
    db, name = world.db, next(iter(VIEWS[world.scene]))

    def subscribe() -> None:
        with db.subscribe(name, snapshot=True) as subscription:
            subscription.fetch()

    def named() -> None:
        with db.subscribe(name, name="etl", snapshot=True) as subscription:
            subscription.fetch()
            subscription.acknowledge()
        db.forget_subscription("etl")

    def after_commits() -> None:
        with db.subscribe(name, snapshot=True) as subscription:
            subscription.fetch(timeout=0.01)
        db.view(name).fetchmany(2)

    return {
        "read": lambda: db.view(name).fetchall(),
        "select": partial(db.sql, f"SELECT * FROM {name}, t LIMIT 3"),
        "state": partial(db.sql, "SELECT * FROM ivm_arrangements, ivm_operators, ivm_views"),
        "subscribe": subscribe,
        "fetch": after_commits,
        "named": named,
    }
