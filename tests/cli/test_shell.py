"""The shell over a real database: lines in, tables and messages out."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

import ivm
from ivm.shell import Shell, run_pipe

SETUP = """
CREATE TABLE t (k BIGINT PRIMARY KEY, price DECIMAL(9,2) NOT NULL);
CREATE MATERIALIZED VIEW total AS SELECT sum(price) AS total FROM t;
"""


@pytest.fixture
def err():
    return io.StringIO()


@pytest.fixture
def shell(err):
    return Shell(ivm.connect(compile="off"), Console(width=200), Console(file=err, width=200))


def run(shell: Shell, text: str) -> int:
    return run_pipe(shell, text.splitlines())


def test_statements_run_at_their_semicolon_over_many_lines(shell, capsys):
    assert run(shell, SETUP + "INSERT INTO t VALUES\n(1, 2.50),\n(2, 4.25);\nSELECT * FROM total;") == 0
    shown = capsys.readouterr().out
    assert "6.75" in shown
    assert " ms" in shown


def test_the_last_statement_needs_no_semicolon(shell, capsys):
    assert run(shell, "SELECT 40 + 2 AS answer") == 0
    assert "42" in capsys.readouterr().out


def test_a_script_stops_at_its_first_error(shell, err, capsys):
    assert run(shell, "SELECT * FROM nothing; SELECT 1 AS one;") == 1
    assert "nothing" in err.getvalue()
    assert err.getvalue().startswith("error: ")
    assert "one" not in capsys.readouterr().out


def test_changes_are_read_from_csv_with_the_types_of_the_table(shell, tmp_path, capsys):
    changes = tmp_path / "changes.csv"
    changes.write_text("k,price,_time,_diff\n1,2.50,1,1\n2,4.25,1,1\n1,2.50,2,-1\n")
    assert run(shell, SETUP + f".apply t {changes}\nSELECT * FROM total;\n.verify") == 0
    shown = capsys.readouterr().out
    assert "4.25" in shown
    assert "equals DuckDB" in shown


def test_a_file_of_statements_is_run(shell, tmp_path, capsys):
    script = tmp_path / "script.sql"
    script.write_text(SETUP + "SELECT total FROM total")
    assert run(shell, f".read {script}") == 0
    assert "NULL" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (".nonsense", "no such command"),
        (".apply t", ".apply TABLE FILE"),
        (".read", ".read FILE"),
        (".read missing.sql", "missing.sql"),
    ],
)
def test_a_wrong_command_is_one_message(shell, err, line, message):
    assert run(shell, line) == 1
    assert message in err.getvalue()


def test_quit_leaves_the_rest_unread(shell):
    assert run(shell, ".quit\nSELECT * FROM nothing;") == 0


def test_a_statement_begun_can_be_forgotten(shell):
    shell.feed("SELECT 'a;")
    assert shell.is_waiting
    shell.forget()
    assert not shell.is_waiting
