"""The set-up's steps: done once for the same files, and one line that says what to do where one fails."""

from __future__ import annotations

import shutil

import pytest

from setup import prepare
from tpch.errors import SetupError


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    """Keeps the steps away from the real environment."""
    monkeypatch.setattr(prepare, "STAMPS", tmp_path / "stamps")
    monkeypatch.setattr(prepare, "LOG", tmp_path / "setup.log")


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
    run = prepare._pip
    monkeypatch.setattr(prepare, "_pip", lambda command: run(pip))
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
