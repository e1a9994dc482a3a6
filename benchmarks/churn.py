"""Whether memory stays bounded: endlessly new texts, keys and lists in a bounded number of rows, under views of every
kind, some of which come and go. `make churn MINUTES=60`.

At the end the process is to have no more than 1.2 times the memory of a fresh one that loads the rows that are left.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from time import monotonic, perf_counter

import pyarrow.parquet as pq

import ivm
from ivm.benchmarks.long_run import fresh_process, memory, options
from ivm.session.core import engine_of
from ivm.session.database import core_of

MOST = 1.2
TABLES = (
    "CREATE TABLE t (id BIGINT PRIMARY KEY, s VARCHAR NOT NULL, u VARCHAR, g BIGINT, x DOUBLE)",
    "CREATE TABLE d (u VARCHAR PRIMARY KEY, label VARCHAR)",
)
VIEWS = {
    "log": "SELECT id, s FROM t WHERE g > 20",
    "computed": "SELECT id, upper(s) || '/' || coalesce(u, 'none') AS y FROM t",
    "by_memo": "SELECT regexp_replace(s, '[0-9]+', '#') AS y, count(*) AS n FROM t GROUP BY 1",
    "conditions": "SELECT id FROM t WHERE s LIKE '%1%' AND u IN ('key 1', 'key 2') OR u < 'key 3'",
    "joined": "SELECT t.id, d.label FROM t JOIN d ON t.u = d.u",
    "outer_joined": "SELECT t.id, t.s, d.label FROM t LEFT JOIN d ON t.u = d.u",
    "groups": "SELECT s, count(*) AS n, sum(g) AS m FROM t GROUP BY s",
    "sums": "SELECT u, count(*) AS n, sum(x) AS m, avg(x) AS a FROM t GROUP BY u",
    "distinct_rows": "SELECT DISTINCT u, s FROM t",
    "excepted": "SELECT u FROM t EXCEPT SELECT u FROM d",
    "extremes": "SELECT g, min(s) AS low, max(u) AS high FROM t GROUP BY g",
    "arguments": "SELECT u, arg_min(s, id) AS a, arg_max(s, id) AS z FROM t GROUP BY u",
    "texts": "SELECT g, string_agg(s, ', ' ORDER BY id) AS y FROM t GROUP BY g",
    "lists": "SELECT g, list(s ORDER BY id) AS y FROM t GROUP BY g",
    "first_rows": "SELECT s, u FROM t ORDER BY s DESC LIMIT 20",
    "windows": "SELECT id, lag(s) OVER (PARTITION BY g ORDER BY id) AS y FROM t",
    "bound": "SELECT id FROM t WHERE s >= (SELECT max(label) FROM d)",
}
_COMING = ("by_memo", "lists", "windows", "extremes", "joined", "distinct_rows")
"""Views that are dropped and created again while the rows change, under literals that were never there."""


def connected() -> ivm.Database:
    """An empty database with the tables."""
    db = ivm.connect(compile="off")
    for text in TABLES:
        db.sql(text)
    return db


def create(db: ivm.Database, name: str, text: str) -> None:
    """Create a view."""
    db.sql(f"CREATE MATERIALIZED VIEW {name} AS {text}")


def churn(db: ivm.Database, rows: int, seconds: float, chance: random.Random) -> Iterator[str]:
    """Change rows until the time is over; yields what to print."""
    numbers, begun, told, commits, slowest = count(), monotonic(), 0.0, 0, 0.0
    while (now := monotonic() - begun) < seconds:
        fresh = [next(numbers) for _ in range(chance.choice([1, 10, 200]))]
        changed = [{"id": chance.randrange(rows), "s": f"text number {n} of many, as long as texts are", "g": n % 50,
                    "u": f"key {n % 7 if n % 3 else n}", "x": n / 8} for n in fresh]  # fmt: skip
        started = perf_counter()
        with db.transaction() as tx:
            tx.upsert("t", changed)
            if commits % 3 == 0:
                n = fresh[0]
                tx.upsert("d", [{"u": f"key {chance.randrange(100)}", "label": f"label {n} of a key"}])
        slowest = max(slowest, perf_counter() - started)
        commits += 1
        if commits % 400 == 0:
            name, n = chance.choice(_COMING), fresh[0]
            db.sql(f"DROP VIEW {name}")
            create(db, name, VIEWS[name])
            passing = f"SELECT id, s || 'suffix {n}' AS y FROM t WHERE s < '{n}'"
            db.sql(f"CREATE OR REPLACE MATERIALIZED VIEW passing AS {passing}")
        if now >= told:
            texts = engine_of(core_of(db)).text_bytes() / 2**20
            yield (
                f"{now:6.0f} s: {commits:7} commits, {next(numbers):9} texts, RSS {memory():5.0f} MiB, text "
                f"{texts:4.0f} MiB, slowest commit {slowest * 1e3:4.0f} ms"
            )
            told, slowest = told + seconds / 20, 0.0
            db.verify()
    db.verify()


def fresh_load(folder: Path) -> None:
    """In a process of its own: load what is left, under the same views, and print the memory that takes."""
    db = connected()
    for name in ("t", "d"):
        with db.transaction() as tx:
            tx.insert(name, pq.read_table(folder / name))
    for name, text in json.loads((folder / "views").read_text(encoding="utf-8")).items():
        create(db, name, text)
    db.verify()
    print(memory())


def main() -> int:
    """Exit code 1 if memory has grown."""
    asked = options(__doc__, 20_000)
    if asked.fresh is not None:
        fresh_load(asked.fresh)
        return 0
    db = connected()
    views = dict(VIEWS)
    for name, text in views.items():
        create(db, name, text)
    for line in churn(db, asked.rows, 60 * asked.minutes, random.Random(asked.seed)):
        print(line, flush=True)
    used = memory()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("t", "d"):
            pq.write_table(db.sql(f"SELECT * FROM {name}").arrow(), f"{folder}/{name}")
        (Path(folder) / "views").write_text(json.dumps(views), encoding="utf-8")
        (fresh,) = fresh_process("churn", folder)
    print(f"at the end {used:.0f} MiB; a fresh load of the same rows {fresh:.0f} MiB; {used / fresh:.2f} times")
    return int(used > MOST * fresh)


if __name__ == "__main__":
    sys.exit(main())
