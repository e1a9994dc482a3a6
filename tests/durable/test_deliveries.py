"""Kills processes that deliver what changes in a view, and looks whether each change has arrived once."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import ivm
from ivm.storage.directory_folder import DirectoryFolder
from tests.cluster import over_copies
from tests.interface.test_deliveries import TABLES, added, files, sell

KILLS = 6
QUERY = "SELECT city, sum(price) AS total, count(*) AS n FROM sale WHERE price IS NOT NULL GROUP BY city"


def connect(path: Path | str, of: str, shards: int) -> ivm.Database:
    """The database of a directory, or of a folder of shards."""
    history = 10_000 if of == "revenue" else 0
    if shards:
        return over_copies.connect(DirectoryFolder(Path(path)), shards, history)
    return ivm.connect(path, compile="off", history=history)


def work(path: str, to: str, seed: int, ready: int, of: str = "revenue", shards: int = 0) -> None:
    """Deliver, and commit, until somebody makes an end of it; `ready` is the pipe to say that it has begun."""
    draw = random.Random(seed)
    db = connect(path, of, shards)
    db.deliver(of, to)
    os.write(ready, b".")
    while True:
        sell(db, draw.randrange(20), draw.choice("ABC"))


def _kill(path: Path, to: str, seed: int, of: str, shards: int) -> None:
    """Begin such a process, and kill it at a random moment."""
    heard, ready = os.pipe()
    if to.startswith("delta:"):  # whose threads are not in a process that is forked
        code = f"from tests.durable.test_deliveries import work; work({str(path)!r}, {to!r}, {seed}, {ready}, {of!r})"
        with subprocess.Popen([sys.executable, "-c", code], pass_fds=[ready]) as process:
            _wait(heard, ready, seed)
            process.kill()
        return
    child = os.fork()
    if child == 0:
        try:
            work(str(path), to, seed, ready, of, shards)
        finally:
            os._exit(1)
    _wait(heard, ready, seed)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _wait(heard: int, ready: int, seed: int) -> None:
    os.close(ready)
    assert os.read(heard, 1) == b"."
    os.close(heard)
    time.sleep(random.Random(seed).uniform(0.0, 0.25))


@pytest.mark.parametrize(
    ("kind", "of", "shards"),
    [
        *(("", "revenue", 0), ("", QUERY, 0)),
        ("", QUERY, 2),  # of a view the next driver of shards knows no past
        *(pytest.param("delta:", of, 0, marks=pytest.mark.slow) for of in ("revenue", QUERY)),
    ],
)
def test_who_is_killed_neither_loses_nor_doubles_a_change(tmp_path, kind, of, shards):
    path, to, away = tmp_path / "shop.ivm", f"{kind}{tmp_path / 'out'}", tmp_path / "away"
    away.mkdir()
    with connect(path, of, shards) as db:
        db.sql(TABLES)
    for seed in range(KILLS):
        _kill(path, to, seed, of, shards)
        if not kind and (tmp_path / "out").exists():  # a reader takes away what it has read
            for each in files(to)[: seed % 3]:
                shutil.move(each, away)
    assert files(to) or list(away.iterdir())
    with connect(path, of, shards) as db:
        assert db.time > (0 if shards else 5)  # however slow the machine
        with db.deliver(of, to) as delivery:
            assert delivery.wait(30)
        both = added(to)
        both.update(added(str(away)))
        assert Counter(db.view("revenue").fetchall()) == Counter({row: count for row, count in both.items() if count})
