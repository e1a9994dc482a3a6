"""ORDER BY of any expression at the end of a view: its rows come as DuckDB gives them, whatever the reader is."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb

import ivm

TABLES = """
CREATE TABLE sale (id INTEGER PRIMARY KEY, shop INTEGER, item VARCHAR, year INTEGER, price DECIMAL(9, 2), paid DOUBLE);
CREATE TABLE shop (shop INTEGER PRIMARY KEY, town VARCHAR, opened DATE);
"""
ROWS = [
    (
        i,
        i % 4 if i % 11 else None,
        f"{'aBc'[i % 3]}{i % 5}",
        2000 + i % 3,
        (i * 37) % 100,
        None if i % 7 == 0 else i / 3,
    )
    for i in range(40)
]
SHOPS = [(0, "Ulm", "2001-03-04"), (1, None, "1999-12-31"), (2, "Aue", None), (3, "ulm", "2001-03-04")]
YEARLY = """
SELECT * FROM (
    SELECT item, year, sum(price) AS sold, avg(sum(price)) OVER (PARTITION BY item) AS mean
    FROM sale GROUP BY item, year
) AS yearly WHERE sold > 20
"""
SHAPES = {
    "difference of aliases": "SELECT shop, sum(price) AS s, max(price) AS m FROM sale GROUP BY shop ORDER BY s - m",
    "difference to a mean": f"{YEARLY} ORDER BY sold - mean, 3 DESC LIMIT 7",
    "case over a grouping": """
        SELECT shop, grouping(shop) AS h, sum(price) AS s FROM sale GROUP BY ROLLUP (shop)
        ORDER BY h DESC, CASE WHEN h = 0 THEN s END DESC NULLS FIRST LIMIT 4""",
    "grouping itself": """
        SELECT shop, year, avg(paid) AS a FROM sale GROUP BY ROLLUP (shop, year)
        ORDER BY grouping(shop), grouping(shop, year) DESC, shop LIMIT 9 OFFSET 2""",
    "rank in parts of a rollup": """
        SELECT item, shop, grouping(item) + grouping(shop) AS level, sum(price) AS s,
            rank() OVER (PARTITION BY grouping(item) + grouping(shop) ORDER BY sum(price)) AS r
        FROM sale GROUP BY ROLLUP (item, shop)
        ORDER BY level DESC, CASE WHEN level = 0 THEN item END, r LIMIT 12""",
    "columns of a join that are not selected": """
        SELECT item, price FROM sale JOIN shop USING (shop) ORDER BY town NULLS FIRST, opened DESC, sale.id LIMIT 11""",
    "a column that is not selected": "SELECT price FROM sale ORDER BY id DESC LIMIT 5 OFFSET 3",
    "a time that is not selected": "SELECT item FROM sale WHERE price > 3 ORDER BY year, paid DESC NULLS FIRST",
    "an aggregate that is not selected": "SELECT item FROM sale GROUP BY item ORDER BY count(*), max(paid) - min(paid)",
    "an aggregate of nothing else": "SELECT max(price) AS m FROM sale ORDER BY min(price)",
    "having": "SELECT shop FROM sale GROUP BY shop HAVING count(*) > 3 ORDER BY sum(price) / count(*) DESC",
    "arithmetic of an alias": "SELECT item, price * 2 AS twice FROM sale ORDER BY -twice, lower(item) DESC",
    "the alias of a column": "SELECT id, -price AS price FROM sale ORDER BY price",
    "in an expression the column": "SELECT id, -price AS price FROM sale ORDER BY price + 0, item || ''",
    "the column by its table": "SELECT id, -price AS price FROM sale ORDER BY sale.price DESC",
    "in parentheses": "SELECT id, -price AS price FROM sale ORDER BY (price), (1)",
    "text in lower case": "SELECT town, opened FROM shop ORDER BY lower(town) NULLS FIRST, opened IS NULL",
    "whether there is a value": "SELECT id, paid FROM sale ORDER BY paid IS NULL DESC, round(paid) DESC",
    "double sums": "SELECT shop, sum(paid) AS s FROM sale GROUP BY shop ORDER BY s / count(*) DESC NULLS LAST",
    "huge sums": "SELECT item FROM sale GROUP BY item ORDER BY sum(id) DESC",
    "a window": "SELECT id FROM sale ORDER BY row_number() OVER (PARTITION BY shop ORDER BY price DESC, id), id % 4",
    "a subquery": "SELECT town FROM shop ORDER BY (SELECT sum(price) FROM sale WHERE sale.shop = shop.shop) DESC LIMIT 3",
    "a list of answers": "SELECT id FROM sale WHERE id < 9 ORDER BY id IN (SELECT shop FROM shop WHERE town = 'Ulm'), id",
    "distinct": "SELECT DISTINCT shop FROM sale ORDER BY shop % 3 DESC, -shop",
    "distinct with a limit": "SELECT DISTINCT shop + year AS k FROM sale ORDER BY k % 7, (shop + year) * -1 LIMIT 4",
    "distinct groups": "SELECT DISTINCT count(*) AS n, sum(id) % 2 AS m FROM sale GROUP BY item ORDER BY m * n",
    "distinct on": "SELECT DISTINCT ON (shop) shop, price FROM sale ORDER BY price + id DESC, id",
    "distinct on with a limit": "SELECT DISTINCT ON (shop % 2) id FROM sale ORDER BY price DESC, paid, id LIMIT 2",
    "qualify": """
        SELECT item, price FROM sale QUALIFY row_number() OVER (PARTITION BY item ORDER BY price, id) = 1
        ORDER BY length(item), id % 7, price DESC""",
    "union": "SELECT shop AS k FROM sale UNION ALL SELECT year FROM sale ORDER BY k % 5 DESC, -k LIMIT 9",
    "union by the name of a side": "SELECT shop AS k, 1 AS one FROM sale UNION SELECT year, id FROM sale ORDER BY year, 2",
    "union by an item of a side": "SELECT id, shop FROM sale UNION SELECT shop + 1, -id FROM sale ORDER BY shop + 1, -id",
    "union by a column of a table": "SELECT id FROM sale UNION SELECT shop FROM shop ORDER BY sale.id DESC",
    "union by position": "SELECT id, item FROM sale UNION ALL SELECT shop, town FROM shop ORDER BY 2 NULLS FIRST, 1 DESC",
    "union in parentheses": "(SELECT id FROM sale EXCEPT SELECT shop FROM shop) ORDER BY id % 3, -id LIMIT 6",
    "a query in parentheses": "((SELECT -id AS id, item FROM sale)) ORDER BY id + 0, shop LIMIT 6",
    "values": "VALUES (1, 'b'), (3, 'a'), (2, NULL) ORDER BY col0 % 2, -col0",
    "with": "WITH w AS (SELECT shop, max(price) AS m FROM sale GROUP BY shop) SELECT shop FROM w ORDER BY m * -1",
    "star": "SELECT * FROM shop ORDER BY town || shop DESC",
    "from first": "FROM shop ORDER BY shop * shop DESC",
    "no table": "SELECT 1 AS one ORDER BY one + 1",
    "a constant expression": "SELECT id FROM sale ORDER BY 1 + 1, id DESC",
}


def create(db: ivm.Database, views: list[tuple[int, str]]) -> None:
    for number, text in views:
        db.sql(f"CREATE MATERIALIZED VIEW v{number} AS {text}")
        db.sql(f"CREATE MATERIALIZED VIEW w{number} AS SELECT * FROM v{number}")


def fill(db: ivm.Database, duck: duckdb.DuckDBPyConnection) -> None:
    for table, rows in (("sale", ROWS), ("shop", SHOPS)):
        texts = (", ".join("NULL" if value is None else repr(value) for value in row) for row in rows)
        change(db, duck, f"INSERT INTO {table} VALUES {', '.join(f'({text})' for text in texts)}")


def change(db: ivm.Database, duck: duckdb.DuckDBPyConnection, text: str) -> None:
    db.sql(text)
    duck.sql(text)


def with_ties(text: str, columns: int) -> str:
    """The query with ties by all columns, as a view is read."""
    ties = ", ".join(str(i + 1) for i in range(columns))
    for word in (" LIMIT ", " OFFSET "):
        head, found, tail = text.rpartition(word)
        if found and "ORDER BY" in head and ")" not in tail:
            return f"{with_ties(head, columns)}{found}{tail}" if word == " OFFSET " else f"{head}, {ties}{found}{tail}"
    return f"{text}, {ties}"


def close(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [tuple(round(value, 6) if isinstance(value, float) else value for value in row) for row in rows]


def test_rows_come_as_from_duckdb() -> None:
    db, duck = ivm.connect(compile="off"), duckdb.connect()
    for each in (db, duck):
        each.sql(TABLES)
    views = list(enumerate(SHAPES.values()))
    create(db, views[::2])
    fill(db, duck)
    create(db, views[1::2])
    steps = [
        "UPDATE sale SET price = price + 50 WHERE id % 5 = 1",
        "DELETE FROM sale WHERE id % 6 = 2",
        "UPDATE shop SET town = 'Aal' WHERE shop = 3",
        "UPDATE sale SET shop = NULL, paid = id WHERE id % 9 = 3",
    ]
    for step in ("", *steps):
        if step:
            change(db, duck, step)
        for number, (name, text) in enumerate(SHAPES.items()):
            view = db.view(f"v{number}")
            expected = duck.sql(with_ties(text, len(view.schema)))
            assert view.schema.names == expected.columns, name
            assert close(view.fetchall()) == close(expected.fetchall()), (name, step)
            assert Counter(close(db.view(f"w{number}").fetchall())) == Counter(close(view.fetchall())), name
    db.verify()


def test_what_only_orders_is_not_seen() -> None:
    db = ivm.connect(compile="off", history=10)
    db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER, y INTEGER)")
    db.sql("INSERT INTO t VALUES (1, 7, 1), (2, 7, 2), (3, 5, 3)")
    db.sql("CREATE MATERIALIZED VIEW v (seven) AS SELECT x FROM t ORDER BY y * -1, id")
    db.sql("CREATE MATERIALIZED VIEW counted AS SELECT seven, count(*) AS n FROM v GROUP BY seven ORDER BY max(seven)")
    assert db.view("v").schema.names == db.sql("SELECT * FROM v").arrow().schema.names == ["seven"]
    assert db.view("v").fetchall() == [(5,), (7,), (7,)]
    with db.subscribe("v", snapshot=True) as sub, db.subscribe("counted") as counted:
        assert sub.fetch().to_pylist() == [
            {"seven": 7, "_time": 1, "_diff": 2},
            {"seven": 5, "_time": 1, "_diff": 1},
        ]
        db.sql("UPDATE t SET y = 9 WHERE id = 1")
        assert db.view("v").fetchall() == [(7,), (5,), (7,)]
        assert sub.fetch().num_rows == counted.fetch().num_rows == 0
        db.sql("UPDATE t SET x = 5, y = 0 WHERE id = 2")
        assert sorted(row["_diff"] for row in sub.fetch().to_pylist()) == [-1, 1]
    assert db.view("v").fetchall() == [(7,), (5,), (5,)]
    assert db.view("v").fetchall(as_of=2) == [(7,), (5,), (7,)]
    assert db.view("v").fetchall(as_of=1) == [(5,), (7,), (7,)]
    assert db.view("counted").fetchall() == [(5, 2), (7, 1)]
    db.sql(
        "CREATE VIEW registered AS SELECT x FROM t ORDER BY y; CREATE MATERIALIZED VIEW w AS SELECT * FROM registered"
    )
    assert sorted(db.view("w").fetchall()) == [(5,), (5,), (7,)]
    with db.subscribe("v") as sub:
        db.apply(
            {
                "t": [
                    {"id": 3, "x": 5, "y": 3, "_diff": -1, "_time": 4},
                    {"id": 9, "x": 5, "y": 8, "_diff": 1, "_time": 4},
                ]
            }
        )
        assert sub.fetch().num_rows == 0
    db.verify()
