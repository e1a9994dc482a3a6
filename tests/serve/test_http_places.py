"""The door of HTTP over databases whose rows are on disk or over shards."""

from __future__ import annotations

import pytest

import ivm
from ivm.serve import Settings, serve
from tests.serve.clients import Client


@pytest.mark.parametrize("where", ["over shards", "on disk"])
def test_wherever_the_rows_are(tmp_path, where):
    with ivm.connect(shards=2) if where == "over shards" else ivm.connect(tmp_path / "a.ivm", history=10) as db:
        db.sql(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, s VARCHAR); CREATE MATERIALIZED VIEW v AS SELECT s, count(*) AS n FROM t GROUP BY s"
        )
        with serve(db, Settings(http=0)) as server:
            client = Client(server.addresses["http"])
            with client.events("/views/v/changes?form=upserts") as events:
                assert events.next().data == []
                assert client.post("/tables/t", [{"id": 1, "s": "a"}, {"id": 2, "s": "a"}], Batch="b/1").status == 200
                assert events.next().data == [{"s": "a", "n": 2, "_time": db.time, "_deleted": False}]
            read = client.get("/views/v")
            assert read.json == [{"s": "a", "n": 2}]
            assert client.get("/views/v", If_None_Match=read.headers["ETag"]).status == 304
            client.sql("DELETE FROM t WHERE id = 1")
            assert client.get("/views/v", If_None_Match=read.headers["ETag"]).json == [{"s": "a", "n": 1}]
            assert client.get("/tables/t").json == [{"id": 2, "s": "a"}]
            assert b"ivm_state_bytes" in client.get("/metrics").body
            db.verify()
