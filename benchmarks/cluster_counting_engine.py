"""One measurement of `cluster`: the work and the state of so many shards of one process. Run in its own process."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import ivm
from ivm.benchmarks.process import Steps, answer, task
from ivm.tpch import queries
from ivm.tpch.reader import open_stream
from ivm.tpch.schema import ddl

_HOT = 3
"""So many operators are named of a view."""


@dataclass(frozen=True, slots=True)
class Task:
    """`views` over a stream of `batch` logical times a commit, so many commits, over `shards`; 0: one engine."""

    directory: str
    views: tuple[str, ...]
    batch: int
    commits: int
    shards: int


@dataclass(frozen=True, slots=True)
class Work:
    """What shards did in one operator of a view, or in all of them: updates in and out, and rows visited.

    `busiest` is that of the busiest shard, `mean` of all of them.
    """

    name: str
    busiest: float
    mean: float

    @property
    def excess(self) -> float:
        """By how much the busiest is above the mean."""
        return self.busiest - self.mean


def measure(asked: Task) -> dict[str, Any]:
    """State after the base, and the work of each view in the commits; nothing is timed, and nothing compiled."""
    steps = Steps()
    stream = open_stream(Path(asked.directory))
    db = ivm.connect(compile="off", shards=asked.shards or None)
    db.sql(ddl())
    db.apply(stream.base())
    for number, view in enumerate(asked.views):
        steps.tell(f"installing views, {asked.shards} shards", number, len(asked.views))
        db.sql(queries.view_sql(view))
    rows, size, tables = db.sql("""
        SELECT sum(rows)::BIGINT, sum(bytes)::BIGINT, sum(bytes) FILTER (WHERE kind = 'table')::BIGINT
        FROM ivm_arrangements WHERE kind <> 'process'
    """).fetchall()[0]
    before, changes = _work(db), 0
    for done, batch in zip(range(asked.commits), stream.batches(asked.batch, coalesce=True), strict=False):
        steps.tell(f"commits, {asked.shards} shards", done, asked.commits)
        db.apply(batch.tables)
        changes += batch.rows
    did = _work(db)
    did.subtract(before)
    placements = _placements(db) if asked.shards else {}
    views = [_of_view(view, did, max(1, asked.shards), placements) for view in asked.views]
    return {"rows": rows, "bytes": size, "table_bytes": tables, "changes": changes, "views": views}


def _work(db: ivm.Database) -> Counter[tuple[str, str, int]]:
    """By view, operator and shard."""
    found: Counter[tuple[str, str, int]] = Counter()
    for row in db.sql("SELECT * FROM ivm_operators").arrow().to_pylist():
        work = row["updates_in"] + row["updates_out"] + row["visited"]
        found[row["view"], row["operator"], row.get("shard", 0)] += work
    return found


def _placements(db: ivm.Database) -> dict[str, str]:
    return dict(db.sql("SELECT exchange, placement FROM ivm_exchanges").fetchall())


def _of_view(view: str, did: Counter[tuple[str, str, int]], shards: int, placements: dict[str, str]) -> dict[str, Any]:
    """A view's work by shard, and the operators by which the busiest shard is above the mean."""
    by_shard, operators = [0] * shards, dict[str, list[int]]()
    for (name, operator, shard), work in did.items():
        if name == view:
            by_shard[shard] += work
            operators.setdefault(operator, [0] * shards)[shard] += work
    first = max(range(shards), key=by_shard.__getitem__)
    every = [Work(_called(name, placements), each[first], sum(each) / shards) for name, each in operators.items()]
    hot = sorted(every, key=lambda each: -each.excess)[:_HOT]
    return {
        **asdict(Work(view, by_shard[first], sum(by_shard) / shards)),
        "hot": [asdict(each) for each in hot if each.excess > 0],
    }


def _called(operator: str, placements: dict[str, str]) -> str:
    """An operator with where that is which it receives or sends."""
    exchange = operator.partition(" ")[2]
    return f"{operator}, {placements[exchange]}" if exchange in placements else operator


if __name__ == "__main__":
    answer(measure(Task(**task())))
