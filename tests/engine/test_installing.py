"""Views installed while commits go on: between any two chunks of their rows, from this thread or from another."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import ivm
from ivm.plan.existing import Existing
from ivm.session.core import engine_of
from ivm.session.database import core_of
from tests.engine import world
from tests.engine.chunks import chunks_of, sizes_from
from tests.more import with_more

VIEWS = world.VIEWS | {
    "by_city": "SELECT city, count(*) AS n, sum(balance) AS money, avg(score) AS mean FROM customers GROUP BY city",
    "distinct_rows": "SELECT DISTINCT customer, kind FROM events",
    "top_per_group": """SELECT id, customer, total FROM orders
        QUALIFY row_number() OVER (PARTITION BY customer ORDER BY total DESC, id) <= 2""",
    "ranks": """SELECT id, customer, rank() OVER (PARTITION BY customer ORDER BY day, id) AS r,
        sum(quantity) OVER (PARTITION BY customer ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM orders""",
    "no_events": "SELECT id, name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.customer = c.id)",
    "outer_join": "SELECT c.id, e.kind, e.size FROM customers c LEFT JOIN events e ON e.customer = c.id AND e.size > 1",
    "except_all": "SELECT customer FROM orders EXCEPT ALL SELECT customer FROM events",
    "above_mean": """SELECT o.id, o.total FROM orders o
        WHERE o.total > (SELECT avg(p.total) FROM orders p WHERE p.customer = o.customer)""",
    "above_all": "SELECT id, total FROM orders WHERE total > (SELECT avg(total) FROM orders)",
    "dearest": """SELECT o.id, o.total FROM orders o
        WHERE o.total = (SELECT max(p.total) FROM orders p WHERE p.customer = o.customer)""",
    "of_doubles": """SELECT c.id, c.name, s.total FROM customers c,
        (SELECT city, sum(score) AS total, count(*) AS n FROM customers GROUP BY city) s WHERE s.city = c.city""",
    "nested": """SELECT n, count(*) AS groups FROM (SELECT customer, count(*) AS n FROM events GROUP BY customer)
        GROUP BY n""",
    "over_top": "SELECT t.id, c.name FROM top t, orders o, customers c WHERE t.id = o.id AND o.customer = c.id",
    "union_all": "SELECT kind AS x, count(*) AS n FROM events GROUP BY kind UNION ALL SELECT city, n FROM by_city",
    "median": "SELECT customer, median(total) AS m, string_agg(day::VARCHAR, ',' ORDER BY day) AS d FROM orders GROUP BY 1",
}
NEEDED = {"over_view": ["by_city"], "over_top": ["top"], "union_all": ["by_city"]}


@pytest.fixture(autouse=True)
def small_chunks() -> Iterator[None]:
    """So that a view over some dozens of rows comes in many chunks."""
    with chunks_of(4), sizes_from(20):
        yield


class Stream:
    """Random changes that always fit, the same for each seed; each call of `commit` makes one more commit."""

    def __init__(self, db: ivm.Database, seed: int) -> None:
        self.db = db
        self._rng = random.Random(seed)
        self._orders: dict[int, dict[str, Any]] = {}
        self._customers: set[int] = set()
        self._events: list[dict[str, Any]] = []

    def fill(self) -> None:
        """The rows that are there before anything is installed."""
        with self.db.transaction() as tx:
            self._upsert(tx, range(8), range(30), 25)

    def commit(self) -> None:
        """Inserts, updates and deletes of all tables at one time, or some of one table at two times."""
        rng = self._rng
        if rng.random() < 0.2:
            return self._at_two_times()
        with self.db.transaction() as tx:
            for key in [key for key in self._orders if rng.random() < 0.1]:
                tx.delete("orders", [{"id": key}])
                del self._orders[key]
            for key in [key for key in self._customers if rng.random() < 0.1]:
                tx.delete("customers", [{"id": key}])
                self._customers.remove(key)
            rng.shuffle(self._events)
            gone, self._events = self._events[:3], self._events[3:]
            tx.delete("events", _typed("events", gone))
            self._upsert(tx, rng.sample(range(9), 2), rng.sample(range(40), 5), rng.randrange(7))
        return None

    def _at_two_times(self) -> None:
        again = [
            {**row, "quantity": self._rng.randrange(9)} for row in self._orders.values() if self._rng.random() < 0.2
        ]
        before = [self._orders[row["id"]] for row in again]
        self._orders |= {row["id"]: row for row in again}
        rows = _typed("orders", [*before, *again])
        signs = [-1] * len(again) + [1] * len(again)
        times = [self.db.time + 2 + sign for sign in signs]
        for name, values in (("_diff", signs), ("_time", times)):
            rows = rows.append_column(name, pa.array(values, pa.int64()))
        self.db.apply({"orders": rows})

    def _upsert(self, tx: ivm.Transaction, customers: Iterable[int], orders: Iterable[int], events: int) -> None:
        people = [self._customer(key) for key in customers]
        new = {key: self._order(key) for key in orders}
        happened = [self._event() for _ in range(events)]
        tx.upsert("customers", _typed("customers", people))
        tx.upsert("orders", _typed("orders", list(new.values())))
        tx.insert("events", _typed("events", happened))
        self._customers |= {row["id"] for row in people}
        self._orders |= new
        self._events += happened

    def _customer(self, key: int) -> dict[str, Any]:
        rng = self._rng
        return {
            "id": key,
            "name": rng.choice(["a", "ab", "b", "a long text beyond eight bytes"]),
            "city": rng.choice([None, "", "a", "b"]),
            "balance": Decimal(rng.randrange(-500, 2000)) / 100,
            "score": rng.choice([None, 0.5, 3.5, 2.0**20, -(2.0**20), 2.0**-28]),
        }

    def _order(self, key: int) -> dict[str, Any]:
        rng = self._rng
        return {
            "id": key,
            "customer": rng.choice([None, *range(8)]),
            "day": date(2020, 1, rng.randrange(1, 7)),
            "total": rng.choice([None, *(Decimal(rng.randrange(0, 900)) / 100 for _ in range(4))]),
            "urgent": rng.choice([None, True, False]),
            "quantity": rng.choice([None, *range(-3, 6)]),
        }

    def _event(self) -> dict[str, Any]:
        rng = self._rng
        return {
            "customer": rng.choice([None, *range(8)]),
            "kind": rng.choice([None, "a", "ab", "b", "é"]),
            "size": rng.choice([None, *range(5)]),
            "at": None,
        }


_SCHEMAS = {name: world.connect(compile="off").sql(f"SELECT * FROM {name}").schema for name in world.TABLES}


def _typed(table: str, rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=_SCHEMAS[table])


def _state(db: ivm.Database) -> object:
    """Everything that an installation adds to, but for rows."""
    engine = engine_of(core_of(db))
    graph = engine.renderer.graph
    users = {name: [a.key for a in t.arrangements()] for name, t in engine.tables.items()}
    nodes = [
        (id(node), [getattr(each, "number", each) for each in node.owners], type(node.operator)) for node in graph.nodes
    ]
    rendered = [(plan, id(node)) for plan, node in engine.rendered()]
    existing = Existing()
    existing.add(engine.renderer.rendered)
    assert engine.renderer.existing == existing
    sources = {
        name: {width: id(node) for width, node in feeds.items()} for name, feeds in engine.renderer.sources.items()
    }
    catalog = core_of(db).catalog
    return users, nodes, rendered, sources, list(engine.views), engine.is_installing, catalog.tables, catalog.views


def _during(act: Callable[[int], None], most: int = 30) -> Callable[[ivm.Progress], None]:
    """Calls `act` with the number of the pause, in the first `most` of them."""
    calls = iter(range(most))

    def progress(_: ivm.Progress) -> None:
        number = next(calls, None)
        if number is not None:
            act(number)

    return progress


def _database(name: str, seed: int, *, beside: bool, sharing: bool = True) -> tuple[ivm.Database, Stream]:
    """A filled database, with all views or with those alone that view `name` reads."""
    db = world.connect(compile="off", sharing=sharing)
    stream = Stream(db, seed)
    stream.fill()
    for each in VIEWS if beside else NEEDED.get(name, []):
        db.sql(f"CREATE MATERIALIZED VIEW {each} AS {VIEWS[each]}")
    stream.commit()
    return db, stream


@pytest.mark.parametrize("sharing", [True, False])
@pytest.mark.parametrize("name", VIEWS)
def test_commits_between_chunks(name: str, sharing: bool) -> None:
    db, stream = _database(name, 11, beside=False, sharing=sharing)
    pauses: list[int] = []

    def commit(number: int) -> None:
        stream.commit()
        pauses.append(number)

    db.sql(f"CREATE MATERIALIZED VIEW late AS {VIEWS[name]}", progress=_during(commit))
    assert pauses
    db.verify(["late"])
    stream.commit()
    db.verify(["late"])


@pytest.mark.parametrize("seed", with_more([0], [1]))
def test_commits_between_chunks_of_what_is_shared(seed: int) -> None:
    db, stream = _database("", seed, beside=True)
    for name, query in VIEWS.items():
        again = f"SELECT *, 1 AS one FROM ({query}) AS q"
        db.sql(f"CREATE MATERIALIZED VIEW late_{name} AS {again}", progress=_during(lambda _: stream.commit(), 8))
    db.verify()
    stream.commit()
    db.verify()


@pytest.mark.parametrize("name", ["three_way", "beside_groups", "over_top", "except_all", "ranks", "top_per_group"])
def test_an_installation_that_ends_at_any_chunk_leaves_nothing(name: str) -> None:
    db, stream = _database(name, 5, beside=False)
    before = _state(db)
    query = f"CREATE MATERIALIZED VIEW late AS {VIEWS[name]}"
    end = 0
    while True:
        number = 0

        def progress(_: ivm.Progress) -> None:
            nonlocal number
            number += 1
            if number in (2, 9):
                stream.commit()
            if number > end:  # noqa: B023
                raise KeyboardInterrupt

        with suppress(KeyboardInterrupt):
            db.sql(query, progress=progress)
            break
        assert _state(db) == before
        end += 1 + end // 4
    assert end > 6
    db.verify()
    db.sql("DROP VIEW late")
    assert _state(db) == before
    stream.commit()
    db.verify()


def test_times_of_commits_between_chunks_can_be_read_afterwards() -> None:
    db = ivm.connect(compile="off", history=100)
    db.sql("CREATE TABLE w (id BIGINT, k BIGINT); INSERT INTO w SELECT range, range % 3 FROM range(30)")
    start = db.time

    def commit(_: int) -> None:
        db.sql("INSERT INTO w VALUES (1, 1), (2, 5)")

    db.sql("CREATE MATERIALIZED VIEW late AS SELECT * FROM w WHERE k < 4", progress=_during(commit, 5))
    assert db.time > start
    rows = [len(db.view("late").fetchall(as_of=time)) for time in range(start, db.time + 1)]
    assert rows == list(range(30, 31 + db.time - start))


def test_nobody_sees_a_view_before_it_is_whole() -> None:
    db, stream = _database("joined", 1, beside=False)
    seen: list[ivm.Progress] = []

    def progress(now: ivm.Progress) -> None:
        seen.append(now)
        if len(seen) > 9:
            return
        stream.commit()
        with pytest.raises(ivm.BindError, match="no view"):
            db.view("late")
        with pytest.raises(ivm.BindError):
            db.sql("SELECT * FROM late")
        assert db.sql("SELECT * FROM ivm_views").fetchall() == []
        assert len(db.sql("EXPLAIN SELECT count(*) FROM orders").fetchall()) == 1
        for statement in (
            "DROP TABLE events",
            "CREATE VIEW w AS SELECT 1 AS one",
            f"CREATE MATERIALIZED VIEW late AS {VIEWS['plain']}",
        ):
            with pytest.raises(ivm.BindError, match="while this thread creates a view"):
                db.sql(statement)

    db.sql(f"CREATE MATERIALIZED VIEW late AS {VIEWS['joined']}", progress=progress)
    assert {now.view for now in seen} == {"late"}
    assert [now.rows for now in seen] == sorted(now.rows for now in seen)
    assert seen[-1].rows > 0
    assert all(now.rows <= now.expected for now in seen)
    db.verify(["late"])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, sum(v) AS s FROM w GROUP BY id",
        "SELECT w.id, w.v + u.v AS s FROM w JOIN u ON w.k = u.k",
        "SELECT k, sum(s) AS s FROM (SELECT k, id, sum(v) AS s FROM w GROUP BY k, id) GROUP BY k",
    ],
)
def test_what_commits_do_to_the_new_view_fails_its_installation_alone(query: str) -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE w (id BIGINT, k BIGINT, v BIGINT); CREATE TABLE u (k BIGINT, v BIGINT)")
    db.sql("CREATE MATERIALIZED VIEW fine AS SELECT w.id, u.v FROM w JOIN u ON w.k = u.k")
    db.sql("INSERT INTO w SELECT range, range % 3, range FROM range(30); INSERT INTO u VALUES (0, 1), (1, 2), (2, 3)")
    huge = (1 << 63) - 1
    before = _state(db)
    done: list[int] = []

    def commit(number: int) -> None:
        if number == 2:
            db.apply({"w": [{"id": 1, "k": 1, "v": huge}, {"id": 1, "k": 1, "v": huge}]})
        if number == 3:
            db.apply({"w": [{"id": 2, "k": 1, "v": 5}]})
        done.append(number)

    cast = query.replace("sum(v)", "(sum(v)::BIGINT)")
    with pytest.raises(ivm.NumericError, match="cannot create view late"):
        db.sql(f"CREATE MATERIALIZED VIEW late AS {cast}", progress=_during(commit))
    assert 2 in done
    assert _state(db) == before
    assert db.sql(f"SELECT count(*) FROM w WHERE v = {huge}").fetchall() == [(2,)]
    db.verify()
    db.sql(f"DELETE FROM w WHERE v = {huge}")
    db.sql(f"CREATE MATERIALIZED VIEW late AS {cast}")
    db.verify()


def test_a_commit_that_fails_meanwhile_leaves_no_trace_in_the_new_view() -> None:
    db, stream = _database("three_way", 3, beside=False)
    db.sql("CREATE MATERIALIZED VIEW guard AS SELECT id, 1 // (quantity + 100) AS q FROM orders")

    def commit(number: int) -> None:
        row = db.sql("SELECT * FROM orders LIMIT 1").arrow()
        with pytest.raises(ivm.ConstraintError):
            db.apply({"orders": row, "events": [{"customer": 1, "kind": "a", "size": 1, "at": None}]})
        with pytest.raises(ivm.NumericError), db.transaction() as tx:
            broken = row.to_pylist()[0] | {"id": 1000 + number, "quantity": -100}
            tx.insert("orders", pa.Table.from_pylist([broken], schema=row.schema))
        if number % 3 == 0:
            stream.commit()

    db.sql(f"CREATE MATERIALIZED VIEW late AS {VIEWS['three_way']}", progress=_during(commit))
    db.verify()


def test_another_thread_commits_all_the_time() -> None:
    db, stream = _database("", 7, beside=True)
    stop = threading.Event()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            while not stop.is_set():
                stream.commit()
        except BaseException as error:  # noqa: BLE001  shown by the test
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for name, query in VIEWS.items():
            db.sql(f"CREATE MATERIALIZED VIEW late_{name} AS {query}")
    finally:
        stop.set()
        thread.join()
    assert not failures
    db.verify()


def test_two_threads_install_one_after_the_other() -> None:
    db, stream = _database("", 8, beside=False)
    failures: list[BaseException] = []

    def install(names: list[str]) -> None:
        try:
            for name in names:
                db.sql(f"CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]}")
                db.sql(f"DROP VIEW {name}; CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]}")
        except BaseException as error:  # noqa: BLE001  shown by the test
            failures.append(error)

    names = [name for name in VIEWS if name not in NEEDED]
    threads = [threading.Thread(target=install, args=(part,)) for part in (names[::2], names[1::2])]
    for thread in threads:
        thread.start()
    for _ in range(20):
        stream.commit()
    for thread in threads:
        thread.join()
    assert not failures
    db.verify()
    for name in reversed(names):
        db.sql(f"DROP VIEW {name}")
    assert engine_of(core_of(db)).renderer.graph.nodes == []
