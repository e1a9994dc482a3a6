"""Views go on from states that were saved as if nothing had happened: same rows, same changes, equal to DuckDB."""

from __future__ import annotations

import logging
import random
from decimal import Decimal
from itertools import count
from typing import Any

import pyarrow as pa
import pytest

import ivm
from tests.durable.places import PLACES, Directory, OverShards, Place
from tests.engine.test_sweeps import VIEWS
from tests.random.bags import bag_of, same
from tests.random.case import Case, written
from tests.random.names import quoted
from tests.random.search import random_case
from tests.sweeps import sweeping

TABLES = (
    "CREATE TABLE t (id BIGINT PRIMARY KEY, s VARCHAR NOT NULL, u VARCHAR, n BIGINT, d DOUBLE, m DECIMAL(20, 2))",
    "CREATE TABLE a (id BIGINT, s VARCHAR, u VARCHAR, n BIGINT) WITH (append_only = true)",
    "CREATE TABLE many (s VARCHAR, n BIGINT, d DOUBLE)",
)
MORE = {
    "sums": "SELECT n, sum(d) AS x, avg(d) AS y, stddev_samp(d) AS z, sum(m) AS w FROM t GROUP BY n",
    "whole": "SELECT count(*) AS c, sum(d) AS x, min(u) AS low FROM t",
    "quantiles": "SELECT u, median(n) AS x, quantile_disc(s, 0.25) AS y FROM t GROUP BY u",
    "sums_of_rows": """SELECT id, sum(d) OVER (PARTITION BY n ORDER BY id) AS x, avg(d) OVER (PARTITION BY u) AS y,
        rank() OVER (ORDER BY n) AS z FROM t""",
    "last_rows_of_each": "SELECT s, n FROM (SELECT *, row_number() OVER (PARTITION BY u ORDER BY n, id) AS r FROM t) WHERE r <= 2",
    "common": "SELECT s, n FROM many INTERSECT ALL SELECT s, n FROM t",
    "not_there": "SELECT s, d FROM many WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.s = many.s AND t.n > many.n)",
    "dearer": "SELECT t.id FROM t WHERE t.d > (SELECT avg(d) FROM many WHERE many.n = t.n)",
    "with_groups": """SELECT t.id, g.x FROM t JOIN (SELECT s, sum(n) AS x FROM many GROUP BY s) AS g ON g.s = t.s""",
    "above_groups": "SELECT c, count(*) AS k FROM (SELECT u, count(*) AS c FROM t GROUP BY u) GROUP BY c HAVING c > 1",
    "tied": "SELECT s, n FROM (SELECT *, rank() OVER (PARTITION BY s ORDER BY n) AS r FROM many) WHERE r <= 1",
    "dear_groups": """SELECT g.s, g.x FROM (SELECT s, n, sum(d) AS x FROM many GROUP BY s, n) AS g
        WHERE g.x > (SELECT avg(d) FROM t WHERE t.n = g.n)""",
    "dear_parts": """SELECT g.n, sum(g.x) AS x FROM (SELECT s, n, sum(d) AS x FROM many GROUP BY s, n) AS g
        WHERE g.x > (SELECT avg(d) FROM t WHERE t.n = g.n) GROUP BY g.n""",
}


class Both:
    """A database that lives on and one that is opened again and again, with the same views over the same changes."""

    def __init__(self, place: Place, caplog: pytest.LogCaptureFixture, tables: Any, views: dict[str, str]) -> None:
        self._place = place
        self._caplog = caplog
        self.living, self.restored = ivm.connect(compile="off"), place.open()
        for text in tables:
            self.living.sql(text)
            self.restored.sql(text)
        self.views = [name for name, text in views.items() if self._view(name, text)]
        self._told = self._subscribed()

    def _view(self, name: str, text: str) -> bool:
        statement = f"CREATE MATERIALIZED VIEW {quoted(name)} AS {text}"
        try:
            self.living.sql(statement)
        except ivm.Error:
            return False
        self.restored.sql(statement)
        return True

    def _subscribed(self) -> list[tuple[ivm.Subscription, ivm.Subscription]]:
        return [(self.living.subscribe(name), self.restored.subscribe(name)) for name in self.views]

    def open_again(self) -> None:
        """Restore all states."""
        with self._caplog.at_level(logging.WARNING, "ivm"):
            self.restored = self._place.open_again(self.restored)
        assert "filled anew" not in self._caplog.text
        self._told = self._subscribed()

    def apply(self, changes: dict[str, Any]) -> bool:
        """The same changes to both; whether they could be made."""
        errors = [_error(db, changes) for db in (self.living, self.restored)]
        assert (errors[0] is None) == (errors[1] is None), errors
        return errors[0] is None

    def check(self) -> None:
        """Both show the same, and told of the same changes."""
        for name, told in zip(self.views, self._told, strict=True):
            one, other = (bag_of(each.fetch()) for each in told)
            assert same(one, other), f"changes of {name}: {one - other} or {other - one}"
            one, other = (bag_of(db.view(name).arrow()) for db in (self.living, self.restored))
            assert same(one, other), f"rows of {name}: {one - other} or {other - one}"


def _error(db: ivm.Database, changes: dict[str, Any]) -> Exception | None:
    try:
        db.apply(changes)
    except ivm.NumericError as error:
        return error
    return None


def _changes(chance: random.Random, numbers: Any, there: dict[int, Any], many: list[Any]) -> dict[str, Any]:
    """Some rows that come and some that go, of which `there` and `many` keep count."""
    comes: list[dict[str, Any]] = []
    for _ in range(chance.choice((1, 2, 9))):
        row = {
            "id": next(numbers),
            "s": f"text {chance.choice([next(numbers), chance.randrange(9)])}",
            "u": chance.choice([f"u{chance.randrange(6)}", None]),
            "n": chance.randrange(4),
            "d": chance.choice([0.5, -3.25, 1e10, 1e-9, None])
            if chance.random() < 0.9
            else 2.0 ** chance.randint(-99, 99),
            "m": Decimal(f"{chance.randrange(10**9)}.25"),
        }
        comes.append(row)
    goes = [there.pop(key) for key in chance.sample(sorted(there), min(len(there), chance.randrange(9)))]
    there |= {row["id"]: row for row in comes}
    loose = [{"s": row["s"], "n": row["n"], "d": row["d"]} for row in comes[: chance.randrange(3)]]
    gone = [many.pop(chance.randrange(len(many))) for _ in range(min(len(many), chance.randrange(3)))]
    many += loose
    changes = {"t": _table("t", comes, goes), "many": _table("many", loose, gone)}
    if chance.random() < 0.5:
        changes["a"] = _table("a", comes[:1], [])
    return changes


_COLUMNS = {
    "t": {
        "id": pa.int64(),
        "s": pa.string(),
        "u": pa.string(),
        "n": pa.int64(),
        "d": pa.float64(),
        "m": pa.decimal128(20, 2),
    },
    "a": {"id": pa.int64(), "s": pa.string(), "u": pa.string(), "n": pa.int64()},
    "many": {"s": pa.string(), "n": pa.int64(), "d": pa.float64()},
}


def _table(name: str, comes: list[Any], goes: list[Any]) -> pa.Table:
    rows = [*goes, *comes]
    columns = {column: pa.array([row[column] for row in rows], type_) for column, type_ in _COLUMNS[name].items()}
    return pa.table(columns | {"_diff": pa.array([-1] * len(goes) + [1] * len(comes), pa.int64())})


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Place:
    made: Place = request.param()
    return made


@pytest.mark.parametrize(("kind", "how"), [(Directory, "fast"), (Directory, "slow"), (OverShards, "slow")])
def test_views_of_every_kind(kind: type[Place], how: str, caplog: pytest.LogCaptureFixture) -> None:
    chance, numbers = random.Random(3), count(100)
    there: dict[int, Any] = {}
    many: list[Any] = []
    with sweeping(how):
        both = Both(kind(), caplog, TABLES, VIEWS | MORE)
        assert len(both.views) == len(VIEWS | MORE)
        for step in range(24):
            assert both.apply(_changes(chance, numbers, there, many))
            both.check()
            if step % 4 == 3:
                both.open_again()
                both.check()
        both.restored.verify()


@pytest.mark.parametrize(("kind", "share"), [*((Directory, share) for share in range(3)), (OverShards, 0)])
def test_random_views(kind: type[Place], share: int, caplog: pytest.LogCaptureFixture) -> None:
    for seed in range(2_000 + share, 2_009, 3):
        case = random_case(seed)
        both = Both(kind(), caplog, [table.ddl() for table in case.tables], dict(case.views))
        try:
            _run(both, case)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}\n{written(case)}") from error


def _run(both: Both, case: Case) -> None:
    for batch in case.batches:
        both.open_again()
        at = both.living.time + 1
        changes = {}
        for table in case.tables:
            of = [
                (row, at + time, diff)
                for time, each in enumerate(batch)
                for name, row, diff in each
                if name == table.name
            ]
            if of:
                data = table.arrow([row for row, _, _ in of])
                data = data.append_column("_time", pa.array([time for _, time, _ in of], pa.int64()))
                changes[table.name] = data.append_column("_diff", pa.array([diff for *_, diff in of], pa.int64()))
        if not both.apply(changes):
            return
        both.check()


def test_groups_by_texts_that_have_other_codes_are_found(place: Place) -> None:
    """What was looked up of a run is in the index; codes that rise no more with the slots must not be taken for new."""
    with place.open() as db:
        db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, k VARCHAR)")
        db.sql("CREATE MATERIALIZED VIEW falling AS SELECT k, id FROM t ORDER BY k DESC, id LIMIT 5")
        db.sql("CREATE MATERIALIZED VIEW counts AS SELECT k, count(*) AS n FROM t GROUP BY k")
        for text in ("(1, 'b'), (2, 'c')", "(3, 'b')", "(4, 'c')", "(5, 'b')"):
            db.sql(f"INSERT INTO t VALUES {text}")
        db.sql("DELETE FROM t WHERE id IN (1, 3)")
    with place.open() as db:
        db.sql("INSERT INTO t VALUES (6, 'b')")
        assert db.sql("SELECT k, n FROM counts ORDER BY k").fetchall() == [("b", 2), ("c", 2)]


@pytest.mark.parametrize("history", [0, 100])
def test_a_view_whose_table_a_transaction_has_made_anew_has_its_rows_once(place, history):
    db = place.open(history)
    db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT x FROM t; CREATE MATERIALIZED VIEW w AS SELECT count(*) AS n FROM v")
    db.sql("INSERT INTO t VALUES (1, 5), (2, 6)")
    db = place.open_again(db, history)
    db.sql("BEGIN; INSERT INTO t VALUES (3, 7); CREATE UNIQUE INDEX once ON t (x); COMMIT")
    found = place.left().open(history)
    assert sorted(found.view("v").fetchall()) == [(5,), (6,), (7,)]
    assert found.view("w").fetchall() == [(3,)]
    assert found.view("v").changes(db.time).num_rows == 0
