"""Windows in SQL, against DuckDB, through inserts, updates, deletes, many times in a batch, and failed commits."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ivm
from tests.engine.world import Step, Tables, apply_step, batch, connect

RELAXED = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))

VIEWS = {
    "numbered": """SELECT id, customer, row_number() OVER (PARTITION BY customer ORDER BY day, total DESC) AS n,
        rank() OVER (PARTITION BY customer ORDER BY day) AS r, dense_rank() OVER (ORDER BY day DESC) AS dr FROM orders""",
    "newest": "SELECT * FROM orders QUALIFY row_number() OVER (PARTITION BY customer ORDER BY day DESC) = 1",
    "first_two": """SELECT customer, id, rn FROM (SELECT *, row_number() OVER w AS rn, sum(quantity) OVER (w ROWS
        UNBOUNDED PRECEDING) AS s FROM orders WINDOW w AS (PARTITION BY customer ORDER BY total DESC NULLS LAST, id))
        WHERE rn < 3""",
    "best_rank": "SELECT id, total FROM orders QUALIFY rank() OVER (ORDER BY total DESC NULLS LAST) <= 2",
    "shifted": """SELECT id, lag(total) OVER w AS before, lead(day, 2) OVER w AS after,
        lag(quantity, 1, -1) OVER (PARTITION BY customer ORDER BY id) AS q, lag(customer, -1) OVER w AS c,
        total - lag(total) OVER w AS change FROM orders WINDOW w AS (ORDER BY id)""",
    "skipped": """SELECT id, lag(total IGNORE NULLS) OVER w AS t, lead(urgent, 2 IGNORE NULLS) OVER w AS u,
        first_value(quantity IGNORE NULLS) OVER w AS f, last_value(customer IGNORE NULLS) OVER w AS l
        FROM orders WINDOW w AS (ORDER BY day, id)""",
    "running": """SELECT id, day, sum(total) OVER (PARTITION BY customer ORDER BY day) AS so_far, count(*) OVER w AS n,
        avg(quantity) OVER w AS mean, min(total) OVER w AS least, max(day) OVER w AS last_day
        FROM orders WINDOW w AS (PARTITION BY customer ORDER BY day, id ROWS UNBOUNDED PRECEDING)""",
    "sliding": """SELECT id, sum(quantity) OVER w AS s, count(total) OVER w AS n, min(total) OVER w AS low,
        max(total) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) AS high,
        avg(total) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS mean
        FROM orders WINDOW w AS (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)""",
    "shares": """SELECT id, total, sum(total) OVER (PARTITION BY customer) AS whole, count(*) OVER () AS n,
        max(total) OVER (PARTITION BY urgent) AS top FROM orders""",
    "texts": """SELECT customer, kind, min(kind) OVER (PARTITION BY customer ORDER BY "at") AS low,
        max(kind) OVER (PARTITION BY customer) AS high, first_value(kind) OVER (PARTITION BY customer ORDER BY "at") AS f,
        last_value(kind) OVER (PARTITION BY customer ORDER BY "at") AS l, lead(kind, 1, 'none') OVER (ORDER BY kind) AS k
        FROM events""",
    "ends": """SELECT id, first_value(total) OVER w AS f, last_value(total) OVER w AS l, nth_value(id, 2) OVER w AS s,
        last_value(id) OVER (PARTITION BY urgent) AS whole FROM orders
        WINDOW w AS (ORDER BY day, id ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING)""",
    "reread": """SELECT id, ntile(3) OVER (ORDER BY total) AS t, percent_rank() OVER (ORDER BY day) AS p,
        cume_dist() OVER (PARTITION BY urgent ORDER BY day) AS c FROM orders""",
    "over_groups": """SELECT customer, sum(total) AS spent, rank() OVER (ORDER BY sum(total) DESC NULLS LAST) AS r,
        row_number() OVER (ORDER BY count(*)) AS n, sum(sum(total)) OVER () AS whole, count(*) OVER () AS groups
        FROM orders GROUP BY customer HAVING count(*) > 0""",
    "many": """SELECT c.name, o.id, row_number() OVER (PARTITION BY c.city ORDER BY o.day, o.id) AS n,
        sum(o.total) FILTER (WHERE o.urgent) OVER (PARTITION BY c.id ORDER BY o.id ROWS UNBOUNDED PRECEDING) AS s,
        CASE WHEN lag(o.id) OVER (ORDER BY o.id) IS NULL THEN 'first' ELSE 'other' END AS place
        FROM orders o JOIN customers c ON c.id = o.customer""",
    "doubles": """SELECT id, sum(balance::DOUBLE) OVER (ORDER BY id) AS s, avg(balance::DOUBLE) OVER (PARTITION BY city) AS a,
        stddev(balance::DOUBLE) OVER (ORDER BY id ROWS 2 PRECEDING) AS d FROM customers""",
    "computed": """SELECT id, day, row_number() OVER (PARTITION BY extract(month FROM day), quantity > 2 ORDER BY -id) AS n
        FROM orders WHERE total IS NOT NULL QUALIFY n <= 2 ORDER BY day, n LIMIT 5""",
    "by_value": """SELECT id, sum(quantity) OVER (PARTITION BY customer ORDER BY day RANGE BETWEEN INTERVAL 1 DAY PRECEDING
        AND CURRENT ROW) AS s, min(total) OVER (ORDER BY total DESC RANGE BETWEEN 1 PRECEDING AND 0.5 FOLLOWING) AS low,
        count(*) OVER (ORDER BY quantity RANGE BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) AS n FROM orders""",
    "by_groups": """SELECT id, sum(quantity) OVER (ORDER BY day GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s,
        first_value(id) OVER (PARTITION BY urgent ORDER BY total GROUPS 1 PRECEDING) AS f,
        max(total) OVER (ORDER BY customer GROUPS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS top FROM orders""",
    "others": """SELECT id, avg(total) OVER (PARTITION BY customer ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        EXCLUDE CURRENT ROW) AS rest, sum(quantity) OVER (ORDER BY day RANGE UNBOUNDED PRECEDING EXCLUDE TIES) AS s,
        max(id) OVER (ORDER BY day GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE GROUP) AS m FROM orders""",
    "limits": """SELECT id, n FROM (SELECT id, urgent, row_number() OVER (PARTITION BY urgent ORDER BY day) AS n
        FROM orders) WHERE urgent AND n BETWEEN 2 AND 3""",
}


def install(db: ivm.Database) -> None:
    for name, text in VIEWS.items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {text}")


@pytest.mark.parametrize("name", VIEWS)
def test_names_and_types_are_those_of_duckdb(name: str) -> None:
    db = connect(compile="off")
    db.sql(f"CREATE MATERIALIZED VIEW v AS {VIEWS[name]}")
    theirs = db.sql(f"SELECT * FROM ({VIEWS[name]})").schema
    assert db.view("v").schema.names == theirs.names
    assert [str(t) for t in db.view("v").schema.types] == [str(t) for t in theirs.types]


@RELAXED
@given(data=st.data())
def test_views_are_right_after_every_commit(data: st.DataObject) -> None:
    db, tables = connect(compile="off"), Tables()
    install(db)
    for _ in range(data.draw(st.integers(1, 6))):
        apply_step(db, tables.draw_step(data))
        db.verify()
    before = {name: sorted(map(repr, db.view(name).fetchall())) for name in VIEWS}
    step = tables.draw_step(data)
    absent = {"id": 99, "name": "x", "city": None, "balance": 1, "score": None}
    step["customers"] = [*step["customers"], (absent, -1)]
    with pytest.raises(ivm.ConstraintError):
        apply_step(db, step)
    assert {name: sorted(map(repr, db.view(name).fetchall())) for name in VIEWS} == before
    step["customers"].pop()
    apply_step(db, step)
    db.verify()


@RELAXED
@given(data=st.data())
def test_hydrated_views_and_batches_of_many_times(data: st.DataObject) -> None:
    tables = Tables()
    steps = [tables.draw_step(data) for _ in range(4)]
    slow, fast = connect(compile="off"), connect(compile="off")
    for db in (slow, fast):
        apply_step(db, steps[0])
        install(db)
        db.verify()
    logs = [{name: db.subscribe(name) for name in VIEWS} for db in (slow, fast)]
    for step in steps[1:]:
        apply_step(slow, step)
    fast.apply({name: _merged(fast, steps[1:], name, slow.time) for name in steps[0]})
    fast.verify()
    if fast.time == slow.time:
        for name in VIEWS:
            assert _log(logs[1][name]) == _log(logs[0][name]), name


def _merged(db: ivm.Database, steps: list[Step], name: str, last: int) -> Any:
    changes = [change for step in steps for change in step[name]]
    times = [last - len(steps) + at for at, step in enumerate(steps, 1) for _ in step[name]]
    return batch(db, name, changes, times)


def _log(subscription: ivm.Subscription) -> Counter[tuple[Any, ...]]:
    log: Counter[tuple[Any, ...]] = Counter()
    for row in subscription.fetch().to_pylist():
        diff = row.pop("_diff")
        log[tuple(repr(value) for value in row.values())] += diff
    return Counter({row: diff for row, diff in log.items() if diff})
