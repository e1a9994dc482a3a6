"""Somebody who subscribes by a name, and carries out what he is told in a file of his own, until he is killed.

Each time that he has taken all, what he has must be what the view holds; he is told nothing of what he has acknowledged.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from contextlib import suppress
from pathlib import Path

import ivm
from ivm.subscriptions.subscription import Subscription


class Consumer:
    def __init__(
        self, folder: Path, name: str, query: str, params: list[object] | None = None, *, is_replaced: bool = False
    ) -> None:
        """`is_replaced`: whether another view may take the place of what it is told of, so that it begins anew."""
        self.name, self.query, self.params, self._is_replaced = name, query, params, is_replaced
        self._file = folder / f"{name}.json"
        self._time, self._rows = -1, Counter[str]()
        self._acknowledged = -1
        self._subscription: Subscription | None = None
        self._is_first = True

    def take(self, db: ivm.Database, chance: random.Random) -> None:
        """All that has come; then what he has is what there is. Now and then he acknowledges it."""
        told = self._told(db)
        if told is None:
            return
        for *values, time, diff in (tuple(row.values()) for row in told.to_pylist()):
            assert not self._is_first or time > self._acknowledged or self._acknowledged < 0, "told twice"
            if not self._is_first or time > self._time:  # he has carried it out, and was killed before he said so
                self._rows[repr(tuple(values))] += diff
        self._is_first = False
        self._time = max(db.time, self._time)
        self._rows = Counter({row: count for row, count in self._rows.items() if count})
        there = Counter(repr(row) for row in db.sql(self.query, self.params).fetchall())
        assert self._rows == there, f"by {self.name} at {self._time}: {self._rows - there} {there - self._rows}"
        aside = self._file.with_suffix(".new")
        aside.write_text(json.dumps([self._time, self._rows]))
        os.replace(aside, self._file)
        if chance.random() < 0.5 and self._subscription is not None:
            self._subscription.acknowledge()

    def _told(self, db: ivm.Database):
        if self._subscription is None or self._subscription.ended is not None:
            self._subscription = None
            with suppress(ivm.BindError):  # there is no such view
                self._begin(db)
        if self._subscription is None:
            return None
        try:
            return self._subscription.fetch()
        except ivm.ViewDroppedError:
            self._subscription = None
            return None

    def _begin(self, db: ivm.Database) -> None:
        known = "SELECT acknowledged FROM ivm_subscriptions WHERE name = ?"
        try:
            self._acknowledged = next((row[0] for row in db.sql(known, [self.name]).fetchall()), -1)
            self._subscription = db.subscribe(self._of(), self.params, name=self.name, snapshot=True)
        except ivm.LagError:
            if not self._is_replaced:
                raise
            db.forget_subscription(self.name)
            self._acknowledged = -1
            self._subscription = db.subscribe(self._of(), self.params, name=self.name, snapshot=True)
        self._is_first = True
        self._time, self._rows = -1, Counter()
        if self._acknowledged >= 0:
            time, rows = json.loads(self._file.read_text())
            assert time >= self._acknowledged
            self._time, self._rows = time, Counter(rows)

    def _of(self) -> str:
        return self.query if self.params is not None else self.query.removeprefix("SELECT * FROM ")
