"""Windows within everything else: subqueries, LATERAL, CTEs, set operations, groups, outer joins; against DuckDB."""

from __future__ import annotations

from pathlib import Path
from random import Random

import ivm

VIEWS = [
    """WITH r AS (SELECT *, row_number() OVER (PARTITION BY c ORDER BY d DESC, id) AS n FROM o) SELECT
    a.id, b.id AS other FROM r a JOIN r b ON a.c = b.c AND a.n = b.n + 1""",
    """SELECT c.id, (SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY o.id) AS n FROM o WHERE o.c =
    c.id)) AS m FROM c""",
    "SELECT DISTINCT c, count(*) OVER (PARTITION BY c) AS n FROM o",
    """SELECT id, rank() OVER (ORDER BY x) AS r FROM o WHERE u UNION ALL SELECT id, rank() OVER (ORDER BY x
    DESC) FROM o""",
    """SELECT c.id, l.id AS oid FROM c, LATERAL (SELECT o.id, row_number() OVER (ORDER BY o.d, o.id) AS n
    FROM o WHERE o.c = c.id) l WHERE l.n <= 2""",
    "SELECT id, sum(x) OVER (PARTITION BY (SELECT city FROM c WHERE c.id = o.c) ORDER BY id) AS s FROM o",
    "SELECT id FROM o WHERE id IN (SELECT id FROM o QUALIFY dense_rank() OVER (ORDER BY x) = 1)",
    """SELECT c, sum(x) AS s, sum(x) / sum(sum(x)) OVER () AS share, row_number() OVER (ORDER BY sum(x)
    DESC NULLS LAST) AS n FROM o GROUP BY c QUALIFY n <= 2""",
    """SELECT o.id, city, count(*) OVER (PARTITION BY city ORDER BY o.id ROWS BETWEEN 1 PRECEDING AND 1
    FOLLOWING) AS n FROM o LEFT JOIN c ON c.id = o.c ORDER BY n, o.id LIMIT 7""",
    """SELECT id, x - lag(x) OVER (PARTITION BY c ORDER BY id) AS delta, lag(d, 1, DATE '2000-01-01') OVER
    (ORDER BY id) AS p FROM o""",
    """SELECT c, u, sum(x) AS s, rank() OVER (PARTITION BY grouping(c) ORDER BY sum(x) DESC NULLS LAST) AS
    r FROM o GROUP BY ROLLUP (c, u)""",
    """SELECT id, first_value(x) OVER (PARTITION BY c ORDER BY d ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING)
    AS f FROM o""",
    "SELECT id, row_number() OVER () AS n FROM o QUALIFY n % 2 = 1",
    "SELECT id FROM (SELECT id FROM o ORDER BY row_number() OVER (ORDER BY x, id) LIMIT 3)",
    """SELECT id, ntile(2) OVER (ORDER BY x) AS n, first_value(id) OVER (ORDER BY d RANGE BETWEEN CURRENT
    ROW AND UNBOUNDED FOLLOWING) AS f, last_value(id) OVER (ORDER BY d RANGE CURRENT ROW) AS l FROM o""",
]


def _change(db: ivm.Database, random: Random) -> None:
    key = random.randrange(15)
    if random.random() < 0.4:
        db.sql(f"DELETE FROM o WHERE id = {key}")
    elif (key,) in db.sql("SELECT id FROM o").fetchall():
        db.sql(f"UPDATE o SET x = {random.randrange(5)}, c = {random.randrange(4)} WHERE id = {key}")
    else:
        customer, day = random.choice(["NULL", 1, 2, 3]), random.randrange(1, 5)
        rest = f"{random.choice(['NULL', '1.5', '2', '-3'])}, {random.choice(['true', 'false', 'NULL'])}"
        db.sql(f"INSERT INTO o VALUES ({key}, {customer}, DATE '2020-01-0{day}', {rest})")


def test_windows_within_other_constructs() -> None:
    db, random = ivm.connect(compile="off"), Random(3)
    db.sql("CREATE TABLE o (id BIGINT PRIMARY KEY, c BIGINT, d DATE, x DECIMAL(9, 2), u BOOLEAN)")
    db.sql("CREATE TABLE c (id BIGINT PRIMARY KEY, city VARCHAR)")
    for number, text in enumerate(VIEWS):
        db.sql(f"CREATE MATERIALIZED VIEW v{number} AS {text}")
    for step in range(20):
        for _ in range(3):
            _change(db, random)
        gone = step % 4
        db.sql(f"DELETE FROM c WHERE id = {gone}")
        db.sql(f"INSERT INTO c VALUES ({(step + 2) % 4 if step < 2 else gone}, '{random.choice('ab')}')")
        db.verify()
    assert db.sql("SELECT view FROM ivm_views WHERE NOT incremental").fetchall() == [(f"v{len(VIEWS) - 1}",)]


def test_frames_by_value_are_read_again(tmp_path: Path) -> None:
    texts = ("RANGE BETWEEN INTERVAL 2 DAY PRECEDING AND CURRENT ROW EXCLUDE TIES", "GROUPS 1 PRECEDING")
    random = Random(5)
    with ivm.connect(tmp_path / "db", compile="off") as db:
        db.sql("CREATE TABLE o (id BIGINT PRIMARY KEY, c BIGINT, d DATE, x DECIMAL(9, 2), u BOOLEAN)")
        for number, frame in enumerate(texts):
            over = f"OVER (PARTITION BY u ORDER BY d {('', 'DESC')[number]} {frame})"
            db.sql(f"CREATE MATERIALIZED VIEW v{number} AS SELECT id, sum(x) {over} AS s, max(id) {over} AS m FROM o")
        for _ in range(15):
            _change(db, random)
        db.sql("CHECKPOINT")
        _change(db, random)
    with ivm.connect(tmp_path / "db", compile="off") as db:
        db.verify()
        for _ in range(10):
            _change(db, random)
            db.verify()
