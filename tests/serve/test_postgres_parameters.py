"""The types of parameters that a text tells."""

from __future__ import annotations

import pytest

import ivm
from ivm.serve.postgres import types
from ivm.serve.postgres.inferring import inferred
from ivm.session.database import core_of


@pytest.fixture(scope="module")
def settings():
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE t (id BIGINT, s VARCHAR, a INTEGER[]); CREATE TABLE u (id BIGINT, s DATE)")
        yield core_of(db).settings


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT $1::int8, $2 :: text[], CAST($3 AS DOUBLE PRECISION)", {1: types.INT8.oid, 2: 1009, 3: 701}),
        ("SELECT * FROM t WHERE id = $1 AND s <> $2 LIMIT $3", {1: 20, 2: 25, 3: 20}),
        ("SELECT * FROM t WHERE id IN ($1, $2) AND nope = $3", {1: 20, 2: 20}),
        ("SELECT * FROM t JOIN u USING (id) WHERE s = $1 AND id > $2", {2: 20}),
        ("INSERT INTO t VALUES ($1, upper($2), $3), ($4, 'x', NULL)", {1: 20, 3: 1007, 4: 20}),
        ('INSERT INTO t (a, "id") VALUES ($1, $2)', {1: 1007, 2: 20}),
        ("INSERT INTO t (nope) VALUES ($1)", {}),
        ("UPDATE u SET s = $1 WHERE id = ANY($2)", {1: 1082, 2: 1009}),
        ("SELECT $1", {}),
    ],
)
def test_what_a_text_tells(settings, text, found):
    assert inferred(text, settings) == found
