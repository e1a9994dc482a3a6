"""Nobody sees what a loss of power could still take, where commits wait for the disk."""

import threading

import pytest

from tests.durable.disk import Disk, DiskFile
from tests.durable.opening import opened

READS = {
    "view": lambda db, sub: db.view("v").fetchall(),
    "select": lambda db, sub: db.sql("SELECT n FROM v").fetchall(),
    "duckdb": lambda db, sub: db.sql("SELECT count(*) + 0 AS n FROM t").fetchall(),
    "changes": lambda db, sub: sub.fetch(timeout=None).column("n").to_pylist()[-1:],
    "snapshot": lambda db, sub: db.subscribe("v", snapshot=True).fetch().column("n").to_pylist(),
}


@pytest.mark.parametrize("durability", ["commit", "off"])
@pytest.mark.parametrize("read", READS)
def test_a_reader_waits_for_the_sync_of_what_it_sees(read, durability, monkeypatch):
    db = opened(Disk(), durability)
    db.sql("CREATE TABLE t (a BIGINT); CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
    sub = db.subscribe("v")
    begun, go_on, seen = threading.Event(), threading.Event(), []
    plain = DiskFile.sync

    def sync(self):
        begun.set()
        assert go_on.wait(20)
        plain(self)

    monkeypatch.setattr(DiskFile, "sync", sync)
    commit = threading.Thread(target=db.sql, args=("INSERT INTO t VALUES (1)",))
    reader = threading.Thread(target=lambda: seen.append(READS[read](db, sub)))
    commit.start()
    if durability == "commit":
        assert begun.wait(20)
        reader.start()
        reader.join(0.05)
        assert not seen
    else:
        commit.join(20)
        reader.start()
        reader.join(20)
        assert seen
    go_on.set()
    commit.join(20)
    reader.join(20)
    assert seen in ([[(1,)]], [[1]])
