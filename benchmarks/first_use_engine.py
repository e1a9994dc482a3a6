"""One measurement of `first-use`, in a process: `example TEXT`, `views`, `hydration DIRECTORY`; answers in JSON."""

from __future__ import annotations

import ast
import json
import resource
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

SCHEMA = """
CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price DECIMAL(9,2), day DATE);
CREATE TABLE city (name VARCHAR PRIMARY KEY, country VARCHAR NOT NULL);
"""
VIEWS = {
    "joined": "SELECT country, count(*) AS n, sum(price) AS total, avg(price) AS mean, max(day) AS last "
    "FROM sale, city WHERE sale.city = city.name GROUP BY country",
    "top": "SELECT id, price FROM sale ORDER BY price DESC, id LIMIT 3",
    "outer_joined": "SELECT name, id FROM city LEFT JOIN sale ON sale.city = city.name AND price > 2",
    "lagged": "SELECT id, price - lag(price) OVER (PARTITION BY city ORDER BY id) AS more FROM sale",
    "listed": "SELECT city, string_agg(CAST(id AS VARCHAR), ',' ORDER BY id) AS ids FROM sale GROUP BY city",
}
ROWS = "(1, 'Bern', 2.50, '2024-01-01'), (2, 'Oslo', 4.25, '2024-01-02'), (3, 'Bern', NULL, '2024-01-03')"


def example(text: str) -> dict[str, Any]:
    """The longest statement of an example that commits, in ms: it inserts, or it is a transaction."""
    namespace: dict[str, Any] = {}
    longest = 0.0
    for node in ast.parse(text).body:
        start = perf_counter()
        exec(compile(ast.Module([node], []), "<example>", "exec"), namespace)
        if "INSERT" in ast.unparse(node) or isinstance(node, ast.With):
            longest = max(longest, perf_counter() - start)
    return {"longest_commit_ms": longest * 1000}


def views() -> dict[str, Any]:
    """CPU seconds of importing the engine and keeping five small views, with those of the processes it started."""
    import ivm  # noqa: PLC0415  part of what is measured

    db = ivm.connect()
    db.sql(SCHEMA)
    for name, query in VIEWS.items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    db.sql("INSERT INTO city VALUES ('Bern', 'CH'), ('Oslo', 'NO'), ('Rome', 'IT')")
    db.sql(f"INSERT INTO sale VALUES {ROWS}")
    db.sql("UPDATE sale SET price = 7 WHERE id = 3")
    db.sql("DELETE FROM sale WHERE id = 2")
    for name in VIEWS:
        db.view(name).fetchall()
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {"cpu_seconds": sum(each.ru_utime + each.ru_stime for each in usage)}


def hydration(directory: str) -> dict[str, Any]:
    """Seconds of installing all 22 views of TPC-H over a stream's base."""
    import ivm  # noqa: PLC0415
    from ivm.tpch import queries  # noqa: PLC0415
    from ivm.tpch.reader import open_stream  # noqa: PLC0415
    from ivm.tpch.schema import ddl  # noqa: PLC0415

    db = ivm.connect()
    db.sql(ddl())
    db.apply(open_stream(Path(directory)).base())
    start = perf_counter()
    for name in queries.select("all"):
        db.sql(queries.view_sql(name))
    return {"seconds": perf_counter() - start}


if __name__ == "__main__":
    KINDS: dict[str, Any] = {"example": example, "views": views, "hydration": hydration}
    print(json.dumps(KINDS[sys.argv[1]](*sys.argv[2:])))
