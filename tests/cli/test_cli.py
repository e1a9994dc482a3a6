"""The command `ivm` as a user calls it, in a process of its own: output, exit code, one message for an error."""

from __future__ import annotations

import json
import subprocess
import sys

import ivm
from tests.house.modules import ROOT

VIEWS = """
CREATE TABLE t (k BIGINT PRIMARY KEY, g INTEGER NOT NULL);
SELECT g, count(*) AS n FROM t GROUP BY g;
"""


def command(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-c", "from ivm.cli import main; main()", *arguments]
    return subprocess.run(run, cwd=ROOT, input=stdin, capture_output=True, text=True, check=False)


def test_version():
    done = command("--version")
    assert done.stdout == f"ivm {ivm.__version__}\n"
    assert done.returncode == 0


def test_help_lists_own_commands_and_those_of_other_packages():
    done = command("--help")
    assert done.returncode == 0
    assert all(name in done.stdout for name in ("shell", "explain", "tpch"))


def test_a_pipe_of_statements():
    done = command("shell", stdin=VIEWS + "INSERT INTO t VALUES (1, 7); SELECT g FROM t;")
    assert done.returncode == 0, done.stderr
    assert "7" in done.stdout


def test_an_error_in_a_pipe_is_one_message_and_exit_code_one():
    done = command("shell", stdin="SELEKT 1;")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_the_shell_reads_files_unless_it_is_told_not_to(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("k,g\n1,40302\n")
    script = f"FROM '{file}';"
    assert "40302" in command("shell", stdin=script).stdout
    done = command("shell", "--no-external-access", stdin=script)
    assert done.returncode == 1
    assert "external_access" in done.stderr
    assert "40302" not in done.stdout + done.stderr


def test_explain_shows_the_last_query(tmp_path):
    file = tmp_path / "views.sql"
    file.write_text(VIEWS)
    done = command("explain", str(file))
    assert done.returncode == 0, done.stderr
    assert "count" in done.stdout
    as_json = command("explain", str(file), "--json")
    assert json.loads(as_json.stdout)["explain"] == done.stdout.removesuffix("\n")


def test_explain_without_a_query_is_refused(tmp_path):
    file = tmp_path / "views.sql"
    file.write_text("INSERT INTO t VALUES (1);")
    done = command("explain", str(file))
    assert done.returncode == 1
    assert "last statement must be a SELECT" in done.stderr


def test_explain_gives_positions_in_the_file(tmp_path):
    file = tmp_path / "views.sql"
    file.write_text(VIEWS.replace("SELECT g,", "SELECT  gg,"))
    done = command("explain", str(file))
    assert done.returncode == 1
    assert "line 3, column 9" in done.stderr


def test_wrong_usage_is_exit_code_two():
    assert command("nonsense").returncode == 2
    assert command("explain").returncode == 2
