"""Finding Java: the first that is new enough wins, and one line says what to install if none is."""

from __future__ import annotations

from pathlib import Path

import pytest

from ivm.tpch import java
from ivm.tpch.errors import SetupError

find = java.java_home.__wrapped__  # without the memory of earlier calls


def install(home: Path, version: str) -> Path:
    """A Java that says it has this version."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    program.chmod(0o755)
    return home


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without Java; what is put into the returned directory is found."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    (tmp_path / "jvm").mkdir()
    monkeypatch.setattr(java, "_PLACES", (str(tmp_path / "jvm"), str(tmp_path / "absent")))
    return tmp_path / "jvm"


def test_none_is_asked_for_in_one_line(places: Path) -> None:
    with pytest.raises(SetupError, match="needs Java 17 or later: install it") as caught:
        find()
    assert "\n" not in str(caught.value)


def test_an_old_one_is_named(places: Path) -> None:
    install(places / "java-8", "1.8.0_402")
    with pytest.raises(SetupError, match=r"found only Java 8 in .*java-8"):
        find()


def test_the_usual_places_are_searched(places: Path) -> None:
    install(places / "java-11", "11.0.2")
    wanted = install(places / "java-17", "17.0.15")
    assert find() == wanted


def test_java_home_goes_before_path(places: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on_path = install(tmp_path / "path", "21.0.1")
    monkeypatch.setenv("PATH", f"{on_path / 'bin'}:/bin")
    assert find() == on_path
    named = install(tmp_path / "named", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(named))
    assert find() == named


def test_a_java_home_that_is_too_old_is_passed_over(
    places: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(tmp_path / "old", "11.0.1")))
    wanted = install(places / "java-21", "21")
    assert find() == wanted


def test_one_that_does_not_run_is_passed_over(places: Path) -> None:
    broken = install(places / "java-99", "99")
    (broken / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(SetupError):
        find()
