"""Joins go on where rows that are gone are let go, and the others get new numbers."""

from __future__ import annotations

from typing import Literal

import pytest

import ivm
from ivm.trace.rows import compaction


@pytest.mark.parametrize("compiled", ["off", "wait"])
def test_a_join_finds_rows_that_have_new_numbers(
    monkeypatch: pytest.MonkeyPatch, compiled: Literal["wait", "off"]
) -> None:
    """What look-ups were told of the rows before is not of use any more, over a table and over groups' rows."""
    monkeypatch.setattr(compaction, "FROM_ROWS", 8)
    db = ivm.connect(compile=compiled)
    db.sql("CREATE TABLE item (id BIGINT PRIMARY KEY, kind INTEGER, price BIGINT)")
    db.sql("CREATE TABLE sale (id BIGINT PRIMARY KEY, item BIGINT, pieces INTEGER)")
    db.sql("CREATE MATERIALIZED VIEW paid AS SELECT s.id, i.kind, i.price * s.pieces AS paid "
           "FROM sale s JOIN item i ON s.item = i.id")  # fmt: skip
    db.sql("CREATE MATERIALIZED VIEW dear AS SELECT s.id, i.price FROM sale s "
           "JOIN (SELECT id + 0 AS id, price FROM item WHERE price > 3) i ON s.item = i.id")  # fmt: skip
    number = 0
    for turn in range(12):
        rows = [{"id": 100 * turn + each, "kind": each % 3, "price": each} for each in range(20)]
        db.apply({"item": rows})
        for each in range(0, 20, 3):
            number += 1
            db.apply({"sale": [{"id": number, "item": 100 * turn + each, "pieces": 2}]})
        with db.transaction() as changes:
            changes.delete("item", [{"id": row["id"]} for row in rows[:19]])
        number += 1
        db.apply({"sale": [{"id": number, "item": 100 * turn + 19, "pieces": 1}]})
        assert db.verify()
