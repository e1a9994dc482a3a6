"""The delivered views over a stream, in databases that are killed and opened again, end as in one that never is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import ivm
from ivm.tpch.queries import NAMES, view_sql
from ivm.tpch.reader import Stream, open_stream
from ivm.tpch.schema import ddl
from tests.durable.opening import killed

EVERY = 5
SOURCE = "refresh"


def test_kills_and_openings_change_nothing(streams: Path, tmp_path: Path) -> None:
    _killed_now_and_then(open_stream(streams / SOURCE), 120, tmp_path)


@pytest.mark.slow
def test_the_same_with_more_rows(larger_streams: Path, tmp_path: Path) -> None:
    _killed_now_and_then(open_stream(larger_streams / SOURCE), 2, tmp_path)


def _killed_now_and_then(stream: Stream, times: int, tmp_path: Path) -> None:
    """Batches of so many times, in a database that is killed now and then, and in one that is not."""
    path = tmp_path / "0.ivm"
    never = ivm.connect(compile="off")
    _begin(never, stream)
    with ivm.connect(path, compile="off", durability="off") as db:
        _begin(db, stream)
    db = ivm.connect(path, compile="off", durability="off")
    told, seen = {name: _Seen(never, name) for name in NAMES}, {name: _Seen(db, name) for name in NAMES}
    for number, batch in enumerate(stream.batches(times), 1):
        never.apply(batch.tables)
        db.apply(batch.tables, batch=(SOURCE, number))
        if number % EVERY == 0:
            for each in seen.values():
                each.take()
            path, was = killed(db, path, tmp_path / f"{number}.ivm"), db
            db = ivm.connect(path, compile="off", durability="off")
            was.close()
            assert db.batches() == {SOURCE: number}
            assert db.apply(batch.tables, batch=(SOURCE, number)) == db.time == never.time
            for name, each in seen.items():
                each.go_on(db, name)
        elif number % EVERY == 3:
            db.sql("CHECKPOINT")
    assert len(list(tmp_path.iterdir())) > 2
    for name in NAMES:
        assert seen[name].take() == told[name].take(), name
    db.verify()
    db.close()


def _begin(db: ivm.Database, stream: Stream) -> None:
    db.sql(ddl())
    db.apply(stream.base())
    for name in NAMES:
        db.sql(view_sql(name))


class _Seen:
    """What somebody knows of a view who follows its changes, also over several openings."""

    def __init__(self, db: ivm.Database, name: str) -> None:
        self.rows: Counter[str] = Counter()
        self._sub = db.subscribe(name, snapshot=True)

    def take(self) -> Counter[str]:
        for row in self._sub.fetch().to_pylist():
            diff = row.pop("_diff")
            row.pop("_time")
            self.rows[repr(row)] += diff
        return +self.rows

    def go_on(self, db: ivm.Database, name: str) -> None:
        """Follow another database from now on, which has what was told by now."""
        before, self.rows = +self.rows, Counter()
        self._sub = db.subscribe(name, snapshot=True)
        assert self.take() == before, name
