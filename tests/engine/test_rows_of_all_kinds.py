"""Values of every kind are shown and changed alike, with a second engine and without."""

from __future__ import annotations

from typing import Any

import pytest

import ivm
from ivm.session import statements
from tests.engine.test_plain_rows import Counting, fallback, outcome

_UUID = "00112233-4455-6677-8899-aabbccddeeff"
_ODD = (
    "SELECT * FROM v ORDER BY n",
    f"SELECT u, n FROM t WHERE u = '{_UUID.upper()}'",
    f"SELECT n FROM t WHERE u IN ('{_UUID}', '00112233-4455-6677-8899-aabbccddee00') ORDER BY u",
    "SELECT n, e FROM v ORDER BY e DESC NULLS LAST",
    "SELECT n FROM v WHERE h = '01:02:03.5' OR h < TIME '00:30:00'",
    "SELECT n FROM v WHERE b = '\\xAA\\x00b'::BLOB",
    f"SELECT n, coalesce(u, '{_UUID}') AS c FROM v ORDER BY n",
    "SELECT n FROM v ORDER BY i",
    f"UPDATE t SET e = 'sad', h = '05:06:07' WHERE u = '{_UUID}' RETURNING *",
    f"UPDATE t SET u = u, j = j, i = i, n = n + 1 WHERE u = '{_UUID}' RETURNING j, i, n",
    f"DELETE FROM t WHERE u = '{_UUID}' RETURNING *",
)


def _shown(run: Any, db: ivm.Database, text: str) -> Any:
    """See `outcome`; DuckDB has a name for what is in a list, which tells nothing."""
    found: Any = outcome(run, db, text)
    schema, *rows = found
    return schema.replace("l: int32", "item: int32").replace("l: dictionary", "item: dictionary"), rows


def test_values_of_every_kind_are_shown_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Counting()
    monkeypatch.setattr(statements, "run_plain", counting)
    mine, other = ivm.connect(compile="off"), ivm.connect(compile="off")
    for db in (mine, other):
        db.sql("CREATE TYPE mood AS ENUM ('sad', 'ok')")
        db.sql(
            "CREATE TABLE t (n INTEGER, u UUID PRIMARY KEY, e mood, h TIME, b BLOB, j JSON, i INTERVAL, w TIMESTAMPTZ, "
            "l INTEGER[], s STRUCT(a mood[], b VARCHAR), m MAP(VARCHAR, JSON))"
        )
        db.sql(
            f"""INSERT INTO t VALUES (1, '{_UUID}', 'ok', '01:02:03.5', '\\xAA\\x00b'::BLOB, '{{"a": 1}}', INTERVAL 3 MONTH,
            '2024-01-02 03:04:05+02', [1, NULL], {{'a': ['ok'], 'b': 'x'}}, MAP {{'k': '[]'}}), (2, '00112233445566778899AABBCCDDEE00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""
        )
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT * FROM t")
    for text in _ODD:
        assert _shown(ivm.Database.sql, mine, text) == _shown(fallback, other, text), text
    assert counting.done == list(_ODD)
    mine.verify()
