"""Tools that make tables and views of others by Postgres's door: dbt and ibis, each where it is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from decimal import Decimal

import pytest

from tests.serve.postgres import served

PROJECT = {
    "dbt_project.yml": """
        name: shop
        version: "1.0"
        profile: shop
        flags: {send_anonymous_usage_stats: false}
        models: {shop: {+materialized: view, +persist_docs: {relation: true, columns: true}}}
        seeds: {shop: {+column_types: {price: "numeric(9,2)"}}}
    """,
    "profiles.yml": """
        shop:
          target: dev
          outputs:
            dev: {type: postgres, host: 127.0.0.1, port: PORT, user: ada, password: x, dbname: memory, schema: dbt, threads: 4}
    """,
    "seeds/raw_sale.csv": """
        id,city,price,day
        1,Bern,2.50,2024-02-29
        2,Oslo,4.00,2024-03-01
        3,Bern,1.00,2024-03-02
    """,
    "models/sale.sql": 'select id, city, price, day from {{ ref("raw_sale") }}',
    "models/dear.sql": """
        {{ config(materialized="table", indexes=[{"columns": ["id"], "unique": True}]) }}
        select * from {{ ref("sale") }} where price > 1
    """,
    "models/revenue.sql": """
        {{ config(materialized="materialized_view") }}
        select city, sum(price) as total from {{ ref("raw_sale") }} group by city
    """,
    "models/seen.sql": """
        {{ config(materialized="incremental", unique_key="id") }}
        select id, city from {{ ref("raw_sale") }}
        {% if is_incremental() %} where id > (select max(id) from {{ this }}) {% endif %}
    """,
    "models/merged.sql": """
        {{ config(materialized="incremental", incremental_strategy="merge", unique_key="id") }}
        select id, city, price from {{ ref("raw_sale") }}
    """,
    "models/schema.yml": """
        version: 2
        models:
          - name: sale
            description: what was sold
            columns:
              - {name: id, description: its number, data_tests: [unique, not_null]}
              - name: city
                data_tests: [{accepted_values: {values: [Bern, Oslo]}}]
    """,
    "snapshots/past.sql": """
        {% snapshot past %}
        {{ config(target_schema="dbt", unique_key="id", strategy="check", check_cols=["city", "price"]) }}
        select * from {{ ref("raw_sale") }}
        {% endsnapshot %}
    """,
}
RUNS = (["build"], ["build"], ["build", "--full-refresh"], ["docs", "generate"])


def _run(dbt, folder, *words):
    ran = subprocess.run(
        [dbt, "--no-use-colors", "--no-partial-parse", *words, "--profiles-dir", str(folder), "--project-dir", str(folder)],
        capture_output=True, text=True, timeout=200, check=False, env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout


@pytest.mark.slow
def test_dbt(tmp_path):
    dbt = shutil.which("dbt")
    if dbt is None:
        pytest.skip("dbt is not installed; pip install 'dbt-core<1.11' dbt-postgres, in an environment of its own")
    with served(text="") as server:
        for name, text in PROJECT.items():
            file = tmp_path / name
            file.parent.mkdir(exist_ok=True)
            lines = text.replace("PORT", str(server.port)).strip("\n").split("\n")
            indent = len(lines[0]) - len(lines[0].lstrip())
            file.write_text("\n".join(line[indent:] for line in lines))
        for words in RUNS:
            _run(dbt, tmp_path, *words)
        catalog = json.loads((tmp_path / "target" / "catalog.json").read_text())["nodes"]
        kinds = {name.rpartition(".")[2]: node["metadata"]["type"] for name, node in catalog.items()}
        assert kinds == {"sale": "VIEW", "dear": "BASE TABLE", "revenue": "MATERIALIZED VIEW", "seen": "BASE TABLE",
                         "merged": "BASE TABLE", "past": "BASE TABLE", "raw_sale": "BASE TABLE"}  # fmt: skip
        assert catalog["model.shop.sale"]["metadata"]["comment"] == "what was sold"
        assert catalog["model.shop.sale"]["columns"]["id"]["comment"] == "its number"
        server.db.sql("INSERT INTO dbt.raw_sale VALUES (4, 'Oslo', 1, '2024-03-03')")
        rows = server.db.sql("SELECT * FROM dbt.revenue ORDER BY city").fetchall()
        assert rows == [("Bern", Decimal("3.50")), ("Oslo", Decimal("5.00"))]
        for table, count in {"seen": 3, "merged": 3, "past": 3, "dear": 2, "sale": 4}.items():
            assert server.db.sql(f"SELECT count(*) FROM dbt.{table}").fetchall() == [(count,)], table


@pytest.mark.filterwarnings("ignore")  # of what ibis does
def test_ibis():
    ibis = pytest.importorskip("ibis", reason="ibis is not installed; pip install 'ibis-framework[postgres]'")
    text = """
        CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR, price DECIMAL(9,2), day DATE);
        INSERT INTO sale VALUES (1, 'Bern', 2.5, '2024-01-01'), (2, 'Oslo', 4, NULL);
        CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city
    """
    with served(text=text) as server:
        there = ibis.postgres.connect(host="127.0.0.1", port=server.port, user="ada", database="memory")
        assert there.list_tables() == ["revenue", "sale"]
        assert sorted(set(there.list_databases())) == ["information_schema", "main", "pg_catalog"]
        sale = there.table("sale")
        assert sale.schema() == ibis.schema({"id": "!int64", "city": "string", "price": "decimal(9, 2)", "day": "date"})
        assert sale.filter(sale.price > 3).city.to_pyarrow().to_pylist() == ["Oslo"]
        sums = sale.group_by("city").agg(total=sale.price.sum()).order_by("city").to_pyarrow().to_pylist()
        assert sums == there.table("revenue").order_by("city").to_pyarrow().to_pylist()
        met = sale.join(ibis.memtable({"city": ["Bern"], "k": [7]}), "city").to_pyarrow().to_pylist()
        assert [row["k"] for row in met] == [7]
        asked = there.sql("SELECT id, city FROM sale")
        assert asked.filter(asked.id > 1).city.to_pyarrow().to_pylist() == ["Oslo"]
        there.create_table("made", sale.select("id", "city"))
        there.create_view("later", sale.filter(sale.id > 1))
        assert (there.table("made").count().execute(), there.table("later").count().execute()) == (2, 1)
        there.disconnect()
