"""Subscriptions by a name, by Postgres's door: they go on behind what was acknowledged, also after the server was killed."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from ivm.serve import user_with_password
from tests.serve.postgres import served

ROOT = Path(__file__).parents[2]
Connect = Callable[[], psycopg.Connection]
MADE = """
    CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price INTEGER NOT NULL);
    CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city;
    INSERT INTO sale VALUES (1, 'Bern', 2), (2, 'Oslo', 4)
"""


def _told(client, cursor="c"):
    """What waits: time, diff and the values of each row."""
    rows = client.execute(f"FETCH ALL {cursor} WITH (timeout = '0.1s')").fetchall()
    return sorted((int(row[0]), int(row[1]), *row[2:-1], int(row[-1])) for row in rows)


def _listen(client, options="", cursor="c", of="revenue"):
    client.execute(f"DECLARE {cursor} CURSOR WITH HOLD FOR SUBSCRIBE TO {of} WITH (NAME = 'etl'{options})")


@pytest.mark.parametrize("shards", [0, 2])
def test_one_goes_on_behind_what_it_has_acknowledged(shards):
    how = {"shards": shards} if shards else {}
    with served(text=MADE, **how) as server, server.connect() as writer:
        with server.connect() as client:
            _listen(client, ", KEEP = 1000")
            assert [row[1:] for row in _told(client)] == [(1, "Bern", 2), (1, "Oslo", 4)]
            writer.execute("ACKNOWLEDGE etl AS OF 1")
            writer.execute("DELETE FROM sale WHERE id = 2")
            assert _told(client) == [(2, -1, "Oslo", 4)]
        with server.connect() as client:
            _listen(client)
            assert _told(client) == [(2, -1, "Oslo", 4)]
            with server.connect() as other:  # who comes later listens
                _listen(other, ", SNAPSHOT, PROGRESS = false")
                with pytest.raises(psycopg.Error, match="another subscribes by the name 'etl'"):
                    client.execute("FETCH ALL c")
                assert len(_told(other)) == 1
                other.execute("ACKNOWLEDGE 'etl' AS OF %s", [2])
                with pytest.raises(psycopg.Error, match="they were taken up to"):
                    other.execute('ACKNOWLEDGE "etl" AS OF 99')
        with server.connect() as client:
            client.execute("DECLARE c CURSOR WITH HOLD FOR SUBSCRIBE TO revenue WITH (NAME 'etl') AS OF 2")
            assert _told(client) == []
            for wrong in ("ACKNOWLEDGE etl", "ACKNOWLEDGE nobody AS OF 1", "DROP SUBSCRIPTION nobody",
                          "DECLARE d CURSOR WITH HOLD FOR SUBSCRIBE TO revenue WITH (NAME = 'etl', KEEP = no)",
                          "DECLARE d CURSOR WITH HOLD FOR SUBSCRIBE TO revenue WITH (NAME = '')",
                          "DECLARE d CURSOR WITH HOLD FOR SUBSCRIBE TO revenue WITH (NAME = 'etl', SHAPE = 'round')",
                          "DECLARE d CURSOR WITH HOLD FOR SUBSCRIBE TO (SELECT id FROM sale) WITH (NAME = 'etl')"):  # fmt: skip
                with pytest.raises(psycopg.Error):
                    client.execute(wrong)
            client.execute("DROP SUBSCRIPTION etl")
            client.execute(
                "DECLARE d CURSOR WITH HOLD FOR SUBSCRIBE TO (SELECT id, price FROM sale) WITH (NAME = 'a, (b)')"
            )
            assert [row[1:] for row in _told(client, "d")] == [(1, 1, 2)]
            assert client.execute("SELECT name FROM ivm_subscriptions WHERE name > ''").fetchall() == [("a, (b)",)]
            client.execute("DROP SUBSCRIPTION 'a, (b)'")


def test_who_only_reads_has_no_name():
    users = user_with_password("ada", "x", "write"), user_with_password("eve", "y")
    with served(users, text=MADE) as server:
        with server.connect("ada", password="x") as client:
            _listen(client)
        with server.connect("eve", password="y") as client:
            for refused in ("ACKNOWLEDGE etl AS OF 1", "DROP SUBSCRIPTION etl"):
                with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                    client.execute(refused)
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                _listen(client)


@contextmanager
def _server(path: Path) -> Iterator[tuple[Connect, subprocess.Popen[str]]]:
    """A client of a server of its own process, which is killed at the end."""
    command = [sys.executable, "-m", "ivm", "serve", str(path), "--no-http", "--postgres", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            port = next(found[1] for line in lines if (found := re.search(r"postgresql://127\.0\.0\.1:(\d+)", line)))
            yield lambda: psycopg.connect(host="127.0.0.1", port=port, user="ada", autocommit=True), process
        finally:
            process.kill()


def test_nothing_is_lost_or_told_twice_when_the_server_is_killed(tmp_path):
    chance, path = random.Random(3), tmp_path / "shop.ivm"
    upto, rows, number = -1, Counter[tuple[object, ...]](), 10
    for kill in range(3):
        with _server(path) as (connect, process):
            writer, client = connect(), connect()
            if not kill:
                writer.execute(MADE)
            known = writer.execute("SELECT acknowledged FROM ivm_subscriptions WHERE name = 'etl'").fetchone()
            if known is None or known[0] < 0:  # all rows come first
                upto, rows = -1, Counter()
            acknowledged = -1 if known is None else known[0]
            assert acknowledged <= upto
            _listen(client)
            for step in range(chance.randrange(4, 12)):
                number += 1
                writer.execute(
                    "INSERT INTO sale VALUES (%s, %s, %s)", (number, chance.choice(["Bern", "Oslo"]), number)
                )
                if chance.random() < 0.6:
                    for time, diff, *values in _told(client):
                        assert time > acknowledged, "told twice"
                        if time > upto or (step == 0 and upto < 0):
                            rows[tuple(values)] += diff
                            last = time
                    upto = max(upto, last)
                    found = writer.execute("SELECT city, total FROM revenue").fetchall()
                    assert {key for key, count in rows.items() if count} == {
                        (city, int(total)) for city, total in found
                    }
                    if chance.random() < 0.5:
                        writer.execute("ACKNOWLEDGE etl AS OF %s", [upto])
            process.kill()
            for each in (writer, client):
                each.close()
    assert upto > 8
