"""The documentation's table of supported SQL once more, its aliases called by words of the grammar and by odd names."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

import ivm
from ivm.catalog.names import key
from tests.sql.test_supported import CHANGES, SUPPORTED, database

ODD = (
    "select", "at", 'a"b', "from", "a b", "Order", "ä", "over", "x'y", "all", "as", "7", "end", "GROUP", "lambda",
    "qualify", "null", "true", "values", "with", "Interval", "window", "filter", "array", "row", "if", "date", "map",
)  # fmt: skip
OWN = frozenset(("emp", "dept", "id", "name", "city", "pay", "hired"))


def renamed(text: str) -> str:
    """The query with each name that it gives itself replaced by an odd one, wherever it stands."""
    tree = sqlglot.parse_one(text, dialect="duckdb")
    given = [node.alias for node in tree.find_all(exp.Alias, exp.TableAlias, exp.CTE, exp.Table)]
    given += [column.name for node in tree.find_all(exp.TableAlias) for column in node.args.get("columns") or ()]
    names = [name for name in dict.fromkeys(map(key, given)) if name and name not in OWN]
    odd = dict(zip(names, ODD, strict=False))
    for identifier in tree.find_all(exp.Identifier):
        identifier.set("this", odd.get(key(identifier.name), identifier.name))
    return tree.sql("duckdb", identify=True)


def test_aliases_may_be_any_text() -> None:
    texts = [renamed(text) for _, text in SUPPORTED if not text.startswith("PIVOT")]  # sqlglot has no alias within IN
    assert sum('"select"' in text for text in texts) > len(texts) / 2
    db = database()
    for number, text in enumerate(texts):
        db.sql(f'CREATE MATERIALIZED VIEW "v{number}" AS {text}')
    for number, change in enumerate(CHANGES):
        db.sql(change)
        if number % 3 == 2:
            db.verify()


def test_a_view_that_reads_views_of_odd_names() -> None:
    db = ivm.connect(compile="off")
    db.sql('CREATE TABLE "order" ("select" INTEGER PRIMARY KEY, "from" VARCHAR)')
    db.sql('CREATE VIEW "where" AS SELECT "select" AS "at", "from" FROM "order" AS "order" ORDER BY 2 LIMIT 2')
    db.sql(
        'CREATE MATERIALIZED VIEW "v"" (" ("a ""b""", "on") AS SELECT max("at"), string_agg("from", \'"\') FROM "where"'
    )
    db.sql('CREATE MATERIALIZED VIEW last AS SELECT "on" || \'!\' AS "on" FROM "v"" ("')
    db.sql("INSERT INTO \"order\" VALUES (1, 'b'), (2, NULL), (3, 'a')")
    assert db.view('V" (').arrow().to_pylist() == [{'a "b"': 3, "on": 'a"b'}]
    assert db.sql('SELECT "on" FROM last').fetchall() == [('a"b!',)]
    db.verify()
