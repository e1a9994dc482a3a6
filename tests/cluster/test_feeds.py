"""Whoever follows a view over shards has what it holds, at each logical time and from each on, by files alone."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ivm
from ivm.arguments import MOST
from ivm.catalog.errors import BindError
from ivm.catalog.plain import plain_view, view_of
from ivm.cluster.driver.database import ShardedDatabase
from ivm.cluster.driver.filler import Pace
from ivm.cluster.files import ledger
from ivm.cluster.files.chains import clean_left
from ivm.cluster.files.files import Files
from ivm.cluster.files.snapshots import read_snapshot, snapshots_of
from ivm.cluster.following.following import Following
from ivm.cluster.shard import telling
from ivm.session.database import core_of
from tests.cluster import over_copies
from tests.cluster.beside import CleansAtOnce
from tests.cluster.followed import Rows, accumulated, agree, rows_of
from tests.cluster.memory import MemoryFolder
from tests.more import with_more

TABLES = """
CREATE TABLE shop (id BIGINT PRIMARY KEY, city VARCHAR);
CREATE TABLE sale (id BIGINT PRIMARY KEY, shop BIGINT, price DECIMAL(9,2), kind ENUM('a', 'b'), x DOUBLE);
CREATE TABLE few (id BIGINT PRIMARY KEY, what VARCHAR) REPLICATED;
"""
VIEWS = {
    "cities": "SELECT city, sum(price) AS total, max(price) AS most FROM sale JOIN shop ON shop = shop.id GROUP BY city",
    "anywhere": "SELECT shop, kind, x FROM sale ORDER BY price",
    "hidden": "SELECT kind FROM sale ORDER BY id",
    "everywhere": "SELECT what, count(*) AS n FROM few GROUP BY what",
    "best": "SELECT id, price FROM sale ORDER BY price DESC, id LIMIT 3",
    "none": "SELECT id, city FROM shop WHERE id NOT IN (SELECT shop FROM sale WHERE shop IS NOT NULL)",
}
CREATE = "CREATE {} MATERIALIZED VIEW {} WITH (change_feed = true) AS {}"


class Case:
    """A database over shards in a folder, one in one piece that is told the same, and who follows the first."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.folder = MemoryFolder()
        self.root = Files(self.folder, (0,))
        self.one = ivm.connect(history=MOST, compile="off")
        self.many = self.opened()
        self.readers: list[Reader] = []
        self.created: dict[str, int] = {}

    def opened(self) -> ShardedDatabase:
        moves = random.Random(self.chance.random())
        return over_copies.connect(self.folder, 2, moves=lambda shard: moves.random() < 0.05, cleaner=CleansAtOnce)

    def sql(self, text: str) -> None:
        self.one.sql(text)
        self.many.sql(text)

    def create(self, name: str, replace: str = "") -> None:
        self.sql(CREATE.format(replace, name, VIEWS[name]))
        self.created[name] = self.many.time
        self.readers = [each for each in self.readers if each.name != name]
        self.readers += [Reader(self, name, self.chance.choice([-1, max(0, self.many.time - 1), self.many.time]))]

    def drop(self, name: str) -> None:
        self.sql(f"DROP VIEW {name}")
        del self.created[name]
        self.readers = [each for each in self.readers if each.name != name]

    def commit(self) -> None:
        """Rows of one time, or of several."""
        chance, begin = self.chance, self.many.time
        times = sorted(chance.sample(range(begin + 1, begin + 9), chance.choice((1, 1, 3))))
        changes: dict[str, dict[Any, dict[str, Any]]] = {"shop": {}, "sale": {}, "few": {}}
        for _ in range(chance.randrange(1, 8)):
            time, name = chance.choice(times), chance.choice(("shop", "sale", "sale", "few"))
            row: dict[str, Any] = {
                "id": chance.randrange(12),
                "_time": time,
                "_diff": 1 if chance.random() < 0.7 else -1,
            }
            if name == "shop":
                row |= {"city": chance.choice(("Bern", "Oslo", None))}
            elif name == "few":
                row |= {"what": chance.choice(("x", "y"))}
            else:
                row |= {"shop": chance.choice((1, 2, 3, None)), "price": chance.randrange(5)}
                row |= {
                    "kind": chance.choice(("a", "b", None)),
                    "x": chance.choice((0.0, -0.0, 1.5, float("nan"), None)),
                }
            changes[name][row["id"]] = row
        given = {name: [*rows.values()] for name, rows in changes.items() if rows}
        for db in (self.one, self.many):
            db.apply(given, mode="upsert")
        assert self.one.time == self.many.time

    def rows(self, name: str, time: int) -> Rows:
        """What the one in one piece has."""
        return rows_of(self.one, name, time)

    def check(self) -> int:
        """All views at some times; how many could be read."""
        assert Following(self.root).known()[0] == self.many.time == self.one.time
        times = self.chance.sample(range(self.many.time + 1), 8)
        created = self.created.items()
        moments = [(time, time, [name for name, since in created if since <= time]) for time in times]
        return agree(self.root, self.one, moments)


class Reader:
    """Follows a view from a time on, now and then, and begins anew where that is not there any more."""

    def __init__(self, case: Case, name: str, after: int) -> None:
        self.case, self.name, self.after = case, name, after
        self.following = Following(case.root)
        self.found: Rows = Counter() if after < case.many.time else case.rows(name, after)

    def read(self) -> None:
        """What is new; most times to the end."""
        case, (now, catalog) = self.case, self.following.known()
        view, until = catalog.view(self.name), now
        if self.after >= 0 and case.chance.random() < 0.2:
            until = case.chance.randint(self.after, now)
        try:
            parts = (
                self.following.contents(view, until)
                if self.after < 0
                else self.following.changes(view, self.after, until)
            )
        except BindError:
            assert self.after >= 0, "what is there now can be read"
            self.after, self.found = -1, Counter()
            return
        self.found, self.after = accumulated(case.root, self.found, parts), until
        if until >= case.created[self.name]:
            assert self.found == case.rows(self.name, until)


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_EVERY", 5)
    monkeypatch.setattr(telling, "ROWS", 3)


@pytest.mark.parametrize("seed", with_more([1], [0, 2]))
def test_it_is_what_the_view_holds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    went_on(seed, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_it_is_what_the_view_holds_in_many_cases(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    went_on(seed, monkeypatch)


def went_on(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits, definitions, other numbers of shards and other drivers, in any order."""
    case, chance = Case(seed), random.Random(seed)
    case.sql(TABLES)
    for name in [*VIEWS][:4]:
        case.create(name)
    for step in range(40):
        what = chance.random()
        if what < 0.06:
            case.many.rescale(chance.randrange(1, 4))
        elif what < 0.10:
            case.many.close()
            case.many = case.opened()
        elif what < 0.25:
            with monkeypatch.context() as context:
                context.setattr(over_copies.OverCopies, "pace", chance.choice((Pace(0, 4, 0), Pace(1 << 16, 4, 0))))
                name = chance.choice([*VIEWS])
                if name not in case.created:
                    case.create(name)
                elif chance.random() < 0.3:
                    case.create(name, "OR REPLACE")
                elif chance.random() < 0.3:
                    case.drop(name)
        else:
            case.commit()
        for reader in case.readers:
            if chance.random() < 0.3:
                reader.read()
        if step % 10 == 9:
            case.check()


def test_what_is_read_while_old_pages_go_is_looked_for_anew() -> None:
    folder = MemoryFolder()
    db = over_copies.connect(folder, 2, cleaner=CleansAtOnce)
    db.sql(TABLES)
    db.sql(CREATE.format("", "cities", VIEWS["cities"]))
    db.sql("INSERT INTO shop VALUES (1, 'Bern'); INSERT INTO sale VALUES (1, 1, 2, 'a', 0)")
    db.rescale(3)
    names, view = folder.names, core_of(db).catalog.view("cities")

    def listed(under: str = "") -> list[str]:
        found = names(under)
        if under == "commits":  # it is read after this, and the pages of the chain before go
            folder.names = names  # type: ignore[method-assign]
            clean_left(Files(folder))
        return found

    folder.names = listed  # type: ignore[method-assign]
    following = Following(Files(folder, ()))
    assert following.known()[0] == db.time
    assert following.contents(view, db.time)


def test_a_definition_keeps_that_it_is_followed(tmp_path: Path) -> None:
    for text in (
        "CREATE TABLE t (id BIGINT); CREATE MATERIALIZED VIEW v WITH (change_feed = true) AS FROM t",
        "FROM v",
    ):
        with ivm.connect(tmp_path / "db", compile="off") as db:
            db.sql(text)
            view = core_of(db).catalog.view("v")
            assert view.change_feed
    plain = plain_view(view)
    assert view_of(plain) == view
    del plain["change_feed"]
    assert view_of(plain) == replace(view, change_feed=False), "earlier releases did not know it"


def test_what_is_gone_or_not_there_yet_is_refused_by_its_times() -> None:
    case = Case(0)
    case.sql(TABLES)
    case.create("cities")
    for number in range(30):
        case.sql(f"INSERT INTO few VALUES ({number}, 'x')")
    following = Following(case.root)
    now, catalog = following.known()
    view = catalog.view("cities")
    with pytest.raises(
        BindError, match=r"the changes of view cities after time 2 .* times from (\d\d) to 30 can be read"
    ):
        following.changes(view, 2, now)
    with pytest.raises(BindError, match=r"view cities as of time 2 .* times from \d\d to 30 can be read; begin anew"):
        following.contents(view, 2)
    with pytest.raises(BindError, match="view cities up to time 31"):
        following.changes(view, now, now + 1)
    case.many.rescale(3)
    for _ in range(10):
        case.sql("UPDATE few SET what = 'y' WHERE id = 1")
    with pytest.raises(BindError, match=r"times from 30 to 40 can be read"):
        following.changes(view, 29, now)
    assert following.changes(view, 30, 40) == []
    feeds = [name for name in case.folder.all() if name.startswith("feeds/")]
    assert not feeds, "those of the shards that were there before are gone"


def test_rows_of_every_type_are_added_up() -> None:
    """Also lists, by which Arrow does not group."""
    case = Case(0)
    types = {
        "e": ("ENUM('low', 'high')", "'high'"),
        "u": ("UBIGINT", "18000000000000000000"),
        "h": ("HUGEINT", "-5"),
        "i": ("UUID", "'6ccd780c-baba-1026-9564-5b8c656024db'"),
        "t": ("TIME", "'12:30:00'"),
        "f": ("FLOAT", "1.5"),
        "s": ("TIMESTAMP", "'2026-01-02 03:04:05'"),
        "z": ("TIMESTAMPTZ", "'2026-01-02 03:04:05+00'"),
        "d": ("DATE", "'2026-01-02'"),
        "b": ("BLOB", "'ab'::BLOB"),
        "o": ("BOOLEAN", "true"),
        "v": ("VARCHAR", "'é'"),
    }
    case.sql(
        f"CREATE TABLE many (id BIGINT PRIMARY KEY, {', '.join(f'{name} {each[0]}' for name, each in types.items())})"
    )
    values = ", ".join(each[1] for each in types.values())
    case.sql(f"INSERT INTO many VALUES (1, {values})")
    case.sql(CREATE.format("", "whole", "SELECT * EXCLUDE (id) FROM many"))
    case.sql(CREATE.format("", "lists", "SELECT list(u ORDER BY id) AS l FROM many GROUP BY id // 2"))
    for number in range(2, 7):
        case.sql(f"INSERT INTO many VALUES ({number}, {values}); INSERT INTO many (id) VALUES ({10 + number})")
        case.sql(f"DELETE FROM many WHERE id = {number - 1}")
    times = range(1, case.many.time + 1)
    assert agree(case.root, case.one, [(time, time, ("whole", "lists")) for time in times]) == 2 * len(times)


def test_a_snapshot_that_is_on_its_way_out_is_made_up_for_by_another() -> None:
    case = Case(0)
    case.sql(TABLES)
    case.create("everywhere")
    for number in range(30):
        case.sql(f"INSERT INTO few VALUES ({number}, 'x')")
    newest = read_snapshot(case.root, snapshots_of(case.root, 0, case.many.time + 9)[0])
    ((gone,),) = newest.views.values()
    case.folder.remove(gone.file)
    following = Following(case.root)
    now, catalog = following.known()
    assert gone not in [each for part in following.contents(catalog.view("everywhere"), now) for _, each in part.base]
    assert case.check()
