"""Shards of engines as the subject of schedules: two tables, views with joins, groups and extremes over them, and one
engine as the reference.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import ivm
from ivm.arguments import MOST
from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import ConstraintError
from ivm.cluster.files.files import Files
from ivm.cluster.protocol import orders
from ivm.cluster.protocol.orders import Extent, Filling, Step
from ivm.cluster.protocol.terms import Order
from ivm.cluster.protocol.wire import EXCHANGE, Heard, Said, heard, parts, said_of
from ivm.cluster.shard.resident import Resident
from ivm.session.database import core_of
from tests.cluster.followed import Moment, agree

DEFINED = (
    "CREATE TABLE shop (id BIGINT PRIMARY KEY, city VARCHAR)",
    "CREATE TABLE sale (id BIGINT PRIMARY KEY, shop BIGINT, price DECIMAL(9,2) NOT NULL CHECK (price < 90))",
    "CREATE MATERIALIZED VIEW cities WITH (change_feed = true) AS SELECT city, sum(price) AS total, max(price) AS most, count(*) AS n "
    "FROM sale JOIN shop ON sale.shop = shop.id GROUP BY city",
    "CREATE MATERIALIZED VIEW none WITH (change_feed = true) AS SELECT id, city FROM shop WHERE id NOT IN (SELECT shop FROM sale)",
    "CREATE MATERIALIZED VIEW best WITH (change_feed = true) AS SELECT id, price FROM sale ORDER BY price DESC LIMIT 3",
    "DROP VIEW none",
)
Change = tuple[Any, ...]
Script = Mapping[int, Change]
"""What the batches of some numbers do; in all others rows come and go."""
AT_ONCE: Script = {number: ("define", which) for which, number in enumerate((0, 1, 3, 5, 7, 9))}
TOGETHER: Script = {
    number: (how, which)
    for number, how, which in ((0, "define", 0), (1, "together", 1), (3, "together", 2), (5, "together", 3),
                               (7, "together", 4), (9, "together", 5))
}  # fmt: skip
"""Rows come and go with what is defined, as in a transaction."""
_FIRST: tuple[Change, ...] = (
    *(("begin", 2), ("fill", Filling(Step.CUT, 1)), ("fill", Filling(Step.PART, 1, 0, 2))),
    *(("fill", Filling(Step.PART, 1, 1, 2)), ("fill", Filling(Step.CUT, 2)), ("fill", Filling(Step.PART, 2, 0, 1))),
)
_ON_THE_WAY: tuple[Change, ...] = (("fill", Filling(Step.CUT, 3)), ("fill", Filling(Step.PART, 3, 0, 1)))
_LAST: tuple[Change, ...] = (
    *(("filled", 2), ("begin", 3), ("fill", Filling(Step.CUT, 1)), ("fill", Filling(Step.CANCEL)), ("define", 3)),
)


def _between(*steps: Change) -> Script:
    return {0: ("define", 0), 1: ("define", 1), **{4 + 2 * i: step for i, step in enumerate(steps)}}


BETWEEN = _between(*_FIRST, *_LAST)
"""Two views are filled between commits; one of them is given up, and then defined at once."""
BETWEEN_MANY = _between(*_FIRST, *_ON_THE_WAY, *_LAST)
"""The same where the groups of the first one meet in two steps, as over many shards."""
SIZES = {"shop": 1_000.0, "sale": 10_000.0, "cities": 100.0, "none": 100.0}
LEVELS = 4
_STAGES = {"define": Extent.WHOLE, "begin": Extent.BEGUN, "filled": Extent.FILLED}


class Meeting(Resident):
    """A shard that `meet` is called in, in the middle of each step, and which works now and then on what is filled."""

    def __init__(self, number: int, shards: int, meet: Callable[[], None]) -> None:
        super().__init__(number, shards)
        self._meet = meet

    def step(self, order: Order, level: int, inputs: Sequence[Heard]) -> Sequence[Said]:
        """See `Resident.step`."""
        if level == 1 and (order.version + self.number) % 3:
            self.work(0)
        said = super().step(order, level, inputs)
        self._meet()
        return said


class Shards:
    """See `tests.cluster.schedule.Subject`. A change is ("define", which, time), ("rows", time, shops, sales, bad), or both,
    ("together", which, time, rows); or a step of a definition: ("begin", which, time), ("fill", step, time), ("filled",
    which, time).
    """

    exchange = EXCHANGE

    def __init__(self, shards: int, script: Script = AT_ONCE) -> None:
        self.shards = shards
        self.levels = 2 * LEVELS - 1 if script is TOGETHER else LEVELS
        self._script = script

    def make(self, shard: int, meet: Callable[[], None]) -> Resident:
        """A new shard."""
        return Meeting(shard, self.shards, meet)

    def draw(self, chance: random.Random, number: int, attempt: int) -> Change:
        """A definition, or rows: upserts of few keys, of which some tries have one that a constraint refuses."""
        said = self._script.get(number, ())
        if said and said[0] != "together":
            return (*said, number * 1_000 + attempt)
        shops = tuple((chance.randrange(6), chance.choice(("Bern", "Oslo", None))) for _ in range(chance.randrange(4)))
        has_sales = number > 1
        sales = tuple(
            (chance.randrange(12), chance.choice((None, *range(6))), chance.randrange(80), chance.random() < 0.75)
            for _ in range(chance.randrange(8) if has_sales else 0)
        )
        bad = has_sales and chance.random() < 0.3
        rows = ("rows", number * 1_000 + attempt, dict(shops), {each[0]: each for each in sales}, bad)
        return (*said, rows[1], rows) if said else rows

    def is_definition(self, change: Change) -> bool:
        """Whether it defines something."""
        return change[0] in ("define", "filled", "together")

    def order(self, change: Change) -> tuple[bytes, list[Said]]:
        """What the driver says."""
        none: list[Said] = []
        if change[0] == "fill":
            return change[1].text(), none
        if change[0] in _STAGES:
            old, new = catalogs()[change[1]], catalogs()[change[1] + 1]
            made = [table.name for table in new.tables if old.find(table.name) is None]
            if change[0] == "begin":
                view, old, new = next(each for each in new.views if old.find(each.name) is None), Catalog(), Catalog()
                new.content = {view.name: view}
            definition = orders.Definition.between(old, new, _time(change), made).planned(SIZES)
            return definition.at(_STAGES[change[0]]).text(), none
        if change[0] == "together":
            old, new = catalogs()[change[1]], catalogs()[change[1] + 1]
            made = [table.name for table in new.tables if old.find(table.name) is None]
            definition = orders.Definition.between(old, new, 0, made).planned(SIZES)
            return definition.followed_by(orders.Commit(change[2])).text(), self._given(change[3])
        return orders.Commit(_time(change)).text(), self._given(change)

    def _given(self, change: Change) -> list[Said]:
        return said_of(_changes(change))

    def time(self, order: Order, change: Change) -> int:
        """That of the rows, or when something is defined."""
        return _time(change)

    def follow(self, root: Files, changes: Sequence[Change]) -> int:
        """All views at all times, and what comes after."""
        db, moments = ivm.connect(history=MOST, compile="off"), list[Moment]()
        for change in changes:
            _to_one(db, change)
            moments.append((_time(change), db.time, [view.name for view in db.views()]))
        return agree(root, db, moments)

    def expected(self, changes: Sequence[Change]) -> Expected:
        """The contents of each shard. ConstraintError if the last change is bad."""
        last = changes[-1] if changes else ("",)
        rows = last[3] if last[0] == "together" else last
        if rows[0] == "rows" and rows[4]:
            raise ConstraintError("a price is too high")
        return Expected(self, tuple(changes))

    def contents(self, shard: Resident) -> dict[str, list[tuple[Any, ...]]]:
        """The rows of all tables and views that it has."""
        engine = shard.engine
        found = {name: _rows(store.reading()()) for name, store in engine.tables.items()}
        return found | {name: _rows(engine.contents(name).arrow()) for name in engine.views}


class Expected:
    """What shards hold without any danger, which is what one engine holds; computed when it is asked for."""

    def __init__(self, subject: Shards, changes: tuple[Change, ...]) -> None:
        self._subject, self._changes = subject, changes
        self._found: list[dict[str, list[tuple[Any, ...]]]] | None = None

    def __getitem__(self, shard: int) -> dict[str, list[tuple[Any, ...]]]:
        if self._found is None:
            self._found = self._computed()
        return self._found[shard]

    def _computed(self) -> list[dict[str, list[tuple[Any, ...]]]]:
        subject = self._subject
        residents = [Resident(number, subject.shards) for number in range(subject.shards)]
        db = ivm.connect(compile="off")
        for version, change in enumerate(self._changes, 1):
            _through(residents, Order(version, "", "", *subject.order(change)[:1], subject.levels, subject.shards),
                     subject.order(change)[1])  # fmt: skip
            _to_one(db, change)
        found = [subject.contents(each) for each in residents]
        whole = {name: sorted((row for each in found for row in each[name]), key=repr) for name in found[0]}
        assert whole == _contents(db), "shards together hold what one engine holds"
        return found


@cache
def catalogs() -> list[Catalog]:
    """What exists before each definition, and after the last one."""
    db = ivm.connect(compile="off")
    found = [core_of(db).catalog.fixed()]
    for text in DEFINED:
        db.sql(text)
        found.append(core_of(db).catalog.fixed())
    return found


def _changes(change: Change) -> list[Any]:
    """As checked changes of tables: upserts, and deletes of what may not be there."""
    db = ivm.connect(compile="off")
    for text in DEFINED[:2]:
        db.sql(text)
    incoming = core_of(db).incoming
    return [incoming.change(name, rows, "upsert") for name, rows in _given(change).items()]


def _given(change: Change) -> dict[str, list[dict[str, Any]]]:
    _, time, shops, sales, bad = change
    given = {}
    if shops:
        given["shop"] = [{"id": key, "city": city, "_time": time, "_diff": 1} for key, city in shops.items()]
    if sales or bad:
        rows = [
            {"id": key, "shop": shop, "price": price, "_time": time, "_diff": 1 if stays else -1}
            for key, shop, price, stays in sales.values()
        ]
        given["sale"] = [*rows, {"id": 99, "shop": 1, "price": 95, "_time": time, "_diff": 1}] if bad else rows
    return given


def _time(change: Change) -> int:
    return int(change[1] if change[0] == "rows" else change[2])


def _to_one(db: ivm.Database, change: Change) -> None:
    if change[0] in ("define", "filled"):
        db.sql(DEFINED[change[1]])
    elif change[0] == "together":
        db.sql(DEFINED[change[1]])
        _to_one(db, change[3])
    elif change[0] == "rows" and _given(change):
        db.apply(_given(change), mode="upsert")


def _through(residents: Sequence[Resident], order: Order, said: Sequence[Said]) -> None:
    for level in range(1, order.levels + 1):
        inputs = heard(parts(said, order.shards, 1))
        said = [
            each
            for number, resident in enumerate(residents)
            for each in resident.step(order, level, inputs.get(number, ()))
        ]
    for each in residents:
        each.keep()


def _contents(db: ivm.Database) -> dict[str, list[tuple[Any, ...]]]:
    engine = core_of(db).engine
    found = {name: _rows(store.reading()()) for name, store in engine.tables.items()}
    return found | {name: _rows(engine.contents(name).arrow()) for name in engine.views}


def _rows(table: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)
