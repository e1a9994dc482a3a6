"""An application's own `catalog` or `sql` does not break the import without saying why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.modules import ROOT

SAYS = "cannot import ivm: its package {!r} is hidden by {}"


def imported(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run code as a program in `folder`, which comes first on its path."""
    (folder / "main.py").write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "main.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", ["catalog", "sql"])
@pytest.mark.parametrize("file", ["{}.py", "{}/__init__.py"])
@pytest.mark.parametrize("code", ["import ivm", "import {}, ivm"])
def test_a_module_that_hides_ours_is_named(tmp_path: Path, name: str, file: str, code: str) -> None:
    hides = tmp_path / file.format(name)
    hides.parent.mkdir(exist_ok=True)
    hides.write_text("")
    done = imported(tmp_path, code.format(name))
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: " + SAYS.format(name, hides))
    assert "rename that module" in last


def test_a_folder_without_modules_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "queries.sql").write_text("SELECT 1")
    done = imported(tmp_path, "import ivm.neighbours")
    assert done.returncode == 0, done.stderr
