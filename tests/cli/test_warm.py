"""`ivm warm`: what it compiles is what the views then run, found by other processes; nothing else is left of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ivm
from ivm.engine.engine import Engine
from ivm.render.scalars import compiler as compiling
from ivm.render.scalars.compiler import Ticket
from ivm.session.core import Core
from ivm.session.database import Database
from ivm.warm import Trial, warm
from tests.house.modules import ROOT

TABLES = """
CREATE TABLE dept (id INTEGER PRIMARY KEY, city VARCHAR);
CREATE TABLE emp (id BIGINT PRIMARY KEY, dept INTEGER REFERENCES dept (id), pay DECIMAL(9,2) NOT NULL, hired DATE)
  WITH (check_foreign_keys = true);
CREATE TABLE log (at TIMESTAMP NOT NULL, ok BOOLEAN, x DOUBLE) WITH (append_only = true);
CREATE TABLE fixed (id BIGINT PRIMARY KEY) WITH (static = true);
"""
VIEWS = """
CREATE MATERIALIZED VIEW cities AS SELECT d.city, sum(e.pay * 2) AS s FROM emp e LEFT JOIN dept d ON d.id = e.dept
  WHERE e.pay > 77 AND e.hired > DATE '2020-01-01' GROUP BY d.city HAVING sum(e.pay * 2) > 1000;
CREATE MATERIALIZED VIEW slow AS SELECT at, x * 3 AS y FROM log, fixed WHERE ok AND x > 2.5 AND fixed.id = 3;
"""


def silent(what: str, done: int, total: int) -> None:
    """Tells nobody."""


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The loops that are ordered; nothing is compiled."""
    asked: list[str] = []

    class Workshop(compiling._Workshop):
        def order(self, source: str) -> Ticket:
            asked.append(source)
            ticket = Ticket(source, made=True)
            ticket.done.set()
            return ticket

    monkeypatch.setattr(compiling, "_workshop", Workshop())
    return asked


def test_it_compiles_what_real_rows_run(sources: list[str]) -> None:
    done = warm(TABLES + VIEWS + "INSERT INTO fixed VALUES (1); SELECT 1;", silent)
    assert (done.tables, done.views, done.loops, done.compiled, done.remarks) == (4, 2, len(sources), len(sources), ())

    class Met(Trial):
        trial = False

    met = Met()
    with Database(Core(Engine(met, 0), external_access=False)) as db:
        db.sql(TABLES + VIEWS)
        db.sql("INSERT INTO dept VALUES (5, 'Bern'), (6, NULL)")
        db.sql("INSERT INTO emp VALUES (1, 5, 900, DATE '2021-01-01'), (2, 6, 800, DATE '2022-01-01')")
        db.sql("INSERT INTO emp VALUES (3, 5, 700, DATE '2021-01-01'), (4, NULL, 600, NULL)")
        db.sql("DELETE FROM emp WHERE id < 3")
    assert met.sources
    assert set(met.sources) <= set(sources)


def test_rows_of_every_type_are_made_up(sources: list[str]) -> None:
    types = "BOOLEAN TINYINT HUGEINT UBIGINT DECIMAL(2,2) DECIMAL(38,5) FLOAT DOUBLE DATE TIMESTAMP TIMESTAMPTZ TIME VARCHAR BLOB"
    tables = [f"CREATE TABLE t{n} (k {each} PRIMARY KEY, v {each})" for n, each in enumerate(types.split())]
    assert warm(";".join(tables), silent).remarks == ()


def test_a_table_that_takes_no_such_row_is_told_of(sources: list[str]) -> None:
    done = warm("CREATE TABLE t (v BIGINT NOT NULL CHECK (v > 100)); CREATE TABLE u (w BIGINT)", silent)
    assert done.tables == 2
    assert ["table t was left empty" in each for each in done.remarks] == [True]
    assert "table t was left empty" in done.text


def test_nothing_needs_nothing(sources: list[str]) -> None:
    assert warm("", silent).text.startswith("tables: 0, views: 0, loops: 0")


def test_what_is_wrong_in_the_script_is_an_error(sources: list[str]) -> None:
    with pytest.raises(ivm.BindError, match="nothing"):
        warm("CREATE MATERIALIZED VIEW v AS SELECT * FROM nothing", silent)
    assert sources == []


def test_there_must_be_a_place_to_keep_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("IVM_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(ivm.Error, match="IVM_CACHE_DIR"):
        warm(TABLES, silent)


def test_the_command_keeps_it_for_other_processes(tmp_path: Path) -> None:
    file = tmp_path / "views.sql"
    file.write_text("CREATE TABLE t (a BIGINT); CREATE MATERIALIZED VIEW v AS SELECT a * 3 + 1 AS b FROM t;")
    environment = {**os.environ, "IVM_CACHE_DIR": str(tmp_path / "cache")}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from ivm.cli import main; main()", "warm", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)

    first = json.loads(run("--json", str(file)).stdout)
    assert first["loops"] == first["compiled"] > 0
    assert Path(first["folder"]).is_relative_to(tmp_path)
    second = run(str(file))
    assert second.returncode == 0
    assert "compiled now: 0" in second.stdout
    assert run(str(tmp_path / "none.sql")).returncode == 1
    assert run().returncode == 2
