"""A database on disk under everything at once: what grows, and what a commit waits for. `make soak MINUTES=60`.

Commits of few and of many rows to tables whose sizes stay, with checkpoints; views that come and go, under texts that
were never there; SELECTs in three threads; subscriptions that are read, forgotten, and whose views are dropped.

It ends with 1 if the process has more than 1.2 times the memory in the last quarter of the time that it had in the
second one.
"""

from __future__ import annotations

import heapq
import random
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pyarrow as pa

import ivm
from ivm.benchmarks.churn import TABLES, VIEWS
from ivm.benchmarks.holders import Watched, looked_at
from ivm.benchmarks.long_run import AtOnce, Job, options
from ivm.benchmarks.memory_parts import parts
from ivm.session.database import core_of

MOST = 1.2
_EVENT = "CREATE TABLE event (n BIGINT NOT NULL, kind BIGINT NOT NULL, s VARCHAR)"
_KINDS = "SELECT kind, count(*) AS n, max(s) AS z FROM event GROUP BY kind"
_FEW = (1, 10, 200)
_MANY = 20_000
_EVENTS = 30_000
_LABELS = 100
_A_GROUP = 20
"""Rows."""
_TOLD = 60
"""How often it says how it is, in all."""
_LONGEST = 12


class Commit(NamedTuple):
    """One of so many rows, and when it began and ended."""

    rows: float
    begun: float
    ended: float

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.ended - self.begun


class Soak:
    """A database, what threads do to it, and what they have seen."""

    def __init__(self, db: ivm.Database, rows: int, seed: int) -> None:
        self.db = db
        self.lock = core_of(db).lock = Watched(core_of(db).lock)
        self._timed_at = array("d")  # three numbers a commit, so that what is noted of them takes little memory
        self.done = dict.fromkeys(("views", "selects", "changes"), 0)
        self._rows, self._threads = rows, AtOnce(seed)
        self._numbers = count(1)
        self._events: list[int] = []

    def fill(self) -> None:
        """The tables, their rows, and the views that are there all the time."""
        for text in (*TABLES, _EVENT):
            self.db.sql(text)
        for name, text in (VIEWS | {"kinds": _KINDS}).items():
            self.db.sql(f"CREATE MATERIALIZED VIEW {name} AS {text}")
        self.db.apply({"t": self._rows_of_t(range(self._rows)), "d": self._rows_of_d(range(_LABELS))})
        self.db.apply({"event": self._new_events(_EVENTS)})
        self.lock.places.clear()

    def run(self, seconds: float) -> Iterator[float]:
        """Everything at once; yields the seconds that are over, now and then. Raises what a thread has raised."""
        jobs: list[Job] = [
            ("commits", self._commit, 0.002),
            ("views", self._define, 0.05),
            *((f"selects {number}", self._select, 0.01) for number in range(3)),
            ("follower", self._follow, 0.5),
        ]
        with looked_at(self.lock):
            yield from self._threads.run(jobs, seconds, _TOLD)

    def _commit(self, chance: random.Random) -> None:
        """Change some rows, so that there are as many afterwards."""
        number, some = chance.randrange(100), chance.choice(_FEW)
        ids = chance.sample(range(self._rows), min(_MANY, self._rows // 2) if number == 0 else some)
        listed = ", ".join(map(str, ids))
        if number == 0:
            self._timed(len(ids), lambda: self.db.apply({"t": self._rows_of_t(ids)}, mode="upsert"))
        elif number < 10:
            self._timed(some, lambda: self.db.sql(f"UPDATE t SET x = x + 1 WHERE id IN ({listed})"))
        elif number < 20:
            gone = self.db.sql(f"SELECT * FROM t WHERE id IN ({listed})").arrow()
            self._timed(some, lambda: self.db.sql(f"DELETE FROM t WHERE id IN ({listed})"))
            self._timed(some, lambda: self.db.apply({"t": gone}))
        elif number < 35:
            oldest, self._events = self._events[:some], self._events[some:]
            listed = ", ".join(map(str, oldest))
            self._timed(some, lambda: self.db.sql(f"DELETE FROM event WHERE n IN ({listed})"))
            rows = self._new_events(some)
            self._timed(some, lambda: self.db.apply({"event": rows}))
        else:
            changes = {"t": self._rows_of_t(ids)}
            if number % 3 == 0:
                changes["d"] = self._rows_of_d([chance.randrange(_LABELS)])
            self._timed(some, lambda: self.db.apply(changes, mode="upsert"))

    def _timed(self, rows: int, commit: Callable[[], object]) -> None:
        begun = time.perf_counter()
        commit()
        self._timed_at.extend((rows, begun, time.perf_counter()))

    def commits(self, first: int = 0) -> Iterator[Commit]:
        """Those that were made, but for so many."""
        timed = self._timed_at
        return (Commit(*timed[at : at + 3]) for at in range(3 * first, len(timed), 3))

    def _define(self, chance: random.Random) -> None:
        """A view comes, is read, and goes; now and then it is replaced, and one that stays is made anew."""
        number = next(self._numbers)
        name = f"passing_{number}"
        text = chance.choice((
            f"SELECT id, s || 'suffix {number}' AS y FROM t WHERE s < 'text number {number}'",
            f"SELECT u, count(*) FILTER (g > {number % 50}) AS n, sum(x * {number}) AS m FROM t GROUP BY u",
            f"SELECT t.id, d.label || '{number}' AS l FROM t JOIN d ON t.u = d.u WHERE t.x > {number}",
            f"SELECT g, min(s || '{number}') AS a, string_agg(u, '{number}' ORDER BY id) AS b FROM t GROUP BY g",
            f"SELECT id, sum(x + {number}) OVER (PARTITION BY g ORDER BY id) AS y FROM t",
            f"SELECT DISTINCT kind % {number} AS k, upper(s) AS z FROM event",
            f"SELECT id FROM t WHERE x > (SELECT avg(x) + {number} FROM t)",
            f"SELECT s, x FROM t WHERE g < {number % 50} ORDER BY x DESC, s LIMIT 20",
        ))  # fmt: skip
        self.db.sql(f"CREATE MATERIALIZED VIEW {name} AS {text}")
        follower = self.db.subscribe(name, snapshot=chance.random() < 0.5)
        self._threads.over.wait(chance.choice((0.0, 0.1, 1.0)))
        self.db.view(name).arrow()
        if chance.random() < 0.3:
            self.db.sql(f"CREATE OR REPLACE MATERIALIZED VIEW {name} AS SELECT g, {number} AS k FROM t")
        self.db.sql(f"DROP VIEW {name}")
        with suppress(ivm.Error):
            follower.fetch()
        self.done["views"] += 1
        if chance.random() < 0.1:
            stays = chance.choice(("by_memo", "lists", "windows", "extremes", "joined", "distinct_rows"))
            self.db.sql(f"CREATE OR REPLACE MATERIALIZED VIEW {stays} AS {VIEWS[stays]}")

    def _select(self, chance: random.Random) -> None:
        """A SELECT, mostly of a text that was never there."""
        number = next(self._numbers)
        text = chance.choice((
            f"SELECT count(*), max(s), {number} FROM t WHERE id % 7 = {number % 7}",
            f"SELECT u, sum(m) AS m FROM sums WHERE u <> 'key {number}' GROUP BY u ORDER BY 2 DESC LIMIT 5",
            f"SELECT * FROM t WHERE id = {chance.randrange(self._rows)}",
            f"SELECT g, low FROM extremes WHERE g = {number % 50}",
            f"SELECT j.id, t.s FROM joined AS j JOIN t ON j.id = t.id WHERE t.g = {number % 50}",
            f"SELECT count(*) FROM groups WHERE n > {number % 3}",
            "SELECT kind, n FROM kinds",
            f"SELECT arrangement, bytes FROM ivm_arrangements WHERE rows > {number}",
        ))  # fmt: skip
        self.db.sql(text).fetchall()
        self.done["selects"] += 1

    def _follow(self, chance: random.Random) -> None:
        """Who reads what has changed, and who forgets that he has subscribed."""
        with self.db.subscribe("sums") as followed:
            for _ in range(chance.choice((1, 10))):
                self.done["changes"] += followed.fetch(timeout=0.5).num_rows
        self.db.subscribe("groups", snapshot=True)

    def _rows_of_t(self, ids: Sequence[int]) -> pa.Table:
        groups, fresh = self._rows // _A_GROUP, [next(self._numbers) for _ in ids]
        return pa.table({
            "id": ids,
            "s": [f"text number {n} of many, as long as texts are" for n in fresh],
            "u": [f"key {n % groups if n % 3 else n}" for n in fresh],
            "g": [n % groups for n in fresh],
            "x": [n / 8 for n in fresh],
        })  # fmt: skip

    def _rows_of_d(self, labels: Sequence[int]) -> pa.Table:
        fresh = [f"label {next(self._numbers)} of a key" for _ in labels]
        return pa.table({"u": [f"key {label}" for label in labels], "label": fresh})

    def _new_events(self, some: int) -> pa.Table:
        fresh = [next(self._numbers) for _ in range(some)]
        self._events += fresh
        texts = [f"event {n} happened" for n in fresh]
        return pa.table({"n": fresh, "kind": [n % _A_GROUP for n in fresh], "s": texts})

    def longest(self) -> Iterator[str]:
        """The longest commits of few rows, and who held the lock meanwhile."""
        few = (commit for commit in self.commits() if commit.rows <= max(_FEW))
        for commit in heapq.nlargest(_LONGEST, few, key=lambda each: each.seconds):
            yield f"{commit.seconds * 1e3:.0f} ms, {commit.rows:.0f} rows:"
            for shared, hold in self.lock.between(commit.begun, commit.ended)[:3]:
                yield f"    {shared * 1e3:.0f} of {hold.text()}"

    def holders(self) -> Iterator[str]:
        """Who held the lock: those that computed longest with it, and all by place."""
        yield from (hold.text() for hold in sorted(self.lock.holds, key=lambda each: -each.spent.computing)[:_LONGEST])
        yield f"{'times':>7} {'mean':>8} {'longest':>8} {'computed':>8} {'in all':>8} {'computed':>8} {'blocked':>8}"
        places = sorted(self.lock.places.items(), key=lambda each: -each[1].spent.wall)
        for where, place in places[:20]:
            millis = (place.spent.wall / place.times, place.longest, place.most_computing)
            seconds = (place.spent.wall, place.spent.computing, place.spent.blocked)
            numbers = [f"{each * 1e3:8.2f}" for each in millis] + [f"{each:8.1f}" for each in seconds]
            yield f"{place.times:7} {' '.join(numbers)} {where}"


def latencies(commits: Iterable[Commit]) -> str:
    """In milliseconds, those of few rows and those of many by themselves."""
    found = []
    by_size: dict[str, list[float]] = {}
    for commit in commits:
        by_size.setdefault("few" if commit.rows <= max(_FEW) else "many", []).append(commit.seconds * 1e3)
    for size, millis in sorted(by_size.items()):
        millis.sort()
        p50, p99 = (millis[int(share * (len(millis) - 1))] for share in (0.5, 0.99))
        found.append(f"{len(millis)} of {size} rows: p50 {p50:.1f} p99 {p99:.1f} longest {millis[-1]:.0f}")
    return "; ".join(found)


def grown(seen: Sequence[dict[str, float]]) -> Iterator[str]:
    """Each part in the second quarter of the time, in the last, and how many times as much that is."""
    for name in seen[0]:
        before, after = second_and_last(seen, name)
        yield f"{name:>16} {before:10.0f} {after:10.0f} {after / before if before else 1.0:8.2f}"


def second_and_last(seen: Sequence[dict[str, float]], name: str) -> tuple[float, float]:
    """Medians of a part in the second quarter of the time, and in the last."""
    quarter = max(len(seen) // 4, 1)
    before, after = seen[quarter : 2 * quarter] or seen, seen[-quarter:]
    return median(each[name] for each in before), median(each[name] for each in after)


def main() -> int:
    """Exit code 1 if memory has grown."""
    asked = options(__doc__, 50_000)
    seen: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder, ivm.connect(Path(folder) / "soak.ivm") as db:
        soak = Soak(db, asked.rows, asked.seed)
        soak.fill()
        told = 0
        with suppress(KeyboardInterrupt):  # Ctrl-C ends it sooner
            for now in soak.run(60 * asked.minutes):
                seen.append(parts(db, Path(folder)))
                made = list(soak.commits(told))
                print(f"{now:5.0f} s: {latencies(made)}; {soak.done}", flush=True)
                print("    " + ", ".join(f"{name} {value:.0f}" for name, value in seen[-1].items()), flush=True)
                told += len(made)
        for line in ("all commits, ms", latencies(soak.commits()), *soak.longest(), *soak.holders(), *grown(seen)):
            print(line)
        db.verify()
    before, after = second_and_last(seen, "resident")
    return int(after > MOST * before)


if __name__ == "__main__":
    sys.exit(main())
