"""An application's own `catalog`, `sql`, `tpch` and `benchmarks` do not meet ours, which are parts of `ivm`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.modules import PACKAGES, ROOT

OTHERS = [name for name in PACKAGES if name != "ivm"]
PROGRAM = """
import catalog, sql, tpch, benchmarks
import ivm
db = ivm.connect(compile="off")
db.sql("CREATE TABLE t (a INTEGER)")
db.sql("CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t")
db.sql("INSERT INTO t VALUES (1), (2)")
print(db.view("v").fetchall(), db.sql("SELECT count(*) FROM t").fetchall())
print({module.__file__ for module in (catalog, sql, tpch, benchmarks)} == set(FILES))
"""


@pytest.mark.parametrize("file", ["{}.py", "{}/__init__.py"])
def test_modules_of_the_same_names_stand_beside_ours(tmp_path: Path, file: str) -> None:
    files = [tmp_path / file.format(name) for name in OTHERS]
    for path in files:
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    (tmp_path / "main.py").write_text(PROGRAM.replace("FILES", repr([str(path) for path in files])))
    done = subprocess.run(
        [sys.executable, "main.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[(3,)] [(2,)]", "True"]


def test_each_part_of_ours_is_a_link_to_its_folder() -> None:
    for name in OTHERS:
        link = ROOT / "ivm" / name
        assert link.is_symlink(), f"{link} is no link: check the repository out with links, as git does on Linux"
        assert link.resolve() == ROOT / name
