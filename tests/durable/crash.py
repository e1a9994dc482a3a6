"""Kills processes that use a database on disk, and looks at what the next one finds.

A child opens the directory, tells what it found, and does one numbered step after the other, each acknowledged through
a pipe; it is killed at a random moment. What the next child finds must be what a database in memory holds after the
steps that were acknowledged, or after one more; where commits do not wait for the disk, after some of these steps, but
no fewer than were found before.

Usage: `python -m tests.durable.crash FOLDER [--kills N] [--seed N] [--durability HOW] [--deep]`
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
from ivm.storage.log import Durability
from tests.durable.opening import contents
from tests.durable.workload import TABLES, VIEWS, steps

_LONGEST = 0.12  # seconds that a child works
_PATIENCE = 5
"""So many times as many kills as were asked for, later and later, if that is what it takes for as many steps."""


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--durability", default="commit")
    parser.add_argument("--deep", action="store_true", help="compare views with DuckDB after each kill")
    asked = parser.parse_args(arguments)
    chance = random.Random(asked.seed)
    _warm_up()
    trial = Trial(asked.folder / "shop.ivm", asked.seed, asked.durability, asked.deep)
    beyond = [trial.run(chance.random() * _LONGEST) for _ in range(asked.kills)]
    while trial.done < asked.kills and len(beyond) < _PATIENCE * asked.kills:  # others have the processors
        beyond.append(trial.run(chance.random() * _LONGEST * len(beyond) / asked.kills * 2))
    more, missing = sum(each > 0 for each in beyond), -min(0, *beyond)
    print(
        f"{len(beyond)} kills, {trial.done} steps, {more} times one more than was acknowledged, {missing} missing at most"
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
    def __init__(self, path: Path, seed: int, durability: Durability, deep: bool) -> None:
        self.path, self.seed, self.durability, self.deep = path, seed, durability, deep
        self.twin = ivm.connect(compile="off")
        self.steps = _steps(seed)
        self.done = self.acknowledged = 0

    def run(self, seconds: float) -> int:
        """One child, killed so many seconds after it has told what it found: how many steps beyond the acknowledged."""
        out, left, child = self._child()
        found = pickle.load(out)
        if isinstance(found, str):
            raise AssertionError(found)
        acknowledged = self.acknowledged
        while self.done < acknowledged and self.durability == "commit":
            self._advance()
        while found != contents(self.twin):
            assert self.done <= acknowledged, f"after step {acknowledged}: {found} != {contents(self.twin)}"
            self._advance()
        beyond = self.done - acknowledged
        left.write(self.done.to_bytes(8, "little"))
        left.flush()
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.acknowledged = self.done + len(out.read())
        out.close()
        left.close()
        return beyond

    def _advance(self):
        next(self.steps)(self.twin)
        self.done += 1

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
            into.write(pickle.dumps(contents(db)))
        except BaseException as error:
            into.write(pickle.dumps(f"{type(error).__name__}: {error}"))
            raise
        number = int.from_bytes(told.read(8), "little")
        for step in islice(_steps(self.seed), number, None):
            step(db)
            into.write(b".")


def _steps(seed: int):
    """Endless steps, the same ones for the same seed."""
    for text in (*TABLES, *VIEWS):
        yield lambda db, text=text: db.sql(text)
    yield from steps(seed, 10**9)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
