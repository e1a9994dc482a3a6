"""What plans go by for tables that have no rows yet: those that others refer to are smaller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import ivm
from ivm.cluster.driver.driver import Driver
from ivm.session.database import core_of
from ivm.tpch.queries import text
from ivm.tpch.schema import ddl


@pytest.fixture(scope="module")
def db() -> Iterator[ivm.Database]:
    with ivm.connect(shards=2, compile="off") as made:
        made.sql(ddl())
        yield made


def guessed(db: ivm.Database) -> dict[str, float]:
    driver: Any = core_of(db).engine
    assert isinstance(driver, Driver)
    return driver.tables.estimates({"supplier": 7.0})


def test_a_table_is_smaller_than_those_that_refer_to_it(db):
    sizes = guessed(db)
    assert (sizes["lineitem"], sizes["orders"], sizes["customer"]) == (1e6, 1e6 / 4, 1e6 / 16)
    assert sizes["nation"] == 1e6 / 16 / 64
    assert sizes["region"] == 25


def test_what_is_known_is_not_guessed(db):
    assert guessed(db)["supplier"] == 7


def test_what_few_rows_are_expected_of_is_at_every_shard(db):
    sent = [line for line in db.explain(text("q9")).splitlines() if "exchange" in line and "rows of nation" in line]
    assert sent
    assert all("to on every shard" in line for line in sent)
