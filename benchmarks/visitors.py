"""A day of a database on disk that is served, in some minutes: who listens, fast and slow, comes back and dies; what
is left of them. `make soak MINUTES=60`.

Commits to a table whose size stays, by a clock that goes through 24 hours meanwhile; subscriptions of views and of
tenants' rows that are read at once, seldom or never; names that go on, and names that nobody acknowledges; snapshots
that are held; and clients at the doors of HTTP, Postgres and Flight, in processes that are killed (`visitors_client`).

It ends with 1 if the process has more than 1.3 times the memory of a fresh one that loads the rows that are left and
serves them once to each kind of client, or if who has listened by a name has not what the view holds.
"""

from __future__ import annotations

import logging
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import ivm
from ivm.benchmarks.long_run import Act, AtOnce, Job, fresh_process, memory, options
from ivm.benchmarks.memory_parts import parts
from ivm.benchmarks.visitors_client import KINDS
from ivm.benchmarks.visitors_client import VIEWS as NAMES
from ivm.serve.process import ENVIRONMENT, begin_process, keep_what_is_there
from ivm.serve.server import Server, serve
from ivm.serve.settings import Settings
from ivm.subscriptions.forms import FORMS

MOST = 1.3
TABLE = """
    CREATE TABLE visit (id BIGINT PRIMARY KEY, tenant INTEGER NOT NULL, page VARCHAR NOT NULL, at TIMESTAMP NOT NULL,
    price DECIMAL(9,2) NOT NULL)
"""
VIEWS = {
    "by_tenant": "SELECT tenant, count(*) AS n, sum(price) AS total FROM visit GROUP BY tenant",
    "recent": "SELECT tenant, count(*) AS n FROM visit WHERE at > now() - INTERVAL 1 HOUR GROUP BY tenant",
    "dearest": "SELECT id, tenant, price FROM visit ORDER BY price DESC, id LIMIT 20",
    "pages": "SELECT page, count(*) AS n, max(price) AS most FROM visit GROUP BY page",
}
_BEGUN, _DAY = datetime(2030, 1, 1), 24 * 3600.0
_TENANTS, _PAGES, _KEEP = 2000, 500, 20_000
_CLIENTS, _SHORTEST_VISIT, _LONGEST_VISIT = 4, 2.0, 8.0
_TOLD = 40


class Day:
    """A database that is served, what happens to it in a day, and who listens."""

    def __init__(self, db: ivm.Database, server: Server, rows: int, seed: int) -> None:
        self.db, self.done = db, Counter[str]()
        self._server, self._rows, self._threads = server, rows, AtOnce(seed)
        self._next, self._oldest = count(), 0
        self._now = _BEGUN
        self._clients: list[subprocess.Popen[bytes]] = []
        self._named = Counter[str]()

    def fill(self) -> None:
        """The table, its rows, and the views."""
        self.db.tick(_BEGUN)
        make(self.db, self._some(self._rows))

    def run(self, seconds: float) -> Iterator[float]:
        """All of it; yields the seconds that are over, now and then. Raises what a thread has raised."""
        jobs: list[Job] = [
            ("commits", self._commit, 0.003), ("fast", self._follow, 0.0), ("slow", self._follow_seldom, 0.0),
            ("tenants", self._tenants, 0.2), ("name", self._goes_on, 0.2), ("forgetful", self._forgets, 1.0),
            ("snapshots", self._snapshot, 0.1), ("clients", self._visit, 0.3),
        ]  # fmt: skip
        try:
            with closing(self._threads.run([self._counted(*job) for job in jobs], seconds, _TOLD)) as run:
                for now in run:
                    self._now = _BEGUN + timedelta(seconds=_DAY * now / seconds)
                    yield now
        finally:
            for client in self._clients:
                client.kill()
                client.wait()

    def is_whole(self) -> bool:
        """Whether who has listened by a name has what the view holds."""
        self._goes_on(random.Random(0))
        with self.db.subscribe("by_tenant", name="etl") as last:
            _add(self._named, last.fetch())
        there = Counter(repr(row) for row in self.db.view("by_tenant").fetchall())
        return Counter({row: times for row, times in self._named.items() if times}) == there

    def _counted(self, name: str, act: Act, rest: float) -> Job:
        """A job that counts how often it was done."""

        def done(chance: random.Random) -> None:
            act(chance)
            self.done[name] += 1

        return name, done, rest

    def _some(self, many: int) -> pa.Table:
        """Rows that come next."""
        fresh = [next(self._next) for _ in range(many)]
        draw = random.Random(fresh[0])
        return pa.table({
            "id": fresh,
            "tenant": pa.array([draw.randrange(_TENANTS) for _ in fresh], pa.int32()),
            "page": [f"/page {draw.randrange(_PAGES)} of visit {n // 10_000}" for n in fresh],
            "at": pa.array([self._now] * many, pa.timestamp("us")),
            "price": pa.array([Decimal(draw.randrange(10_000)) / 100 for _ in fresh], pa.decimal128(9, 2)),
        })  # fmt: skip

    def _commit(self, chance: random.Random) -> None:
        """As many rows come as go; sometimes time passes alone."""
        many = chance.choice((1, 1, 1, 20, 300))
        gone = {"id": list(range(self._oldest, self._oldest + many))}
        self._oldest += many
        with self.db.transaction() as tx:
            tx.insert("visit", self._some(many))
            tx.delete("visit", gone)
        if chance.random() < 0.05:
            self.db.tick(self._now)

    def _follow(self, chance: random.Random) -> None:
        form = chance.choice(FORMS)
        with self.db.subscribe("by_tenant", form=form, snapshot=chance.random() < 0.2) as each:
            for _ in range(chance.randrange(100)):
                each.fetch(timeout=0.05)

    def _follow_seldom(self, chance: random.Random) -> None:
        """Slow ones: what waits is consolidated, or they end."""
        those = [self.db.subscribe(view, limit=50, when_full=how) for view in NAMES for how in ("coalesce", "fail")]
        self._threads.over.wait(chance.random() * 5)
        for each in those:
            with suppress(ivm.LagError):
                each.fetch()
        del those[chance.randrange(len(those)) :]  # who never says that he goes
        for each in those:
            each.close()

    def _tenants(self, chance: random.Random) -> None:
        query = "SELECT id, price FROM visit WHERE price > 50 AND tenant = ?"
        those = [self.db.subscribe(query, [tenant]) for tenant in chance.sample(range(_TENANTS), 50)]
        self._threads.over.wait(chance.random() * 2)
        self.done["told"] += sum(each.fetch().num_rows for each in those)

    def _goes_on(self, chance: random.Random) -> None:
        """Somebody who goes on by a name; what he is told behind what he has acknowledged he forgets, as if he died."""
        with self.db.subscribe("by_tenant", name="etl", snapshot=True) as each:
            for _ in range(chance.randrange(20)):
                _add(self._named, each.fetch(timeout=0.1))
                each.acknowledge()
            each.fetch(timeout=chance.random() / 10)

    def _forgets(self, chance: random.Random) -> None:
        """Somebody who never acknowledges, until that is too much, and then begins anew."""
        try:
            with self.db.subscribe("pages", name="forgetful", keep=_KEEP) as each:
                each.fetch(timeout=chance.random())
        except ivm.LagError:
            self.db.forget_subscription("forgetful")
            self.done["begun anew"] += 1

    def _snapshot(self, chance: random.Random) -> None:
        with self.db.snapshot() as held:
            before = held.sql("SELECT count(*), sum(price) FROM visit").fetchall()
            self._threads.over.wait(chance.random() * 5)
            assert held.sql("SELECT count(*), sum(price) FROM visit").fetchall() == before

    def _visit(self, chance: random.Random) -> None:
        """Some clients are there; one more comes, and one of them may be killed."""
        self._clients = [client for client in self._clients if client.poll() is None]
        if len(self._clients) < _CLIENTS:
            self._clients.append(
                client(self._server, chance.choice(list(KINDS)), str(chance.random()), chance.random() * _LONGEST_VISIT)
            )
        elif chance.random() < 0.3:
            chance.choice(self._clients).kill()
            self.done["killed"] += 1


def client(server: Server, kind: str, seed: str, seconds: float) -> subprocess.Popen[bytes]:
    """A client who comes for so many seconds."""
    asked = kind, server.addresses[KINDS[kind][0]], seed, str(seconds)
    run = [sys.executable, "-m", "ivm.benchmarks.visitors_client", *asked]
    return subprocess.Popen(run, stderr=subprocess.DEVNULL)


def make(db: ivm.Database, rows: pa.Table) -> None:
    """The table with these rows, and the views."""
    db.sql(TABLE)
    for name, text in VIEWS.items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {text}")
    db.apply({"visit": rows})


def _add(to: Counter[str], changes: pa.Table) -> None:
    for row in changes.to_pylist():
        *values, _, diff = row.values()
        to[repr(tuple(values))] += diff
        if not to[repr(tuple(values))]:
            del to[repr(tuple(values))]


def fresh_load(folder: Path) -> None:
    """In a process of its own: load what is left, under the same views, serve it to one client of each kind, one after
    the other, and print the memory that takes, without and with having served.
    """
    with ivm.connect(folder / "fresh.ivm") as db, serve(db, _settings()) as server:
        keep_what_is_there()
        db.tick(_BEGUN + timedelta(seconds=_DAY))
        make(db, pq.read_table(folder / "visit.parquet"))
        db.verify()
        loaded = memory()
        for kind in KINDS:
            client(server, kind, "0", _SHORTEST_VISIT).wait()
        print(loaded, memory())


def _parts(db: ivm.Database, folder: Path) -> str:
    return "    " + ", ".join(f"{name} {value:.0f}" for name, value in parts(db, folder).items())


def _settings() -> Settings:
    return Settings(http=0, postgres=0, flight=0)


def main() -> int:
    """Exit code 1 if memory has grown, or somebody was told wrongly."""
    asked = options(__doc__, 500_000)
    if not ENVIRONMENT.items() <= os.environ.items():  # Arrow, which is loaded by now, has not found it
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **ENVIRONMENT})
    begin_process()
    if asked.fresh is not None:
        fresh_load(asked.fresh)
        return 0
    logging.disable(logging.WARNING)  # which garbage gives rise to
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with ivm.connect(folder / "day.ivm") as db, serve(db, _settings()) as server:
            keep_what_is_there()
            day = Day(db, server, asked.rows, asked.seed)
            day.fill()
            with suppress(KeyboardInterrupt):  # Ctrl-C ends it sooner
                for now in day.run(60 * asked.minutes):
                    said = ", ".join(f"{name} {times}" for name, times in sorted(day.done.items()))
                    print(f"{now:5.0f} s: {memory():5.0f} MiB; time {db.time}; {said}", flush=True)
                    print(_parts(db, folder), flush=True)
            is_whole = day.is_whole()
            db.verify()
            used = memory()
            print(_parts(db, folder))
            pq.write_table(db.sql("SELECT * FROM visit").arrow(), folder / "visit.parquet")
        loaded, fresh = fresh_process("visitors", made)
    print(
        f"at the end {used:.0f} MiB; a fresh load of the same rows {loaded:.0f} MiB, when it has served {fresh:.0f}; "
        f"{used / fresh:.2f} times that"
    )
    if not is_whole:
        print("who has listened by a name has not what the view holds")
    return int(used > MOST * fresh or not is_whole)


if __name__ == "__main__":
    sys.exit(main())
