"""Bring `.venv` to what the lock files say, install the project into it, and see to Java.

Runs on the standard library alone, since nothing is installed yet. Each step leaves a stamp with the digest of what
it read and is skipped while that has not changed.

Usage: `.venv/bin/python setup/prepare.py [--java]`
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMPS = VENV / "stamps"
LOG = VENV / "setup.log"
LOCK = ROOT / "requirements.lock"
BUILD_LOCK = ROOT / "setup" / "build.lock"
PROJECT = ROOT / "pyproject.toml"
JAVA_AT_LEAST = 17
JAVA_PACKAGE = "openjdk-17-jre-headless"
WELL_KNOWN_JAVA = (
    "/usr/lib/jvm/*/bin/java",
    "/opt/java/*/bin/java",
    "/opt/*/bin/java",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java",
)


class SetupError(Exception):
    """A step that could not be done; the message is one line that says what to do."""


def say(text: str) -> None:
    """Print one line of set-up output."""
    print(f"set-up: {text}", flush=True)


def digest(*paths: Path) -> str:
    """The SHA-256 of the files' contents, with the interpreter's version, since wheels depend on it."""
    read = hashlib.sha256(sys.version.encode())
    for path in paths:
        read.update(path.read_bytes())
    return read.hexdigest()


def is_done(step: str, seal: str) -> bool:
    """True if the step's stamp carries the seal."""
    stamp = STAMPS / step
    return stamp.exists() and stamp.read_text() == seal


def mark_done(step: str, seal: str) -> None:
    """Leave the seal as the step's stamp."""
    STAMPS.mkdir(exist_ok=True)
    (STAMPS / step).write_text(seal)


def pip_install(*arguments: str, total: int) -> None:
    """Run `pip install`, showing how far it is; its own output goes to `.venv/setup.log`.

    Args:
        arguments: what follows `pip install`.
        total: how many packages are asked for, for the count that is shown.

    Raises:
        SetupError: pip failed; its last error line is in the message.
    """
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", *arguments]
    seen = 0
    last_error = ""
    with LOG.open("a") as log, _pip(command) as process:
        assert process.stdout is not None
        for line in process.stdout:
            log.write(line)
            found = re.match(r"(?:Collecting|Requirement already satisfied:|Obtaining) ([^\s\[=<>]+)", line)
            if found:
                seen += 1
                _show_progress(f"{min(seen, total)}/{total} {found[1]}")
            elif line.startswith(("Building wheel", "Installing collected")):
                _show_progress("building and unpacking (half a minute or two)")
            elif line.startswith("ERROR"):
                last_error = line.strip()
    _show_progress("")
    if process.returncode:
        raise SetupError(f"pip could not install the locked packages: {last_error or 'no message'} (all of it: {LOG})")


def _pip(command: list[str]) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PIP_PROGRESS_BAR": "off"}
    return subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    )


def _show_progress(text: str) -> None:
    # Without a terminal a line for each package would bury everything else.
    if sys.stdout.isatty():
        print(f"\r\033[K{'set-up: ' if text else ''}{text}", end="", flush=True)


def install_packages() -> None:
    """Install the pinned packages unless the lock files are those of the last time.

    Everything is checked against the locked hashes. setuptools comes first and by itself, so that packages that are
    published as source only are built with a pinned version of it.
    """
    seal = digest(LOCK, BUILD_LOCK)
    if is_done("packages", seal):
        return
    count = len(re.findall(r"^\S+==", LOCK.read_text(), flags=re.MULTILINE))
    LOG.write_text("")
    say(f"installing {count} pinned packages into .venv (about 700 MB to download the first time)")
    start = time.monotonic()
    pip_install("--require-hashes", "-r", str(BUILD_LOCK), total=1)
    pip_install("--require-hashes", "--no-build-isolation", "-r", str(LOCK), total=count)
    mark_done("packages", seal)
    say(f"packages took {time.monotonic() - start:.0f} s")


def install_project() -> None:
    """Install this checkout in editable form, unless its `pyproject.toml` is that of the last time."""
    seal = digest(PROJECT)
    if is_done("project", seal):
        return
    pip_install("--no-deps", "--no-build-isolation", "--editable", str(ROOT), total=1)
    mark_done("project", seal)


def java_version(java: str) -> int:
    """The feature release of a Java executable (17 for 17.0.15), 0 if it does not run."""
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', shown.stderr + shown.stdout)
    return int(found[1]) if found else 0


def find_java() -> str | None:
    """A Java executable of release 17 or later: from JAVA_HOME, PATH or the usual places; None if there is none."""
    candidates = []
    if home := os.environ.get("JAVA_HOME"):
        candidates.append(str(Path(home) / "bin" / "java"))
    if on_path := shutil.which("java"):
        candidates.append(on_path)
    for pattern in WELL_KNOWN_JAVA:
        candidates += sorted(map(str, Path("/").glob(pattern.removeprefix("/"))), reverse=True)
    return next((java for java in candidates if java_version(java) >= JAVA_AT_LEAST), None)


def install_java() -> None:
    """Install a Java with apt-get where that is possible.

    Raises:
        SetupError: it is not possible, or did not work; the message says what to install.
    """
    advice = (
        f"Spark needs Java {JAVA_AT_LEAST} or later; install it "
        f"(Debian, Ubuntu: apt-get install {JAVA_PACKAGE}) and try again"
    )
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        raise SetupError(f"no Java found. {advice}")
    say(f"no Java {JAVA_AT_LEAST} found, installing {JAVA_PACKAGE} with apt-get")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with LOG.open("a") as log:
        for command in ([apt, "update"], [apt, "install", "-y", "--no-install-recommends", JAVA_PACKAGE]):
            # A failed update may still leave a usable package list, so only the outcome counts.
            subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=environment, check=False)
    if find_java() is None:
        raise SetupError(f"apt-get could not install {JAVA_PACKAGE} (see {LOG}). {advice}")


def main(arguments: list[str]) -> int:
    """Do what is missing; returns the exit code."""
    start = time.monotonic()
    try:
        install_packages()
        install_project()
        if "--java" in arguments and find_java() is None:
            install_java()
    except SetupError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    seconds = time.monotonic() - start
    if seconds >= 1:
        say(f"ready after {seconds:.0f} s (not part of what follows)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
