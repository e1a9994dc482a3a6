"""Short histories of small domains over shards: what goes comes back, moves from shard to shard, and back again.

Few keys and values, so that keys, groups and whole tables are empty now and then; views are made over rows that are
there, dropped, and made anew. After each step one engine that was told the same has to agree, now and then DuckDB.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa

import ivm
from ivm.catalog.errors import ConstraintError
from ivm.cluster.driver.database import ShardedDatabase
from ivm.cluster.driver.filler import Pace
from ivm.cluster.driver.transport import InProcess
from tests.cluster.many import planned_as_many
from tests.cluster.memory import MemoryFolder
from tests.cluster.over_copies import connect

TABLES = """
CREATE TABLE sale (id BIGINT, at BIGINT, a BIGINT CHECK (a < 9), t VARCHAR, PRIMARY KEY (id, at)) PARTITIONED BY (at);
CREATE TABLE shop (id BIGINT PRIMARY KEY, city VARCHAR) {replicated};
CREATE TABLE bag (a BIGINT, t VARCHAR);
"""
COLUMNS = {"sale": ("id", "at", "a", "t"), "shop": ("id", "city"), "bag": ("a", "t")}
TYPES = dict.fromkeys(("id", "at", "a", "_time", "_diff"), pa.int64()) | dict.fromkeys(("t", "city"), pa.string())
KEYS = {"sale": 2, "shop": 1, "bag": 0}
IDS, VALUES, TEXTS = (0, 1, 2, 3), (0, 1, 2, 3, None), ("a", "b", "", None)
GROUPS = (
    "SELECT a, count(*) AS n FROM sale GROUP BY a",
    "SELECT at, sum(a) AS s, count(*) AS n FROM sale GROUP BY at",
    "SELECT a, count(*) AS n FROM bag GROUP BY a",
    "SELECT DISTINCT a FROM bag",
    "SELECT DISTINCT id, at FROM sale",
    "SELECT a, t, max(t) AS high FROM bag GROUP BY a, t",
)
VIEWS = (
    *GROUPS * 2,
    "SELECT t, count(*) AS n, sum(a) AS s, min(a) AS low, max(a) AS high, avg(a) AS mean FROM sale GROUP BY t",
    "SELECT t, a, count(*) AS n FROM bag GROUP BY t, a",
    "SELECT count(*) AS n, sum(a) AS s, max(t) AS t FROM bag",
    "SELECT count(DISTINCT a) AS n, count(DISTINCT t) AS m FROM sale",
    "SELECT t, count(DISTINCT a) AS n FROM bag GROUP BY t HAVING count(*) > 1",
    "SELECT DISTINCT t FROM bag",
    "SELECT DISTINCT a, t FROM sale",
    "SELECT sale.id, at, city FROM sale JOIN shop ON sale.a = shop.id",
    "SELECT sale.id, at, city FROM sale LEFT JOIN shop ON sale.a = shop.id",
    "SELECT shop.id, bag.t FROM bag RIGHT JOIN shop ON bag.a = shop.id",
    "SELECT sale.id, sale.at, bag.t, bag.a FROM sale FULL JOIN bag ON sale.a = bag.a",
    "SELECT city, count(*) AS n, sum(a) AS s FROM sale JOIN shop ON sale.at = shop.id GROUP BY city",
    "SELECT x.a, y.t, count(*) AS n FROM sale AS x JOIN sale AS y ON x.a = y.at GROUP BY x.a, y.t",
    "SELECT id, city FROM shop WHERE id NOT IN (SELECT at FROM sale)",
    "SELECT id, at FROM sale WHERE EXISTS (SELECT 1 FROM bag WHERE bag.t = sale.t AND bag.a <> sale.a)",
    "SELECT id, at FROM sale WHERE a > (SELECT avg(a) FROM bag WHERE bag.t = sale.t)",
    "SELECT a FROM sale UNION SELECT a FROM bag",
    "SELECT a, t FROM sale EXCEPT ALL SELECT a, t FROM bag",
    "SELECT t, count(*) AS n, sum(a) AS s FROM (SELECT a, t FROM sale EXCEPT ALL SELECT a, t FROM bag) AS x GROUP BY t",
    "SELECT t, count(*) AS n FROM (SELECT a, t FROM bag EXCEPT SELECT a, t FROM sale) AS x GROUP BY t",
    "SELECT t FROM sale INTERSECT SELECT t FROM bag",
    "SELECT id, at, a FROM sale ORDER BY a DESC NULLS LAST, id, at LIMIT 2",
    "SELECT a, t FROM bag ORDER BY t, a LIMIT 2 OFFSET 1",
    "SELECT id, at, row_number() OVER (PARTITION BY t ORDER BY a, id, at) AS n FROM sale",
    "SELECT id, at, sum(a) OVER (ORDER BY id, at) AS s FROM sale",
    "SELECT t, list(a ORDER BY a, id, at) AS l FROM sale GROUP BY t",
    "SELECT t, arg_max(id, a * 100 + id * 10 + at) AS best FROM sale GROUP BY t",
    "SELECT n, count(*) AS m FROM (SELECT t, count(*) AS n FROM bag GROUP BY t) AS x GROUP BY n",
    "SELECT city, n FROM shop LEFT JOIN (SELECT at, count(*) AS n FROM sale GROUP BY at) AS x ON x.at = shop.id",
)
STACKED = (
    "SELECT count(*) AS n FROM {0}",
    "SELECT x.*, shop.city AS other FROM {0} AS x CROSS JOIN shop WHERE shop.id = 1",
    "SELECT DISTINCT * FROM {0}",
)
Row = tuple[Any, ...]
Edit = list[tuple[Row, int]]


@dataclass
class Model:
    """What the tables hold, and what has gone from them, so that it may come back."""

    rng: Random
    rows: dict[str, Counter[Row]] = field(default_factory=lambda: {name: Counter() for name in COLUMNS})
    gone: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in COLUMNS})
    table: str = "sale"
    """The one that changes most."""

    def edits(self) -> list[tuple[str, Edit]]:
        """What a commit does, one after the other, to which table; the rows are as after it."""
        kinds = (*(self._return, self._some) * 4, self._insert, self._delete, self._clear, self._move, self._back)
        found = []
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            table = self.rng.choice(("sale", "bag", "shop")) if self.rng.random() < 0.2 else self.table
            edit = self.rng.choice(kinds)(table)
            for row, diff in edit:
                self.rows[table][row] += diff
                self.gone[table] += [row] * (diff < 0)
            self.rows[table] = +self.rows[table]
            found.append((table, edit))
        return found

    def _insert(self, table: str) -> Edit:
        return self._new(table, [self._row(table) for _ in range(self.rng.choice((1, 2, 5)))])

    def _return(self, table: str) -> Edit:
        """Some of what has gone is back, as it was."""
        self.rng.shuffle(self.gone[table])
        back = [self.gone[table].pop() for _ in range(min(len(self.gone[table]), self.rng.choice((1, 9))))]
        return self._new(table, back)

    def _new(self, table: str, rows: Iterable[Row]) -> Edit:
        """Those rows whose keys are free."""
        keys, edit = {row[: KEYS[table]] for row in self.rows[table]}, list[tuple[Row, int]]()
        for row in rows:
            if not KEYS[table] or row[: KEYS[table]] not in keys:
                keys.add(row[: KEYS[table]])
                edit.append((row, 1))
        return edit

    def begin(self) -> list[tuple[str, Edit]]:
        """Rows for all tables, in the order of their columns, as those of a file are."""
        edits = []
        for table in COLUMNS:
            rows = sorted({self._row(table) for _ in range(self.rng.choice((4, 8)))}, key=lambda row: [*map(repr, row)])
            edits.append((table, self._new(table, rows)))
            self.rows[table] += Counter(dict(edits[-1][1]))
        return edits

    def _some(self, table: str) -> Edit:
        """A few rows: the last of a group, or not."""
        rows = [*self.rows[table].elements()]
        gone = Counter(self.rng.sample(rows, min(len(rows), self.rng.choice((1, 2, 3)))))
        return [(row, -count) for row, count in gone.items()]

    def _delete(self, table: str) -> Edit:
        """All rows with a value of some column."""
        column, like = self.rng.randrange(len(COLUMNS[table])), self._row(table)
        return [(row, -count) for row, count in self.rows[table].items() if row[column] == like[column]]

    def _clear(self, table: str) -> Edit:
        return [(row, -count) for row, count in self.rows[table].items()]

    def _move(self, table: str) -> Edit:
        """Rows with a value of some column, perhaps of the key, get another one, and go to other shards by that."""
        column, old, new = self.rng.randrange(len(COLUMNS[table])), self._row(table), self._row(table)
        rows = {row: count for row, count in self.rows[table].items() if row[column] == old[column]}
        moved = [((*row[:column], new[column], *row[column + 1 :]), count) for row, count in rows.items()]
        keys = [row[: KEYS[table]] for row in (*(row for row, _ in moved), *(self.rows[table].keys() - rows.keys()))]
        if KEYS[table] and len(set(keys)) < len(keys):
            return []
        return [*((row, -count) for row, count in rows.items()), *moved]

    def _back(self, table: str) -> Edit:
        """What goes and comes in one commit."""
        there = [*self.rows[table].items()]
        return [*((row, -count) for row, count in there), *there]

    def _row(self, table: str) -> Row:
        pick = self.rng.choice
        if table == "sale":
            return pick(IDS[:2]), pick(IDS), pick(VALUES), pick(TEXTS)
        return (pick(IDS), pick(TEXTS)) if table == "shop" else (pick(VALUES), pick(TEXTS))


def batches(edits: Sequence[tuple[str, Edit]], times: Sequence[int]) -> dict[str, pa.Table]:
    """Edits as changes of one commit, those of each at a logical time of their own, or at that of others."""
    found: dict[str, list[Row]] = {}
    for (table, edit), time in zip(edits, times, strict=True):
        found.setdefault(table, []).extend(
            (*row, time, diff // abs(diff)) for row, diff in edit for _ in range(abs(diff))
        )
    return {
        table: pa.Table.from_arrays(
            [pa.array(values, TYPES[name]) for name, values in zip(names, zip(*rows, strict=True), strict=True)],
            [*names],
        )
        for table, rows in found.items()
        for names in [(*COLUMNS[table], "_time", "_diff")]
        if rows
    }


@dataclass(frozen=True)
class Drawn:
    """What a history is drawn from: queries, the share of histories over copies in a folder, how many shards may be."""

    queries: Sequence[str] = VIEWS
    kept: float = 0.15
    shards: Sequence[int] = (1, 2, 3)


USUAL = Drawn()


class History:
    """The history of a seed over so many shards: in one process, or over copies that die and are loaded again."""

    def __init__(self, seed: int, shards: int, drawn: Drawn) -> None:
        self.rng = Random(seed)
        self._drawn = drawn
        self.texts: list[str] = []
        """What was done, for who looks for the cause."""
        self.views: dict[str, str] = {}
        self._model = Model(self.rng)
        self._one = ivm.connect(compile="off")
        self._folder = MemoryFolder() if self.rng.random() < drawn.kept else None
        self._shards = shards
        self._many = self._connected()

    def _connected(self) -> ShardedDatabase:
        if self._folder is None:
            db = ivm.connect(shards=self._shards, compile="off")
            assert isinstance(db, ShardedDatabase)
            return db
        rate = self.rng.choice((0, 0.02, 0.1))
        return connect(self._folder, self._shards, moves=lambda shard: self.rng.random() < rate)

    def run(self) -> None:
        """All steps. AssertionError where one engine, or DuckDB, says something else."""
        self._both(TABLES.format(replicated=self.rng.choice(("", "REPLICATED"))))
        with self._ways():
            if self.rng.random() < 0.6:
                self._apply(self._model.begin())
            for _ in range(self.rng.choice((1, 2, 4))):
                for _ in range(self.rng.choice((0, 1, 2, 3))):
                    self._create()
                self._model.table = self.rng.choice(("sale", "bag", "bag", "shop"))
                for _ in range(self.rng.choice((4, 8, 12))):
                    self.rng.choice((*(self._commit,) * 12, self._refused, self._refused, self._again, self._drop))()
                    self._agree()
                    if self.rng.random() < 0.3:
                        self._many.verify()
            self._many.verify()
            self._told()
        self._many.close()
        self._one.close()

    @contextmanager
    def _ways(self) -> Iterator[None]:
        """How views are planned and filled: what no result depends on."""
        with ExitStack() as stack:
            if self.rng.random() < 0.3:
                stack.enter_context(planned_as_many())
            if self.rng.random() < 0.3:
                stack.enter_context(patch.object(InProcess, "pace", Pace(0, self.rng.choice((1, 3)), 0)))
            yield

    def _both(self, text: str) -> None:
        self.texts.append(text)
        for db in (self._one, self._many):
            db.sql(text)

    def _commit(self) -> None:
        edits = self._model.edits()
        self._apply(edits)

    def _apply(self, edits: Sequence[tuple[str, Edit]]) -> None:
        """One commit, at one logical time or at one for each edit; or a commit for each."""
        way = self.rng.choice(("together", "apart", "each"))
        for part in [[edit] for edit in edits] if way == "each" else [edits]:
            time = max(self._one.time, self._many.time) + 1
            changes = batches(part, [time + i * (way == "apart") for i in range(len(part))])
            if way == "together":
                changes = {name: rows.drop_columns("_time") for name, rows in changes.items()}
            if changes:
                self.texts.append(f"-- {way}: {part}")
                for db in (self._one, self._many):
                    db.apply(changes)

    def _refused(self) -> None:
        """All that a commit would have done is undone."""
        before = {name: rows.copy() for name, rows in self._model.rows.items()}
        edits = [*self._model.edits(), ("sale", [((7, self.rng.choice(IDS), 9, None), 1)])]
        self._model.rows = before
        for db in (self._one, self._many):
            try:
                db.apply({name: rows.drop_columns("_time") for name, rows in batches(edits, [1] * len(edits)).items()})
            except ConstraintError:
                continue
            raise AssertionError("a CHECK does not hold, and nobody says so")
        self.texts.append(f"-- refused: {edits}")

    def _create(self) -> None:
        name = f"v{len(self.views)}"
        stacked = self.views and self.rng.random() < 0.2
        query = (
            self.rng.choice(STACKED).format(self.rng.choice([*self.views]))
            if stacked
            else self.rng.choice(self._drawn.queries)
        )
        if stacked and self.rng.random() < 0.3:
            name = f"{name}s"
        self._both(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        self.views[name] = query

    def _drop(self) -> None:
        """A view goes, and is made again: over the rows that there are by now."""
        read = {name for name in self.views for query in self.views.values() if f" {name}" in query}
        if free := [name for name in self.views if name not in read]:
            name = self.rng.choice(free)
            self._both(f"DROP MATERIALIZED VIEW {name}")
            self._commit()
            self._both(f"CREATE MATERIALIZED VIEW {name} AS {self.views[name]}")

    def _again(self) -> None:
        """Over other shards, or opened anew."""
        if self._folder is not None and self.rng.random() < 0.5:
            self.texts.append("-- opened anew")
            self._many.close()
            self._many = self._connected()
            return
        self._shards = self.rng.choice(self._drawn.shards)
        self.texts.append(f"-- over {self._shards} shards")
        self._many.rescale(self._shards)

    def _agree(self) -> None:
        for name in self.views:
            one, many = (Counter(map(repr, rows_of(db, name))) for db in (self._one, self._many))
            assert one == many, f"{name}: one engine has {one - many}, shards have {many - one}"

    def _told(self) -> None:
        """Tables hold what the model has."""
        for name, rows in self._model.rows.items():
            found = Counter(self._many.sql(f"SELECT * FROM {name}").fetchall())
            assert rows == found, f"{name} should have {rows - found}, and not {found - rows}"


def rows_of(db: ivm.Database, view: str) -> Iterator[Row]:
    """The rows of a view."""
    found = db.view(view).arrow()
    return zip(*(column.to_pylist() for column in found.columns), strict=True)


def play(seed: int, shards: int, drawn: Drawn = USUAL) -> History:
    """The history of a seed. AssertionError, with all that was done, for one that goes wrong."""
    history = History(seed, shards, drawn)
    try:
        history.run()
    except Exception as error:
        text = ";\n".join(history.texts)
        raise AssertionError(f"seed {seed}, {shards} shards: {type(error).__name__}: {error}\n{text}") from error
    return history
