"""Queries whose results would fill the memory, or have types that cannot be handed over: refused, and nothing changes."""

from __future__ import annotations

from unittest import mock

import pytest

import ivm


def test_a_result_that_fills_the_memory_is_refused() -> None:
    with ivm.connect(compile="off") as db, mock.patch("ivm.duck._most_bytes", return_value=8 << 20):
        db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY)")
        for text in (
            "SELECT * FROM range(1000000000000)",
            "INSERT INTO t SELECT * FROM range(1000000000000)",
            "CREATE TABLE u AS SELECT * FROM range(1000000000000)",
        ):
            with pytest.raises(ivm.MemoryLimitError, match=r"it gives more than \d,\d\d\d,\d\d\d rows, which take"):
                db.sql(text)
        assert db.sql("FROM range(1000000000000) LIMIT 2").fetchall() == [(0,), (1,)]
        assert db.sql("FROM t ORDER BY id").fetchall() == []
        assert db.sql("SELECT range AS x, 'a' AS y FROM range(3) WHERE false").fetchall() == []


def test_types_that_arrow_does_not_take_over_are_refused() -> None:
    deep = "1"
    for _ in range(100):
        deep = f"{{'a': {deep}}}"
    with ivm.connect(compile="off") as db:
        with pytest.raises(ivm.UnsupportedError, match="cast what has very many levels of lists and structs to JSON"):
            db.sql(f"SELECT {deep} AS x")
        assert str(db.sql(f"SELECT ({deep})::JSON AS x").fetchall()[0][0]).count("a") == 100
