"""`ivm top`: what it shows of a directory and of a server, once and again and again."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import ivm
from ivm.catalog.errors import InterfaceError
from ivm.serve import Settings, serve, user_with_password, user_with_token
from ivm.top.figures import figures, look
from ivm.top.running import run
from tests.cli.terminals import Terminal
from tests.cli.test_cli import command

VIEWS = """
CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR, price DECIMAL(9,2));
CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city;
CREATE MATERIALIZED VIEW "two\nlines" AS SELECT count(*) AS n FROM sale;
CREATE VIEW plain AS SELECT * FROM sale;
"""
WISH: dict[str, Any] = {"token": "", "every": 0.05, "order": "name", "once": True, "as_json": False}


def test_rates_are_what_has_changed_between_two_looks():
    with ivm.connect(compile="off") as db:

        def ask(text):
            return db.sql(text).arrow().to_pylist()

        before = look(ask)
        assert figures(before, before, "busy").views == ()
        db.sql(VIEWS)
        empty = look(ask)
        found = figures(before, empty, "name")
        assert [(each.view, each.rows, each.changes, each.busy) for each in found.views] == [
            ("revenue", 0, 0, 0), ("two\nlines", 1, 0, 0),
        ]  # fmt: skip
        assert (found.commits, found.p50, found.listening) == (0, None, 0)
        with db.subscribe("revenue"):
            for n in range(5):
                db.sql("INSERT INTO sale VALUES (?, 'Bern', 1)", [n])
            now = look(ask)
        found = figures(empty, now, "changes")
        seconds = now.at - empty.at
        told = [(each.view, each.rows, round(each.changes * seconds)) for each in found.views]
        assert told == [("two\nlines", 1, 10), ("revenue", 1, 9)]
        assert all(each.busy > 0 for each in found.views)
        assert (found.time, found.commits, found.updates) == (db.time, 0.5, 0.5)
        assert found.p50 is not None
        assert found.p99 is not None
        assert found.slowest is not None
        assert 0 < found.p50 <= found.p99 <= found.slowest
        assert (found.listening, found.waiting) == (1, 5)
        revenue = next(each for each in found.views if each.view == "revenue")
        assert 0 < revenue.alone_bytes < revenue.state_bytes
        assert found.memory["table"] > 0
        db.sql("CREATE OR REPLACE MATERIALIZED VIEW revenue AS SELECT city FROM sale")
        assert all(each.changes == 0 for each in figures(now, look(ask), "state").views)  # counts begin again


def test_a_directory_and_a_server(tmp_path, capsys):
    path = tmp_path / "shop.ivm"
    users = user_with_token("bot", "s3cret"), user_with_password("ada", "x y")
    with ivm.connect(path, compile="off") as db, serve(db, Settings(http=0, users=users)) as server:
        db.sql(VIEWS)
        db.sql("INSERT INTO sale VALUES (1, 'Bern', 1)")
        at = server.addresses["http"]
        for target, token in ((str(path), ""), (at, "s3cret"), (at.replace("//", "//ada:x%20y@"), "")):
            run(target, **WISH | {"token": token})
            out = capsys.readouterr().out
            assert "time 1, 2 views" in out
            assert "two\\nlines" in out
        run(at, **WISH | {"token": "s3cret", "as_json": True})
        told = json.loads(capsys.readouterr().out)
        assert [each["view"] for each in told["views"]] == ["revenue", "two\nlines"]
        assert told["time"] == 1
        for wrong, says in (
            (at, "--token"), (f"{at}/x", "Not Found"), ("http://127.0.0.1:1", "refused"), ("http://[:", "give an address"),
        ):  # fmt: skip
            with pytest.raises(InterfaceError, match=says):
                run(wrong, **WISH)
    with pytest.raises(InterfaceError, match="cannot ask"):
        run(at, **WISH)


def test_more_views_than_a_screen_has_lines(tmp_path):
    path = tmp_path / "shop.ivm"
    with ivm.connect(path, compile="off") as db:
        db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, g INTEGER NOT NULL)")
        db.sql(";".join(f"CREATE MATERIALIZED VIEW v{n} AS SELECT id FROM t WHERE g = {n}" for n in range(100)))
        with Terminal("top", str(path), "--every", "0.1", "--sort", "rows") as terminal:
            terminal.until("100 views")
            terminal.until(" more views")
            db.sql("INSERT INTO t VALUES (1, 77)")
            terminal.until("v77", seconds=20)
            terminal.press("\x03")
            assert terminal.exit_code() == 0
            assert "Traceback" not in terminal.seen


def test_a_server_that_goes_and_comes_again(tmp_path):
    with ivm.connect(compile="off") as db:
        db.sql(VIEWS)
        server = serve(db, Settings(http=0))
        port = int(server.addresses["http"].rpartition(":")[2])
        with Terminal("top", server.addresses["http"], "--every", "0.1") as terminal:
            terminal.until("revenue")
            server.stop()
            terminal.until("cannot ask")
            with serve(db, Settings(http=port)):
                db.sql("INSERT INTO sale VALUES (1, 'Bern', 1)")
                terminal.until("time 1,")
                terminal.press("\x03")
                assert terminal.exit_code() == 0


def test_the_command(tmp_path):
    began = time.monotonic()
    done = command("top", str(tmp_path / "none.ivm"), "--once")
    assert done.returncode == 1
    assert "there is no database" in done.stderr
    assert command("top", "--sort", "age").returncode == 2
    assert time.monotonic() - began < 60
