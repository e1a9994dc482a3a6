"""Transactions in the shell: they go on over lines and files, and one that is left open is told of."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

import ivm
from ivm.shell.commands import RUN
from ivm.shell.session import Shell

SETUP = """
CREATE TABLE t (k BIGINT PRIMARY KEY, price DECIMAL(9,2) NOT NULL);
CREATE MATERIALIZED VIEW total AS SELECT sum(price) AS total FROM t;
"""


def test_a_transaction_goes_over_lines_and_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    err, file = io.StringIO(), tmp_path / "more.sql"
    shell = Shell(ivm.connect(compile="off"), Console(file=err, width=200), RUN)
    file.write_text("INSERT INTO t VALUES (2, 2.00);\n")

    def run(text: str) -> int:
        return shell.run_all(lines=text.splitlines())

    insert = "INSERT INTO t VALUES (1, 1.00)"
    assert run(f"{SETUP}\nBEGIN;\n{insert};\n.read {file}\nCOMMIT;\n.mode csv\nFROM total;") == 0
    assert capsys.readouterr().out.splitlines() == ["total", "3.00"]
    assert run(f"BEGIN;\n.read {file}") == 1
    assert "PRIMARY KEY" in err.getvalue()
    assert shell.db.in_transaction
    assert run("ROLLBACK;\nBEGIN;\nDELETE FROM t;") == 0
    assert "the transaction was not committed" in err.getvalue()
