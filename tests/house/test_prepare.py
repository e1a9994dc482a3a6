"""The set-up's steps: done once for the same files, never silent, and one line that says what to do where one fails."""

from __future__ import annotations

import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ivm.tpch.errors import SetupError
from setup import commands, prepare, progress
from tests.house.modules import ROOT


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    """Keeps the steps away from the real environment; scripts take the place of pip and of what compiles kernels."""
    for module, name, place in (
        (prepare, "STAMPS", "stamps"),
        (prepare, "LOG", "setup.log"),
        (commands, "LOG", "setup.log"),
        (commands, "VENV", "."),
        (commands, "SCRATCH", "tmp"),
        (prepare, "KERNELS", "kernels"),
    ):
        monkeypatch.setattr(module, name, tmp_path / place)
    prepare.KERNELS.mkdir()
    monkeypatch.setenv("KERNELS", str(prepare.KERNELS))
    program(monkeypatch, pip="true", kernels="mkdir -p $KERNELS/machine && touch $KERNELS/machine/v.kernels")


def program(monkeypatch, **scripts):
    """Has a script of the shell take the place of `pip`, or of the program that compiles `kernels`."""
    for name, script in scripts.items():
        monkeypatch.setenv(f"SCRIPT_{name}", script)
    place = Path(os.environ["KERNELS"]).parent / "python"
    place.write_text('#!/bin/sh\ncase "$*" in *pip*) eval "$SCRIPT_pip";; *) eval "$SCRIPT_kernels";; esac\n')
    place.chmod(0o755)
    monkeypatch.setattr(commands, "PYTHON", place)
    monkeypatch.setattr(prepare, "PYTHON", place)


def test_a_step_is_done_until_what_it_read_changes(tmp_path):
    lock = tmp_path / "lock"
    lock.write_text("a==1")
    prepare.mark_done("packages", prepare.digest(lock))
    assert prepare.is_done("packages", prepare.digest(lock))
    assert not prepare.is_done("project", prepare.digest(lock))
    lock.write_text("a==2")
    assert not prepare.is_done("packages", prepare.digest(lock))


def test_nothing_is_installed_twice(monkeypatch, tmp_path):
    program(monkeypatch, pip=f"echo x >>{tmp_path}/calls")
    for _ in range(2):
        assert prepare.main([]) == 0
        assert (tmp_path / "calls").read_text() == "x\nx\nx\n"


def test_a_failed_installation_is_one_line_and_is_tried_again(monkeypatch, capsys):
    program(monkeypatch, pip="echo Collecting a; echo 'ERROR: No matching distribution found for a==1'; exit 1")
    assert prepare.main([]) == 1
    message = capsys.readouterr().err
    assert "No matching distribution found for a==1" in message
    assert message.count("\n") == 1
    assert not prepare.STAMPS.exists()
    assert not commands.SCRATCH.exists()


def test_without_java_and_without_apt_one_line_says_what_to_install(monkeypatch, capsys):
    def missing():
        raise SetupError("Spark needs Java: install it")

    monkeypatch.setattr(prepare, "java_home", missing)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert prepare.main(["--java"]) == 1
    assert capsys.readouterr().err == "set-up: Spark needs Java: install it\n"
    assert prepare.main([]) == 0


def test_kernels_are_compiled_once_for_the_same_sources_and_again_where_they_are_gone(monkeypatch, capsys):
    for _ in range(2):
        prepare.compile_kernels()
    assert capsys.readouterr().out.count("kernels took") == 1
    shutil.rmtree(prepare.KERNELS / "machine")
    prepare.compile_kernels()
    (prepare.KERNELS / "new.py").write_text("new")
    prepare.compile_kernels()
    assert capsys.readouterr().out.count("kernels took") == 2


def test_kernels_that_cannot_be_compiled_stop_nobody(monkeypatch, capsys):
    program(monkeypatch, kernels="echo v 1/2 40% a.b; echo 'a.c(int64): it has no types'; exit 1")
    for _ in range(2):
        prepare.compile_kernels()
        said = capsys.readouterr().out
        assert "some kernels are compiled when they are first needed: a.c(int64): it has no types" in said


PIP = """
mkdir -p $TMPDIR/pip-unpack-x $SITE
echo 'Collecting a==1 (from -r x)'; head -c 3000000 /dev/zero >$TMPDIR/pip-unpack-x/a.whl; sleep 0.4
echo '  Building wheel for a (pyproject.toml): started'; sleep 0.4
echo 'Installing collected packages: a, b, c'; sleep 0.2; mkdir -p $SITE/a.dist-info; sleep 0.4
"""


@pytest.fixture
def slow_pip(monkeypatch, tmp_path):
    """A pip whose parts take some tenths of a second each."""
    monkeypatch.setenv("SITE", str(tmp_path / "lib" / "python3" / "site-packages"))
    program(monkeypatch, pip=PIP)


def test_without_a_terminal_a_line_is_said_now_and_then(monkeypatch, capsys, slow_pip):
    monkeypatch.setattr(progress, "SAID_EVERY", 0.05)
    assert prepare.main([]) == 0
    said = capsys.readouterr().out
    assert said.startswith("set-up: installing ")
    for what in (
        r"package 1 of \d+, a; 3 MB of about 790 MB",
        "building a",
        "unpacking packages, 2 of 3",
        "ready after",
    ):
        assert re.search(rf"^set-up: .*{what}", said, flags=re.MULTILINE), what
    assert "\r" not in said


def test_on_a_terminal_one_line_is_drawn_again_and_cleared(monkeypatch, slow_pip):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(progress, "DRAWN_EVERY", 0.05)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((50, 24)))
    monkeypatch.setattr(sys, "stdout", screen := Terminal())
    assert prepare.main([]) == 0
    lines = screen.getvalue().split("\r\x1b[K")
    assert len(lines) > 20
    assert max(len(line) for line in lines if "\n" not in line) == 49
    assert any("building a" in line for line in lines)


def test_what_is_left_is_told_by_the_share_that_is_done(monkeypatch):
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    running = progress.Step("loading")
    now = 130.0
    assert running.shown() == "0:30  loading"
    running.share = 0.25
    assert running.shown() == "0:30  loading, about 1:30 left"
    running.begin("unpacking")
    now = 190.0
    running.share = 0.75
    assert running.shown() == "1:30  unpacking, about 0:20 left"


def test_apt_tells_how_far_it_is(monkeypatch, capsys, tmp_path):
    program(monkeypatch)
    apt = tmp_path / "apt-get"
    apt.write_text("#!/bin/sh\necho Get:1 x\necho dlstatus:1:42.5:Retrieving file 1 of 2\nsleep 0.2\n"
                   "echo pmstatus:java:50.0:Unpacking java\nsleep 0.2\n")  # fmt: skip
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(progress, "SAID_EVERY", 0.05)
    commands.apt_install("java", "no Java found")
    said = capsys.readouterr().out
    assert said.startswith("set-up: no Java found, installing java with apt-get\n")
    assert "downloading: Retrieving file 1 of 2" in said
    assert "installing: Unpacking java" in said
    assert "Get:1 x" in commands.LOG.read_text()


def test_an_environment_is_made_by_the_python_that_was_found(monkeypatch, capsys, tmp_path):
    (checkout := tmp_path / "checkout" / "setup").mkdir(parents=True)
    shutil.copy(ROOT / "setup" / "prepare.sh", checkout)
    for name, script in (("old", "exit 1"), ("bare", 'case "$*" in *ensurepip*) exit 1;; esac'), ("good", "true")):
        (tmp_path / name).write_text(f'#!/bin/sh\n{script}\n[ "$1" = -c ] || echo {name} "$@"\n')
        (tmp_path / name).chmod(0o755)
    run = ["sh", str(checkout / "prepare.sh"), "--java"]
    for first, second, taken in (("old", "good", "good"), ("bare", "good", "good"), ("old", "bare", "bare")):
        named = {**os.environ, "PATH": "/nowhere", "PYTHON": f"{tmp_path}/{first} {tmp_path}/{second}"}
        done = subprocess.run(["/bin/sh", *run[1:]], env=named, capture_output=True, text=True, check=False)
        assert done.stdout.splitlines()[1:] == [f"{taken} -m setup.prepare --environment --java"], done.stderr
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(prepare, "has_apt", lambda: False)
    assert prepare.main(["--environment"]) == 1
    assert "has no venv with pip; install it (Debian, Ubuntu: apt-get install python3." in capsys.readouterr().err


def test_ctrl_c_is_one_line(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(prepare, "install_packages", interrupted)
    assert prepare.main([]) == 130
    assert capsys.readouterr().err == "set-up: interrupted; the next run goes on from here\n"


def test_how_far_pip_is_can_be_asked_while_the_next_command_begins_and_of_more_than_was_expected(monkeypatch):
    running = progress.Step("installing")
    pip = commands.Pip(running, 3, expected=5_000_000)
    pip._read("Installing collected packages: a, b, c")

    def counted() -> int:
        pip._downloading, pip._unpacking = True, 0  # as `install` begins
        return 2

    monkeypatch.setattr(commands, "_installed", counted)
    pip.look(running)
    assert running.now == "unpacking packages, 3 of 3"
    monkeypatch.setattr(commands, "_downloaded", lambda: 5_000_000)
    pip._downloaded()
    pip._downloading = True
    pip.look(running)
    assert running.share is None
    assert "10 MB" in running.now
