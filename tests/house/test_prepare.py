"""The set-up's steps: done once for the same files, and one line that says what to do where one fails."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from setup import prepare
from tpch.errors import SetupError

READING = prepare._reading


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    """Keeps the steps away from the real environment."""
    monkeypatch.setattr(prepare, "STAMPS", tmp_path / "stamps")
    monkeypatch.setattr(prepare, "LOG", tmp_path / "setup.log")
    monkeypatch.setattr(prepare, "KERNELS", tmp_path / "kernels")
    prepare.KERNELS.mkdir()
    compiles(monkeypatch, "mkdir -p $0/machine && touch $0/machine/v.kernels && echo v 1/1 a.b")


def compiles(monkeypatch, script):
    """Has a script take the place of the program that compiles kernels; it gets the folder that they would lie in."""
    monkeypatch.setattr(prepare, "_reading", lambda command: READING(["sh", "-c", script, str(prepare.KERNELS)]))


def test_a_step_is_done_until_what_it_read_changes(tmp_path):
    lock = tmp_path / "lock"
    lock.write_text("a==1")
    prepare.mark_done("packages", prepare.digest(lock))
    assert prepare.is_done("packages", prepare.digest(lock))
    assert not prepare.is_done("project", prepare.digest(lock))
    lock.write_text("a==2")
    assert not prepare.is_done("packages", prepare.digest(lock))


def test_nothing_is_installed_twice(monkeypatch):
    calls = []
    monkeypatch.setattr(prepare, "pip_install", lambda *arguments, total: calls.append(arguments))
    assert prepare.main([]) == 0
    once = len(calls)
    assert once > 0
    assert prepare.main([]) == 0
    assert len(calls) == once


def test_a_failed_installation_is_one_line_and_is_tried_again(monkeypatch, capsys):
    pip = ["sh", "-c", "echo Collecting a; echo 'ERROR: No matching distribution found for a==1'; exit 1"]
    monkeypatch.setattr(prepare, "_pip", lambda command: subprocess.Popen(pip, text=True, stdout=subprocess.PIPE))
    assert prepare.main([]) == 1
    message = capsys.readouterr().err
    assert "No matching distribution found for a==1" in message
    assert message.count("\n") == 1
    assert not prepare.STAMPS.exists()


def test_without_java_and_without_apt_one_line_says_what_to_install(monkeypatch, capsys):
    def missing():
        raise SetupError("Spark needs Java: install it")

    monkeypatch.setattr(prepare, "pip_install", lambda *arguments, total: None)
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
    compiles(monkeypatch, "echo v 1/2 a.b; echo 'a.c(int64): it has no types'; exit 1")
    for _ in range(2):
        prepare.compile_kernels()
        said = capsys.readouterr().out
        assert "some kernels are compiled when they are first needed: a.c(int64): it has no types" in said
