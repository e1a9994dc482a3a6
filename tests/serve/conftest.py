"""A shop that is served by HTTP, and another one by Postgres's protocol."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ivm
from ivm.serve import Limits, Settings, serve, user_with_password, user_with_token
from tests.serve.clients import Client
from tests.serve.postgres import Served, served


@pytest.fixture(scope="module")
def db():
    with ivm.connect(compile="off", history=100) as made:
        yield made


@pytest.fixture(scope="module")
def client(db):
    limits = Limits(seconds=20, result_rows=20_000, request_bytes=1 << 20)
    users = user_with_token("all", "all", "write"), user_with_token("bot", "bot"), user_with_password("ada", "x")
    with serve(db, Settings(http=0, users=users, origins=("https://shop.example",), limits=limits)) as server:
        yield Client(server.addresses["http"], {"Authorization": "Bearer all"})


@pytest.fixture
def sale(db):
    db.sql("""
        CREATE OR REPLACE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price DECIMAL(9,2), day DATE);
        CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city ORDER BY city;
        CREATE VIEW plain AS SELECT * FROM sale;
        INSERT INTO sale VALUES (1, 'Bern', 2.50, '2024-02-29'), (2, 'Oslo', 4, NULL), (3, 'Bern', 1, NULL)
    """)
    yield
    db.sql("DROP TABLE sale CASCADE")


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    """What tests of Postgres's protocol ask."""
    with served() as found:
        yield found
