"""Two schemas whose tables are joined many to many, by columns that no table is partitioned by: as on one engine."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

import ivm


@dataclass(frozen=True)
class Shape:
    """Views over tables; of each table the columns behind its key, and how many values each has."""

    views: Mapping[str, str]
    columns: Mapping[str, Mapping[str, int]]

    @property
    def tables(self) -> str:
        return "".join(
            f"CREATE TABLE {name} (id BIGINT PRIMARY KEY, {', '.join(f'{each} INTEGER' for each in columns)});"
            for name, columns in self.columns.items()
        )


SOCIAL = Shape(
    {
        "feed": "SELECT f.follower, p.id, p.topic FROM follows f JOIN post p ON f.followee = p.author",
        "feed_of_likes": "SELECT f.follower, count(*) AS n, max(p.id) AS newest FROM follows f JOIN post p "
        "ON f.followee = p.author JOIN likes l ON l.topic = p.topic AND l.reader = f.follower GROUP BY f.follower",
        "friends_of_friends": "SELECT a.follower, b.followee, count(*) AS ways FROM follows a JOIN follows b "
        "ON a.followee = b.follower WHERE a.follower <> b.followee GROUP BY a.follower, b.followee",
        "words_together": "SELECT a.word AS one, b.word AS other, count(DISTINCT a.post) AS posts FROM tag a JOIN tag b "
        "ON a.post = b.post AND a.word < b.word GROUP BY a.word, b.word",
        "lonely": "SELECT p.id FROM post p WHERE NOT EXISTS (SELECT * FROM likes l WHERE l.topic = p.topic)",
        "topics": "SELECT l.topic, count(p.id) AS posts, count(DISTINCT l.reader) AS readers FROM likes l "
        "LEFT JOIN post p ON p.topic = l.topic GROUP BY l.topic ORDER BY readers DESC, l.topic LIMIT 3",
    },
    {
        "follows": {"follower": 6, "followee": 6},
        "post": {"author": 6, "topic": 4},
        "tag": {"post": 9, "word": 5},
        "likes": {"reader": 6, "topic": 4},
    },
)
SHIFTS = Shape(
    {
        "matches": "SELECT d.site, s.worker, d.day FROM demand d JOIN shift s ON d.skill = s.skill AND d.day = s.day",
        "short": "SELECT d.site, d.day, count(*) AS wanted, count(s.worker) AS there FROM demand d LEFT JOIN shift s "
        "ON d.skill = s.skill AND d.day = s.day GROUP BY d.site, d.day",
        "reachable": "SELECT DISTINCT s.worker, t2.goal FROM shift s JOIN demand d ON s.skill = d.skill AND s.day = d.day "
        "JOIN trip t1 ON t1.origin = d.site AND t1.day = d.day JOIN trip t2 ON t2.origin = t1.goal AND t2.day >= t1.day",
        "idle": "SELECT s.worker, s.day FROM shift s EXCEPT SELECT s.worker, s.day FROM shift s JOIN demand d "
        "ON s.skill = d.skill AND s.day = d.day",
        "ranked": "SELECT d.day, s.worker, row_number() OVER (PARTITION BY d.day ORDER BY count(*) DESC, s.worker) AS place "
        "FROM demand d JOIN shift s ON d.skill = s.skill AND d.day = s.day GROUP BY d.day, s.worker",
    },
    {
        "shift": {"worker": 7, "skill": 3, "day": 4},
        "demand": {"site": 5, "skill": 3, "day": 4},
        "trip": {"origin": 5, "goal": 5, "day": 4},
    },
)


@pytest.mark.parametrize("shards", [2, 3, 7])
@pytest.mark.parametrize("shape", [SOCIAL, SHIFTS], ids=["social", "shifts"])
def test_many_to_many(shape, shards):
    stream, views, filled = Stream(random.Random(shards), shape.columns), list(shape.views), set()
    with ivm.connect(compile="off") as one, ivm.connect(shards=shards, compile="off") as db:
        for each in (one, db):
            each.sql(shape.tables)
        for step in range(12):
            # Half of the views are there first, the others are filled from what there is.
            new = {0: views[::2], 3: views[1::2]}.get(step, [])
            changes = stream.changes()
            for each in (one, db):
                for name in new:
                    each.sql(f"CREATE MATERIALIZED VIEW {name} AS {shape.views[name]}")
                each.apply(changes)
            for name in views if step >= 3 else views[::2]:
                rows = sorted(db.view(name).fetchall(), key=repr)
                assert rows == sorted(one.view(name).fetchall(), key=repr), (name, step)
                filled |= {name} if rows else set()
        assert filled == set(views)
        assert all("exchange" in db.explain(query) for query in shape.views.values())
        db.verify()


class Stream:
    """Random changes of tables: new rows, rows that go, and rows that change."""

    def __init__(self, draw, columns):
        self._draw, self._columns, self._number = draw, columns, 0
        self._living: dict[str, dict[int, dict[str, int | None]]] = {table: {} for table in columns}

    def changes(self):
        return {table: self._of(table) for table in self._columns}

    def _of(self, table):
        living, changes = self._living[table], []
        for number in self._draw.sample(sorted(living), len(living) // 4):
            changes.append((number, living.pop(number), -1))
            if self._draw.random() < 0.5:
                changes.append((number, self._row(table), 1))
        for _ in range(self._draw.randint(2, 8)):
            self._number += 1
            changes.append((self._number, self._row(table), 1))
        living |= {number: row for number, row, diff in changes if diff > 0}
        return [{"id": number, **row, "_diff": diff} for number, row, diff in changes]

    def _row(self, table):
        return {
            name: None if self._draw.random() < 0.05 else self._draw.randrange(count)
            for name, count in self._columns[table].items()
        }
