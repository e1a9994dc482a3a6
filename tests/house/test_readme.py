"""The README's Python runs as printed, and prints what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from tempfile import TemporaryDirectory

from tests.docs.examples import blocks, promised
from tests.house.modules import ROOT

README = ROOT / "README.md"


def run(code: str) -> list[str]:
    command = [sys.executable, "-W", "error", "-c", code]
    with TemporaryDirectory() as place:  # where files are made
        path = {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=place, env=os.environ | path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_first_example_stands_alone_and_is_short():
    first = blocks(README)[0]
    assert len(first.splitlines()) <= 10
    assert run(first) == promised(first)


def test_all_examples_in_order():
    code = "\n".join(blocks(README))
    assert len(blocks(README)) >= 2
    assert code.count("print(") == len(promised(code))
    assert run(code) == promised(code)


def test_the_two_commands_come_first():
    first_screen = README.read_text().splitlines()[:16]
    assert any(line.startswith("make demo") for line in first_screen)
    assert any(line.startswith("make test") for line in first_screen)


def test_it_fits_on_two_screens():
    assert len(README.read_text().splitlines()) <= 120
