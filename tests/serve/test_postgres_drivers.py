"""Drivers of Postgres's other than psycopg, with all that they send by themselves; each where it is installed."""

from __future__ import annotations

import asyncio
import datetime
import io
import shutil
import subprocess
import uuid
from decimal import Decimal
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.serve.postgres import served

SCHEMA = """
    CREATE SCHEMA eu;
    CREATE TABLE eu.item (
        id BIGINT PRIMARY KEY, name VARCHAR NOT NULL DEFAULT 'new', price DECIMAL(9,2), stamp TIMESTAMP, day DATE, ok BOOLEAN,
        u UUID, b BLOB, d DOUBLE, r REAL, n SMALLINT, tz TIMESTAMPTZ, t TIME, l INTEGER[], j JSON, i INTERVAL, e VARCHAR[],
        UNIQUE (name));
    CREATE TABLE eu.sale (item BIGINT REFERENCES eu.item(id), n INTEGER UNIQUE);
    CREATE MATERIALIZED VIEW eu.dear AS SELECT id, name FROM eu.item WHERE price > 2;
    CREATE VIEW eu.one AS SELECT 1 AS one
"""
ROW = (
    1, "ink", Decimal("2.50"), datetime.datetime(2024, 2, 29, 12, 0, 0, 5), datetime.date(2024, 2, 29), True, uuid.UUID(int=7),
    b"\0\1\xff", 0.1, 0.5, 3, datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC), datetime.time(1, 2, 3, 4),
    [1, None, 3], '{"a": 1}', datetime.timedelta(days=1, seconds=2), ["a", None, 'b"c'],
)  # fmt: skip
JAR = Path("/usr/share/java/postgresql.jar")


@pytest.fixture
def server():
    with served(text=SCHEMA) as found:
        yield found


def test_asyncpg(server):
    asyncpg = pytest.importorskip("asyncpg", reason="asyncpg is not installed; pip install asyncpg")

    async def run():
        client = await asyncpg.connect(host="127.0.0.1", port=server.port, user="ada", database="memory")
        marks = ", ".join(f"${n}" for n in range(1, len(ROW) + 1))
        await client.execute(f"INSERT INTO eu.item VALUES ({marks})", *ROW)
        assert tuple(await client.fetchrow("SELECT * FROM eu.item WHERE id = $1", 1)) == ROW
        rows = [(n, f"n{n}") for n in range(2, 50)]
        await client.executemany("INSERT INTO eu.item (id, name) VALUES ($1, $2)", rows)
        with pytest.raises(asyncpg.UniqueViolationError):
            await client.executemany("INSERT INTO eu.item (id, name) VALUES ($1, $2)", [(90, "x"), (2, "y")])
        assert await client.fetchval("SELECT count(*) FROM eu.item") == 49
        assert len(await client.fetch("SELECT id FROM eu.item WHERE id = ANY($1::bigint[])", [1, 2, 500])) == 2
        async with client.transaction():
            found = [row["id"] async for row in client.cursor("SELECT id FROM eu.item ORDER BY id", prefetch=10)]
            assert len(found) == 49
            cursor = await client.cursor("SELECT id FROM eu.item ORDER BY id")
            assert len(await cursor.fetch(3)) == 3
            await cursor.forward(2)
            assert (await cursor.fetchrow())["id"] == 6
        rows = [(100 + n, f"c{n}") for n in range(5)]
        await client.copy_records_to_table("item", schema_name="eu", records=rows, columns=["id", "name"])
        out = io.BytesIO()
        await client.copy_from_query("SELECT id, name FROM eu.item WHERE id >= $1::text::int", "103", output=out)
        assert out.getvalue() == b"103\tc3\n104\tc4\n"
        await client.reset()
        with pytest.raises(TimeoutError):
            await client.fetch("SELECT count(*) FROM range(100000000) a, range(1000) b", timeout=0.2)
        await client.close()
        async with asyncpg.create_pool(host="127.0.0.1", port=server.port, user="ada", min_size=2, max_size=4) as pool:
            assert await asyncio.gather(*(pool.fetchval("SELECT $1::int + 1", n) for n in range(9))) == list(
                range(1, 10)
            )

    asyncio.run(run())


def test_pg8000(server):
    native = pytest.importorskip("pg8000.native", reason="pg8000 is not installed; pip install pg8000")
    client = native.Connection("ada", host="127.0.0.1", port=server.port, database="memory")
    names = [f"v{n}" for n in range(len(ROW))]
    client.run(
        f"INSERT INTO eu.item VALUES ({', '.join(f':{n}' for n in names)})", **dict(zip(names, ROW, strict=True))
    )
    (row,) = client.run("SELECT * FROM eu.item WHERE id = :id", id=1)
    assert tuple(row) == (*ROW[:14], {"a": 1}, *ROW[15:])
    client.run("COPY eu.item (id, name) FROM STDIN", stream=io.BytesIO(b"5\tx\n6\ty\n"))
    assert client.run("SELECT id, price FROM eu.item WHERE id > 1 ORDER BY id") == [[5, None], [6, None]]
    client.close()
    engine = sa.create_engine(f"postgresql+pg8000://ada@127.0.0.1:{server.port}/memory")
    assert len(sa.inspect(engine).get_columns("item", "eu")) == len(ROW)
    engine.dispose()


def test_jdbc(server):
    java = shutil.which("java")
    if java is None or not JAR.is_file():
        pytest.skip(
            "JDBC's driver or Java is not installed; apt-get install libpostgresql-jdbc-java default-jre-headless"
        )
    program = Path(__file__).with_name("Jdbc.java")
    ran = subprocess.run(
        [java, "-XX:TieredStopAtLevel=1", "-cp", str(JAR), str(program), f"jdbc:postgresql://127.0.0.1:{server.port}/memory"],
        capture_output=True, text=True, timeout=100, check=False, env={"TZ": "Asia/Tokyo"},
    )  # fmt: skip
    assert (ran.stderr, ran.returncode) == ("", 0)
    assert ran.stdout.split("\n")[:-1] == TOLD


TOLD = [
    "tables: dear|MATERIALIZED VIEW, item|TABLE, sale|TABLE",
    "columns: item|-5|1, n|4|1",
    "primary: id|1|item_pkey",
    "imported: item|id|sale|item|item_pkey",
    "exported: item|id|sale|item|item_pkey",
    "indexes: item_name_key|name|A, item_pkey|id|A",
    "keywords: true",
    "inserted: 1",
    "row: ink|2.50|2024-02-29 12:00:00.5|2024-02-29|2024-02-29T10:00Z",
    "batch: 100",
    "refused: 23505",
    "fetched: 100",
    "counts: 1, 1, 1",
    "returned: 7",
    "read only: 25006",
    "copied: 2",
]
"""What the program says."""
