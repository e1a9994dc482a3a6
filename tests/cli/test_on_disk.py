"""The command line over databases in directories."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner, Result

import ivm
from ivm.cli import app
from tests.cli.terminals import Terminal


def call(*arguments: object, stdin: str = "") -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)), input=stdin, env={"COLUMNS": "200"})


def test_a_shell_finds_what_another_left(tmp_path):
    path, script = tmp_path / "shop.ivm", tmp_path / "sales.sql"
    script.write_text("INSERT INTO t VALUES (2), (3);")
    made = call("shell", path, stdin="CREATE TABLE t (a BIGINT); INSERT INTO t VALUES (1);")
    assert made.exit_code == 0, made.output
    assert call("shell", path, script).exit_code == 0
    with ivm.connect(path, compile="off") as db:
        assert db.sql("SELECT sum(a) FROM t").fetchall() == [(6,)]
        held = call("shell", path, "-c", "FROM t")
        assert isinstance(held.exception, ivm.StorageError)
        assert "has it open; close it there, or open it beside that with" in str(held.exception)
        read = call("shell", "--read-only", path, "-c", ".mode csv", "-c", "SELECT sum(a) AS s FROM t")
        assert (read.exit_code, read.stdout) == (0, "s\n6\n")
        changed = call("shell", "--read-only", path, "-c", "DELETE FROM t")
        assert changed.exit_code == 1
        assert "read_only" in changed.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["letters"], "a directory of other files"),
        (["letters/a.ivm"], "File exists"),
        (["--read-only", "new.ivm"], "there is no database"),
        (["--read-only"], "in memory with read_only"),
    ],
)
def test_where_no_database_is(tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.ivm").write_text("dear")
    done = call("shell", *arguments)
    assert isinstance(done.exception, ivm.StorageError)
    assert said in str(done.exception)
    assert [each.name for each in tmp_path.rglob("*")] == ["letters", "a.ivm"]


def test_a_name_that_is_neither_is_a_script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call("shell", "sales")
    assert (done.exit_code, "sales" in done.stderr) == (1, True)
    assert call("shell", "sales", "sales.sql").exit_code == 2
    assert not list(tmp_path.iterdir())


def test_a_view_of_a_database_is_explained_beside_it(tmp_path):
    query = tmp_path / "view.sql"
    query.write_text("SELECT city, count(*) AS n FROM sale GROUP BY city")
    with ivm.connect(tmp_path / "shop.ivm", compile="off") as db:
        db.sql("CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR)")
        done = call("explain", query, "--db", tmp_path / "shop.ivm")
        assert done.exit_code == 0, done.exception
        assert done.stdout.rstrip() == db.explain(query.read_text()).rstrip()
        query.write_text("CREATE TABLE u (a BIGINT); SELECT a FROM u")
        assert isinstance(call("explain", query, "--db", tmp_path / "shop.ivm").exception, ivm.AccessError)


def test_at_a_terminal(tmp_path):
    path = tmp_path / "shop.ivm"
    with Terminal("shell", str(path), IVM_HISTORY=tmp_path / "history") as terminal:
        terminal.until(f"{path}. End statements with a semicolon")
        terminal.until("ivm>")
        terminal.press("CREATE TABLE sale (id BIGINT PRIMARY KEY);\r")
        terminal.until(" ms\n")
        terminal.until("ivm>")
        with Terminal("shell", str(path), IVM_HISTORY=tmp_path / "history") as second:
            second.until("has it open")
            assert second.exit_code() == 1
            assert "ivm>" not in second.seen
        terminal.press("\x04")
        assert terminal.exit_code() == 0
    with ivm.connect(path, compile="off") as db:
        assert [table.name for table in db.tables()] == ["sale"]
