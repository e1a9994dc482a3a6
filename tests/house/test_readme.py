"""The README's Python runs as printed, and prints what it says."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.house.modules import ROOT


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)


def run(code: str) -> list[str]:
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def promised(code: str) -> list[str]:
    """What the comments behind the prints say will be printed."""
    return re.findall(r"^ *print\(.*\)  # (.*)$", code, flags=re.MULTILINE)


def test_the_first_example_stands_alone_and_is_short():
    first = blocks()[0]
    assert len(first.splitlines()) <= 10
    assert run(first) == promised(first)


def test_all_examples_in_order():
    code = "\n".join(blocks())
    assert len(blocks()) >= 8
    assert code.count("print(") == len(promised(code))
    assert run(code) == promised(code)


def test_the_two_commands_come_first():
    first_screen = (ROOT / "README.md").read_text().splitlines()[:16]
    assert any(line.startswith("make demo") for line in first_screen)
    assert any(line.startswith("make test") for line in first_screen)
