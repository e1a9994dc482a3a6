"""The Python of every page runs as printed, page by page, and prints what it says."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tests.docs.examples import PAGES, blocks, promised
from tests.house.modules import ROOT
from tests.sparks import QUICK_JAVA

WITH_EXAMPLES = [page for page in PAGES if blocks(page) and page.stem != "spark"]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=[page.stem for page in WITH_EXAMPLES])
def test_examples_of(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some make files
    code = "\n".join(blocks(page))
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, str(page), "exec"), {"__name__": "__main__"})
    assert printed.getvalue().splitlines() == promised(code)
    assert promised(code)


def test_the_example_of_spark(tmp_path: Path) -> None:
    """In a process of its own: it starts and stops Spark, whose workers import what they find by PYTHONPATH."""
    code = "\n".join(blocks(ROOT / "docs" / "spark.md"))
    start = "import os; from ivm.tpch.java import java_home; os.environ['JAVA_HOME'] = str(java_home())\n"
    command = [sys.executable, "-c", start + code]
    spark = {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable, "JAVA_TOOL_OPTIONS": QUICK_JAVA}
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | spark, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == promised(code)


def test_the_transcript_of_the_shell(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "shell.md").read_text(encoding="utf-8")
    script, printed = re.findall(r"^```(?:sql|text)\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "sales.sql").write_text(script)
    command = [sys.executable, "-m", "ivm", "shell", str(tmp_path / "sales.sql")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.rstrip() for line in done.stdout.splitlines()] == printed.splitlines()


def test_there_are_examples() -> None:
    assert len(WITH_EXAMPLES) >= 8
