"""Bring `.venv` to what the lock files say, install the project into it, compile its kernels, and see to Java.

Runs on the standard library alone, since nothing is installed yet (what it imports of `tpch` must do so too). Each
step leaves a stamp with the digest of what it read and is skipped while that has not changed.

Usage, in the checkout: `.venv/bin/python -m setup.prepare [--java]`
"""

from __future__ import annotations

import compileall
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tpch.errors import SetupError as JavaMissing
from tpch.java import java_home

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMPS = VENV / "stamps"
LOG = VENV / "setup.log"
LOCK = ROOT / "requirements.lock"
BUILD_LOCK = ROOT / "setup" / "build.lock"
PROJECT = ROOT / "pyproject.toml"
KERNELS = ROOT / "ivm" / "kernels"
JAVA_PACKAGE = "openjdk-17-jre-headless"


class SetupError(Exception):
    """Packages could not be installed; the message is one line with pip's last error."""


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
    return _reading(command, PYTHONUNBUFFERED="1", PIP_PROGRESS_BAR="off")


def _reading(command: list[str], **variables: str) -> subprocess.Popen[str]:
    """A process whose output, and what it says of errors, is read line by line."""
    return subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **variables}
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
    say(f"installing {count} pinned packages into .venv (about 600 MB to download the first time)")
    start = time.monotonic()
    pip_install("--require-hashes", "-r", str(BUILD_LOCK), total=1)
    pip_install("--require-hashes", "--no-build-isolation", "-r", str(LOCK), total=count)
    mark_done("packages", seal)
    say(f"packages took {time.monotonic() - start:.0f} s")


def install_project() -> None:
    """Install this checkout in editable form, unless `pyproject.toml` and the packages are those of the last time.

    Its bytecode is written as well, as for any package that is installed: else the first process does it, or each one
    that may not write.
    """
    # An editable installation lists the top-level packages, so a new one needs a new installation.
    packages = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))
    seal = f"{digest(PROJECT)} {' '.join(packages)}"
    if is_done("project", seal):
        return
    pip_install("--no-deps", "--no-build-isolation", "--editable", str(ROOT), total=1)
    for package in packages:
        compileall.compile_dir(ROOT / package, quiet=2)
    mark_done("project", seal)


def compile_kernels() -> None:
    """Compile the kernels for the baseline that this processor fits, unless neither they nor the packages changed.

    What cannot be compiled now is compiled when it is first called, so that is said and no more.
    """
    seal = digest(LOCK, *sorted(path for kind in ("*.py", "*.txt") for path in KERNELS.rglob(kind)))
    if is_done("kernels", seal) and any((KERNELS / "machine").glob("*.kernels")):
        return
    say("compiling the kernels for this kind of processor")
    start = time.monotonic()
    command = [sys.executable, str(ROOT / "setup" / "kernels.py"), str(ROOT / "ivm")]
    last_error = ""
    with LOG.open("a") as log, _reading(command) as process:
        assert process.stdout is not None
        for line in process.stdout:
            log.write(line)
            if re.match(r"\S+ \d+/\d+ \S+$", line):
                _show_progress(line.strip())
            else:
                last_error = line.strip()
    _show_progress("")
    if process.returncode:
        say(f"some kernels are compiled when they are first needed: {last_error or 'no message'} (all of it: {LOG})")
    else:
        mark_done("kernels", seal)
        say(f"kernels took {time.monotonic() - start:.0f} s")


def install_java() -> None:
    """See that there is a Java for Spark, with apt-get where that is possible.

    Raises:
        tpch.errors.SetupError: there is none, and none could be installed; the message says what to install.
    """
    apt = shutil.which("apt-get")
    try:
        java_home()
    except JavaMissing:
        if apt is None or os.geteuid() != 0:
            raise
    else:
        return
    say(f"no Java found for Spark, installing {JAVA_PACKAGE} with apt-get")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with LOG.open("a") as log:
        for command in ([apt, "update"], [apt, "install", "-y", "--no-install-recommends", JAVA_PACKAGE]):
            # A failed update may still leave a usable package list, so only the outcome counts.
            subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=environment, check=False)
    java_home.cache_clear()
    java_home()


def main(arguments: list[str]) -> int:
    """Do what is missing; returns the exit code."""
    start = time.monotonic()
    try:
        install_packages()
        install_project()
        compile_kernels()
        if "--java" in arguments:
            install_java()
    except (SetupError, JavaMissing) as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    seconds = time.monotonic() - start
    if seconds >= 1:
        say(f"ready after {seconds:.0f} s (not part of what follows)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
