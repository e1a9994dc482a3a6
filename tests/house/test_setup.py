"""The set-up: reproducible from the lock files, runs before anything is installed, CI does what `make test` does."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import chain

import pytest

from tests import suite
from tests.house.modules import ROOT

LOCKS = ("requirements.lock", "setup/build.lock")


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_is_pinned_with_hashes_and_no_address_is_named(name):
    text = (ROOT / name).read_text()
    packages = re.findall(r"^(\S+)==\S+ \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, flags=re.MULTILINE)
    entries = re.findall(r"^[^\s#].*$", text, flags=re.MULTILINE)
    assert packages
    assert len(packages) == len(entries)
    assert "://" not in text


def test_the_lock_holds_what_the_project_asks_for():
    asked = re.findall(r'^    "([\w-]+)[><=]', (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE)
    locked = set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE))
    assert len(asked) >= 12
    assert not set(asked) - locked, "run make lock"


def test_set_up_needs_only_the_standard_library():
    # -S leaves site-packages out: what a fresh .venv offers.
    command = [sys.executable, "-S", "-c", "import setup.prepare"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_ci_runs_make_test_and_nothing_else():
    lines = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line and not line.startswith("#")]
    assert lines == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', "exec make test"]


def test_the_suite_runs_style_types_and_every_folder_of_tests():
    tests = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").rglob("test_*.py")}
    assert sorted(chain(*suite.folders().values())) == sorted(tests), "each once"
    assert [*suite.commands([])] == ["style", "types", *suite.folders()]
    assert [*suite.commands(["-m", "slow"])] == [*suite.LONGEST]
    for name, command in suite.commands(["-x"]).items():
        assert command[-len(suite.folders()[name]) :] == [f"tests/{each}" for each in suite.folders()[name]]
        assert "-x" in command
