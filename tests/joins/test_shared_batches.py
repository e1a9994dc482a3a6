"""A batch of a table is read by the table, by its arrangements and by joins, each of which may convert its texts."""

from __future__ import annotations

import pytest

import ivm

PEOPLE = [{"id": i, "city": None if i % 7 == 0 else f"city {i % 6}"} for i in range(30)]
CITIES = [{"city": f"city {k}", "label": f"label {k}"} for k in range(5)]
JOINED = sorted((i, f"label {i % 6}") for i in range(30) if i % 7 and i % 6 < 5)


@pytest.mark.parametrize("first", ["people", "cities"])
def test_texts_with_nulls_meet_those_of_a_later_batch(first: str) -> None:
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE people (id BIGINT PRIMARY KEY, city VARCHAR)")
        db.sql("CREATE TABLE cities (city VARCHAR PRIMARY KEY, label VARCHAR)")
        db.sql("CREATE MATERIALIZED VIEW j AS SELECT id, label FROM people JOIN cities ON people.city = cities.city")
        for name in sorted(("people", "cities"), key=lambda name: name != first):
            db.apply({name: PEOPLE if name == "people" else CITIES})
        assert sorted(db.view("j").fetchall()) == JOINED
        moved = [{"id": i, "city": f"city {i * 5 % 6}"} for i in range(10, 14)]
        db.apply({"people": moved, "cities": [{"city": "city 2", "label": "new"}]}, mode="upsert")
        for checked in db.verify():
            assert checked.view == "j"
