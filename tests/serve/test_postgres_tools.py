"""What tools of Postgres's ask of what there is: psql's commands, and SQLAlchemy as it is."""

from __future__ import annotations

import datetime
import shutil
import subprocess
from decimal import Decimal

import pytest
import sqlalchemy as sa

COMMANDS = {
    r"\d": ["main|dear|materialized view|ada", "main|item|table|ada", "main|one|view|ada", "main|sale|table|ada"],
    r"\dt eu.*": ["eu|stock|table|ada"],
    r"\dn": ["eu|ada", "main|ada"],
    r"\dm": ["main|dear|materialized view|ada"],
    r"\di": ["main|item_name_key|index|ada|item", "main|item_pkey|index|ada|item"],
    "\\t off\n\\d item\n\\t on": ['Table "main.item"', "Column|Type|Collation|Nullable|Default", "id|bigint||not null|", "name|text||not null|'new'", "price|numeric(9,2)|||", "Indexes:",
                 '    "item_pkey" PRIMARY KEY, btree (id)', '    "item_name_key" UNIQUE CONSTRAINT, btree (name)',
                 "Referenced by:",
                 '    TABLE "sale" CONSTRAINT "sale_item_fkey" FOREIGN KEY (item) REFERENCES item(id)'],
    r"\d eu.stock": ["k|integer|||"],
    r"\d item_pkey": ["id|bigint|yes|id"],
    r"\dd": None, r"\dp": None, r"\df": None, r"\db": None, r"\dx": None, r"\dT": None, r"\dC": None, r"\do": None, r"\dO": None, r"\dc": None, r"\ddp": None,
    r"\dRp": None, r"\dRs": None, r"\dew": None, r"\dL": None, r"\dX": None, r"\drds": None, r"\dy": None, r"\dg": None, r"\ds": None,
    r"\l": ["memory|ada|UTF8|C|C||libc|"],
    r"\d+ dear": None,
    r"\dt+": ["main|item|table|ada|permanent|heap|0 bytes|what is sold", "main|sale|table|ada|permanent|heap|0 bytes|"],
    r"\sv one": ["CREATE OR REPLACE VIEW main.one AS", "SELECT 1 AS n"],
    "SELECT id, price FROM item ORDER BY id;": ["1|2.50", "2|"],
    "SELECT version();": ["PostgreSQL 16.0 (ivm)"],
    "SELECT current_schema(), current_database(), current_setting('DateStyle'), 'item'::regclass::oid > 0;": [
        "main|memory|ISO, MDY|t"],
    "SELECT relkind, reltuples FROM pg_class WHERE oid = 'item'::regclass;": ["r|2"],
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'eu';": ["stock"],
}  # fmt: skip
"""What psql is told, and the lines that it prints; None where these are of no matter, but no error is."""


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed; apt-get install postgresql-client")
def test_psql(server):
    script = "\n".join(f"\\echo === {n}\n{command}" for n, command in enumerate(COMMANDS))
    ran = subprocess.run(
        ["psql", "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", str(server.port), "-U", "ada", "-d", "memory"],
        input=script, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert not ran.stderr
    answers = [part.partition("\n")[2].rstrip("\n").split("\n") for part in ran.stdout.split("=== ")[1:]]
    for (command, lines), answer in zip(COMMANDS.items(), answers, strict=True):
        assert lines is None or answer == lines, command


QUERIES = {
    """SELECT n.nspname, c.relname, d.description FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c LEFT JOIN
        pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass)
        WHERE c.relnamespace = n.oid AND c.relkind = 'r' AND n.nspname !~ '^pg_' ORDER BY 1, 2""": [
        ("eu", "stock", None),
        ("main", "item", "what is sold"),
        ("main", "sale", None),
    ],
    """SELECT r.col, r.seq, r.pk FROM (SELECT a.attname AS col, (information_schema._pg_expandarray(i.indkey)).n AS seq,
        ci.relname AS pk, information_schema._pg_expandarray(i.indkey) AS keys, a.attnum FROM pg_catalog.pg_class ct JOIN
        pg_catalog.pg_attribute a ON (ct.oid = a.attrelid) JOIN pg_catalog.pg_index i ON (a.attrelid = i.indrelid)
        JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid) WHERE ct.relname = 'item' AND i.indisprimary) r
        WHERE r.attnum = (r.keys).x""": [("id", 1, "item_pkey")],
    """SELECT typinput = 'pg_catalog.array_in'::regproc, typname FROM pg_catalog.pg_type LEFT JOIN (SELECT ns.oid AS nspoid,
        ns.nspname, r.r FROM pg_namespace AS ns JOIN (SELECT s.r, (current_schemas(false))[s.r] AS nspname FROM
        generate_series(1, array_upper(current_schemas(false), 1)) AS s(r)) AS r USING (nspname)) AS sp ON
        sp.nspoid = typnamespace WHERE typname = 'int4' ORDER BY sp.r, pg_type.oid DESC""": [(False, "int4")],
    """SELECT quote_ident(table_name) FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN
        ('information_schema', 'eu') AND table_type = 'BASE TABLE' ORDER BY 1""": [("item",), ("sale",)],
    "SELECT tablename, 'table' FROM pg_tables WHERE schemaname ILIKE 'eu'": [("stock", "table")],
    "SELECT db.oid > 0, db.datname FROM pg_catalog.pg_database db WHERE datallowconn": [(True, "memory")],
    """SELECT DISTINCT view.relname, of.relname FROM pg_class view JOIN pg_depend own ON own.refobjid = view.oid AND own.classid =
        'pg_rewrite'::regclass AND own.deptype = 'i' JOIN pg_depend d ON d.objid = own.objid AND d.refobjid <> own.refobjid
        JOIN pg_class of ON of.oid = d.refobjid WHERE of.relname NOT LIKE 'pg\\_%'""": [("dear", "item")],
    "SELECT string_agg(word, ',') FROM pg_catalog.pg_get_keywords() WHERE word <> ALL ('{a,\"b\"}'::text[]) AND word = 'cast'": [
        ("cast",)
    ],
    "SELECT i.indkey[0], i.indoption[0] FROM pg_index i WHERE indisprimary": [(1, 0)],
    'SELECT schema_name FROM "memory".INFORMATION_SCHEMA.schemata ORDER BY 1': [
        ("eu",),
        ("information_schema",),
        ("main",),
        ("pg_catalog",),
    ],
    "SELECT conindid = 'item_pkey'::regclass FROM pg_constraint WHERE contype = 'f'": [(True,)],
    """SELECT CASE WHEN quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM
        generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1), array_upper(string_to_array(
        current_setting('search_path'), ','), 1)) AS i, string_to_array(current_setting('search_path'), ',') s) THEN
        quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END FROM
        information_schema.tables WHERE table_type = 'BASE TABLE' ORDER BY 1""": [("eu.stock",), ("item",), ("sale",)],
    """SELECT c.column_name, pk.column_name IS NOT NULL FROM information_schema.columns c LEFT JOIN (SELECT tc.table_name,
        kc.column_name FROM information_schema.table_constraints tc JOIN information_schema.key_column_usage kc ON
        tc.constraint_name = kc.constraint_name AND tc.table_name = kc.table_name WHERE tc.constraint_type = 'PRIMARY KEY') pk
        ON c.table_name = pk.table_name AND c.column_name = pk.column_name, pg_class WHERE relname = 'one' ORDER BY 1""": [
        ("at", False),
        ("id", False),
        ("id", True),
        ("item", False),
        ("k", False),
        ("n", False),
        ("name", False),
        ("name", False),
        ("price", False),
    ],
    "SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'": [],
}
"""What JDBC's driver, Grafana, Metabase, DBeaver and dbt ask, shortened, and what they are told."""


def test_other_tools(server):
    with server.connect() as client:
        for text, rows in QUERIES.items():
            assert client.execute(text).fetchall() == rows, text


def test_sqlalchemy(server):
    engine = sa.create_engine(f"postgresql+psycopg://ada@127.0.0.1:{server.port}/memory")
    there = sa.inspect(engine)
    assert (there.get_schema_names(), there.get_table_names("eu")) == (["eu", "information_schema", "main"], ["stock"])
    assert (sorted(there.get_table_names()), there.get_view_names()) == (["item", "sale"], ["one"])
    assert there.get_materialized_view_names() == ["dear"]
    columns = [(each["name"], str(each["type"]), each["nullable"]) for each in there.get_columns("item")]
    assert columns == [("id", "BIGINT", False), ("name", "TEXT", False), ("price", "NUMERIC(9, 2)", True)]
    assert there.get_pk_constraint("item")["constrained_columns"] == ["id"]
    assert there.get_unique_constraints("item")[0]["column_names"] == ["name"]
    assert there.get_foreign_keys("sale")[0]["referred_table"] == "item"
    assert there.get_check_constraints("stock", "eu")[0]["sqltext"] == '"k" > 0'
    assert there.get_table_comment("item") == {"text": "what is sold"}
    assert there.get_view_definition("one").strip(" ;") == "SELECT 1 AS n"
    known = sa.MetaData()
    known.reflect(engine, views=True)
    item, dear = known.tables["item"], known.tables["dear"]
    made = sa.Table("made", known, sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
                    sa.Column("day", sa.Date), sa.Column("told", sa.JSON))  # fmt: skip
    made.create(engine)
    with engine.begin() as client:
        client.execute(
            sa.insert(item), [{"id": 3, "name": "pad", "price": Decimal(9)}, {"id": 4, "name": "x", "price": None}]
        )
        client.execute(made.insert().values(id=1, day=datetime.date(2024, 2, 29), told={"a": [1]}))
        client.execute(sa.update(item).where(item.c.id == 4).values(price=Decimal("0.5")))
    with engine.connect() as client:
        assert client.execute(sa.select(dear.c.name).order_by(dear.c.id)).scalars().all() == ["ink", "pad"]
        assert client.execute(sa.select(made)).all() == [(1, datetime.date(2024, 2, 29), {"a": [1]})]
        client.execute(sa.delete(item))
        client.rollback()
        assert client.execute(sa.select(sa.func.count()).select_from(item)).scalar() == 4
    with engine.begin() as client:
        client.execute(sa.delete(item).where(item.c.id.in_([3, 4])))
    made.drop(engine)
    engine.dispose()
