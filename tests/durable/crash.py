"""Kills processes that use a database on disk, and looks at what the next one finds.

A child opens the directory, tells what it found, and does one numbered step after the other, each acknowledged through
a pipe; it is killed at a random moment. What the next child finds must be what a database in memory holds after the
steps that were acknowledged, or after one more; where commits do not wait for the disk, after some of these steps, but
no fewer than were found before.

With --large many of the steps are commits that are written while they are worked on, as those of so many rows are: some
are taken, others refused, or undone by Ctrl-C and given again. With --beside the files are opened to be read while
the child works; what is seen must have been acknowledged, or be about to. With --defining most steps are of
`tests.durable.redefining`. With --named the child is told of changes by names too; see `tests.durable.consumer`.

Usage: `python -m tests.durable.crash FOLDER [--kills N] [--seed N] [--durability HOW] [--deep] [--large N] [--beside]
[--defining] [--named]`
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import signal
import sys
import time
from itertools import islice
from pathlib import Path

import ivm
from ivm.durable import grouping, journal
from ivm.storage.log import Durability
from ivm.storage.record import HEADER
from tests.durable import redefining
from tests.durable.consumer import Consumer
from tests.durable.opening import contents
from tests.durable.workload import LARGE_TABLES, TABLES, VIEWS, large_step, steps

_LONGEST = 0.12  # seconds that a child works
_PATIENCE = 20
"""So many times as many kills as were asked for, later and later, if that is what it takes for as many steps."""


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--durability", default="commit")
    parser.add_argument("--deep", action="store_true", help="compare views with DuckDB after each kill")
    parser.add_argument("--large", type=int, default=0, help="commits of so many rows, too")
    parser.add_argument("--beside", action="store_true", help="read the files while they are written")
    parser.add_argument("--defining", action="store_true", help="alter and replace what exists, in transactions too")
    parser.add_argument("--named", action="store_true", help="subscribe by names, which go on after each kill")
    asked = parser.parse_args(arguments)
    chance = random.Random(asked.seed)
    vars(journal)["LARGE"] = asked.large or grouping.LARGE
    _warm_up()
    trial = Trial(
        asked.folder / "shop.ivm", asked.seed, asked.durability, asked.deep, asked.large, asked.beside, asked.defining,
        asked.named,
    )  # fmt: skip
    longest = _LONGEST * (1 + asked.beside + (asked.large > 1000) + 3 * asked.named)
    beyond = [trial.run(chance.random() * longest) for _ in range(asked.kills)]
    while trial.done < asked.kills and len(beyond) < _PATIENCE * asked.kills:  # others have the processors
        beyond.append(trial.run(chance.random() * longest * len(beyond) / asked.kills * 2))
    more, missing = sum(each > 0 for each in beyond), -min(0, *beyond)
    print(
        f"{len(beyond)} kills, {trial.done} steps, {more} times one more than was acknowledged, {missing} missing at most"
        f", {trial.undecided} times what was not decided, {trial.seen} times read beside"
    )
    return 0 if trial.done >= asked.kills else 1


def _warm_up():
    """Import all that children use, so that they need not."""
    db = ivm.connect(compile="off")
    for step in islice(_steps(0), 60):
        step(db)
    contents(db)
    db.close()


class Trial:
    def __init__(
        self, path: Path, seed: int, durability: Durability, deep: bool, large: int = 0, beside: bool = False,
        defining: bool = False, named: bool = False,
    ) -> None:  # fmt: skip
        self.path, self.seed, self.durability, self.deep = path, seed, durability, deep
        self.large, self.beside, self.defining, self.named = large, beside, defining, named
        self.twin = ivm.connect(compile="off")
        self.steps = _steps(seed, large, defining)
        self.done = self.acknowledged = self.undecided = self.seen = 0
        self._seen: list[object] = []

    def run(self, seconds: float) -> int:
        """One child, killed so many seconds after it has told what it found: how many steps beyond the acknowledged."""
        out, left, child = self._child()
        found = pickle.load(out)
        if isinstance(found, str):
            raise AssertionError(found)
        acknowledged = self.acknowledged
        while self.done < acknowledged and self.durability == "commit":
            self._advance()
        while found != (now := self._held()):
            assert self.done <= acknowledged, f"after step {acknowledged}: {found} != {now}"
            self._advance()
        beyond = self.done - acknowledged
        self._forget()
        assert not self._seen, f"beside it was seen what never was: {self._seen[0]}"
        left.write(self.done.to_bytes(8, "little"))
        left.flush()
        until = time.monotonic() + seconds
        while self.beside and time.monotonic() < until:
            self._look()
        time.sleep(max(0, until - time.monotonic()))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.undecided += any(_is_undecided(each) for each in self.path.glob("*.log"))
        said = out.read()
        assert not said.strip(b"."), said.decode()
        self.acknowledged = self.done + len(said)
        out.close()
        left.close()
        return beyond

    def _look(self):
        with ivm.connect(self.path, compile="off", read_only=True) as db:
            self._seen.append(self._told(db))
        self.seen += 1

    def _advance(self):
        self._forget()
        next(self.steps)(self.twin)
        self.done += 1
        self._forget()

    def _forget(self):
        """What was seen, if it is what there is."""
        if self._seen:
            now = self._held()
            self._seen = [each for each in self._seen if each != now]

    def _held(self):
        return self._told(self.twin)

    def _told(self, db: ivm.Database) -> dict[str, object]:
        """What there is. A clock that begins is a commit of its own, before the view that reads it: times may differ."""
        return {name: held for name, held in contents(db).items() if name != "time" or not self.defining}

    def _child(self):
        (out, into), (told, tell) = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            os.close(out)
            os.close(tell)
            try:
                self._work(os.fdopen(into, "wb", buffering=0), os.fdopen(told, "rb"))
            finally:
                os._exit(1)
        os.close(into)
        os.close(told)
        return os.fdopen(out, "rb"), os.fdopen(tell, "wb"), child

    def _work(self, into, told):
        try:
            db = ivm.connect(self.path, compile="off", durability=self.durability, interval=0.01)
            if self.deep:
                db.verify()
            into.write(pickle.dumps(self._told(db)))
        except BaseException as error:
            into.write(pickle.dumps(f"{type(error).__name__}: {error}"))
            raise
        number = int.from_bytes(told.read(8), "little")
        consumers, chance = self._consumers(), random.Random(number)
        for step in islice(_steps(self.seed, self.large, self.defining), number, None):
            step(db)
            into.write(b".")
            try:
                for each in consumers:
                    each.take(db, chance)
            except BaseException as error:
                into.write(f"{type(error).__name__}: {error}".encode())
                raise

    def _consumers(self) -> list[Consumer]:
        if not self.named:
            return []
        view = "tagged" if self.defining else "by_item"
        return [
            Consumer(self.path.parent, "of_view", f"SELECT * FROM {view}", is_replaced=self.defining),
            Consumer(self.path.parent, "of_query", "SELECT id, price FROM sale WHERE price > 3 AND item = ?", ["ink"]),
        ]


def _is_undecided(log: Path) -> bool:
    """Whether a log ends in something of a record that has no header."""
    data, at = log.read_bytes(), 0
    while data[at : at + 4] == b"ivmR":
        size = int.from_bytes(data[at + 8 : at + 16], "little")
        at += HEADER + size + -size % 8
    return at < len(data) and not any(data[at : at + HEADER])


def _steps(seed: int, large: int = 0, defining: bool = False):
    """Endless steps, the same ones for the same seed."""
    for text in (*TABLES, *VIEWS):
        yield lambda db, text=text: db.sql(text)
    if not large:
        yield from _defining(seed) if defining else steps(seed, 10**9)
    for text in LARGE_TABLES:
        yield lambda db, text=text: db.sql(text)
    chance = random.Random(seed)
    for number, step in enumerate(steps(seed, 10**9)):
        yield step
        yield large_step(random.Random(chance.random()), number, large)


def _defining(seed: int):
    for text in (*redefining.TABLES, *redefining.VIEWS):
        yield lambda db, text=text: db.sql(text)
    chance = random.Random(seed)
    for number, step in enumerate(steps(seed, 10**9)):
        yield redefining.step(random.Random(chance.random()), number)
        if not number % 3:
            yield step


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
