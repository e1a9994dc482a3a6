"""Make `.venv`, bring it to what the lock files say, install the project into it, compile its kernels, see to Java.

Runs on the standard library alone, since nothing is installed yet (what it imports of `tpch` must do so too). Each
step leaves a stamp with the digest of what it read and is skipped while that has not changed.

Usage, in the checkout: `python -m setup.prepare [--environment] [--java]`; with `--environment` it makes `.venv` anew.
"""

from __future__ import annotations

import compileall
import hashlib
import importlib.util
import re
import sys
import time
from pathlib import Path

from ivm.tpch.errors import SetupError as JavaMissing
from ivm.tpch.java import java_home
from setup.commands import LOG, PYTHON, ROOT, VENV, Pip, SetupError, apt_install, has_apt, reading
from setup.progress import say, step

STAMPS = VENV / "stamps"
LOCK = ROOT / "requirements.lock"
BUILD_LOCK = ROOT / "setup" / "build.lock"
PROJECT = ROOT / "pyproject.toml"
KERNELS = ROOT / "ivm" / "kernels"
JAVA_PACKAGE = "openjdk-17-jre-headless"
DOWNLOADS = 790_000_000
"""How many bytes the first set-up downloads on Linux, about; more than half of it is Spark."""


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


def make_environment() -> None:
    """Make `.venv`, with pip in it, for the interpreter that runs this; what was there goes.

    Raises SetupError if this Python cannot; Debian keeps what it takes in a package of its own.
    """
    version = ".".join(map(str, sys.version_info[:2]))
    package = f"python{version}-venv"
    if importlib.util.find_spec("ensurepip") is None and has_apt():
        apt_install(package, f"Python {version} has no venv with pip")
        importlib.invalidate_caches()
    if importlib.util.find_spec("ensurepip") is None:
        raise SetupError(
            f"{sys.executable} has no venv with pip; install it (Debian, Ubuntu: apt-get install {package}) "
            "and try again"
        )
    said: list[str] = []
    with step(f"making .venv with Python {sys.version.split()[0]}"):
        failed = reading([sys.executable, "-m", "venv", "--clear", str(VENV)], said.append)
    if failed:
        raise SetupError(f"cannot make .venv: {said[-1].strip() if said else 'no message'}")


def install_packages() -> None:
    """Install the pinned packages unless the lock files are those of the last time.

    Everything is checked against the locked hashes. setuptools comes first and by itself, so that packages that are
    published as source only are built with a pinned version of it.
    """
    seal = digest(LOCK, BUILD_LOCK)
    if is_done("packages", seal):
        return
    count = len(re.findall(r"^\S+==", LOCK.read_text(), flags=re.MULTILINE))
    is_first = not (STAMPS / "packages").exists()
    LOG.write_text("")
    with step(f"installing {count} pinned packages into .venv", "packages") as running:
        pip = Pip(running, count, DOWNLOADS if is_first else 0)
        running.watch(pip.look)
        pip.install("--require-hashes", "-r", str(BUILD_LOCK))
        pip.install("--require-hashes", "--no-build-isolation", "-r", str(LOCK))
    mark_done("packages", seal)


def install_project() -> None:
    """Install this checkout in editable form, unless `pyproject.toml` and the packages are those of the last time.

    Its bytecode is written as well, as for any package that is installed: else the first process does it, or each one
    that may not write.
    """
    # An editable installation is the path of the checkout; the bytecode is written for each top-level package.
    packages = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))
    seal = f"{digest(PROJECT)} {' '.join(packages)}"
    if is_done("project", seal):
        return
    with step("installing ivm itself into .venv") as running:
        Pip(running, 1).install("--no-deps", "--no-build-isolation", "--editable", str(ROOT))
        for package in packages:
            running.begin(f"writing the bytecode of {package}/")
            compileall.compile_dir(ROOT / package, quiet=2)
    mark_done("project", seal)


def compile_kernels() -> None:
    """Compile the kernels for the baseline that this processor fits, unless neither they nor the packages changed.

    What cannot be compiled now is compiled when it is first called, so that is said and no more.
    """
    seal = digest(LOCK, *sorted(path for kind in ("*.py", "*.txt") for path in KERNELS.rglob(kind)))
    if is_done("kernels", seal) and any((KERNELS / "machine").glob("*.kernels")):
        return
    command = [str(PYTHON), str(ROOT / "setup" / "kernels.py"), str(ROOT / "ivm")]
    last_error = ""

    def line(said: str) -> None:
        nonlocal last_error
        log.write(said)
        if found := re.match(r"\S+ (\d+)/(\d+) (\d+)% (\S+)$", said):
            running.now, running.share = f"kernel {found[1]} of {found[2]}, {found[4]}", int(found[3]) / 100
        else:
            last_error = said.strip()

    with step("compiling the kernels for this kind of processor", "kernels") as running, LOG.open("a") as log:
        failed = reading(command, line)
    if failed:
        say(f"some kernels are compiled when they are first needed: {last_error or 'no message'} (all of it: {LOG})")
    else:
        mark_done("kernels", seal)


def install_java() -> None:
    """See that there is a Java for Spark, with apt-get where that is possible.

    Raises:
        ivm.tpch.errors.SetupError: there is none, and none could be installed; the message says what to install.
    """
    try:
        java_home()
    except JavaMissing:
        if not has_apt():
            raise
    else:
        return
    apt_install(JAVA_PACKAGE, "no Java found for Spark")
    java_home.cache_clear()
    java_home()


def main(arguments: list[str]) -> int:
    """Do what is missing; returns the exit code."""
    start = time.monotonic()
    try:
        if "--environment" in arguments:
            make_environment()
        install_packages()
        install_project()
        compile_kernels()
        if "--java" in arguments:
            install_java()
    except (SetupError, JavaMissing) as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("set-up: interrupted; the next run goes on from here", file=sys.stderr)
        return 130
    seconds = time.monotonic() - start
    if seconds >= 1:
        say(f"ready after {seconds:.0f} s (not part of what follows)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
