"""What a program imports, and when: each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ivm

ROOT = Path(__file__).resolve().parents[2]
HEAVY = (
    "duckdb", "numba", "numpy", "pandas", "polars", "prompt_toolkit", "pyarrow", "pyspark", "rich", "sqlglot", "typer",
)  # fmt: skip

EXAMPLE = """
import ivm
db = ivm.connect()
db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR NOT NULL, price DECIMAL(9,2), day DATE, ok BOOLEAN)")
db.sql("CREATE MATERIALIZED VIEW v AS SELECT name, sum(price) AS s FROM t GROUP BY name ORDER BY name")
db.sql("INSERT INTO t VALUES (1, 'Bern', 2.50, DATE '2020-01-02', true), (2, 'Oslo', NULL, NULL, NULL)")
assert len(db.view("v").fetchall()) == 2
with db.transaction() as tx:
    tx.insert("t", [{"id": 3, "name": "Bern", "price": None, "day": None, "ok": False}])
    tx.delete("t", [{"id": 2}])
assert len(db.view("v").fetchall()) == 1
db.sql("DROP VIEW v")
"""


def imported(script: str) -> set[str]:
    """The packages of `HEAVY` and the modules of ours that a script imports."""
    code = f"{script}\nimport sys; print('IMPORTED', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    names = done.stdout.rpartition("IMPORTED")[2].split()
    return {name for name in names if name in HEAVY or name.startswith("ivm.")}


def test_import_alone_takes_no_time():
    assert imported("import ivm; ivm.Error; ivm.connect") == {"ivm.catalog", "ivm.catalog.errors"}


def test_a_script_without_selects_and_data_frames_imports_none_for_them():
    assert imported(EXAMPLE) & set(HEAVY) == {"numba", "numpy", "pyarrow", "sqlglot"}


def test_what_writes_loops_and_draws_tables_is_not_imported_before_it_is_needed():
    assert not imported(EXAMPLE) & {
        "ivm.render.scalars.codegen",
        "ivm.results.boxes",
        "ivm.session.oracle",
        "ivm.session.adhoc",
    }


@pytest.mark.parametrize(
    "command", ["--version", "--help", "shell --help", "warm --help", "tpch --help", "tpch run --help"]
)
def test_help_imports_no_engine(command):
    script = f"""
import sys
sys.argv = {["ivm", *command.split()]}
from ivm.cli import main
try:
    main()
except SystemExit as left:
    assert not left.code
"""
    assert imported(script) & {*HEAVY, "ivm.engine.engine"} <= {"typer", "rich"}


@pytest.mark.parametrize("name", ivm.__all__)
def test_every_public_name_is_there(name):
    assert getattr(ivm, name).__name__ == name
    assert name in dir(ivm)


def test_a_name_that_is_not_there_is_an_attribute_error():
    assert not hasattr(ivm, "engine_of_a_car")
    assert ivm.__version__
