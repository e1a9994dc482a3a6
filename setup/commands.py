"""Runs the programs that the set-up needs, reading what they say line by line: pip, and Debian's apt-get."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from setup.progress import Step, megabytes, step

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOG = VENV / "setup.log"
SCRATCH = VENV / "tmp"
"""Where pip downloads and unpacks: `/tmp` is in memory on some machines, and too small for it."""


class SetupError(Exception):
    """A step failed; the message is one line that says why, and what to do."""


def reading(command: list[str], line: Callable[[str], None], **variables: str) -> int:
    """Run a program in the checkout, and call `line` with each line of its output and errors; returns its exit code.

    If anything raises meanwhile, Ctrl-C for one, the program is ended too.
    """
    process = subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **variables}
    )
    assert process.stdout is not None
    with process:
        try:
            for said in process.stdout:
                line(said)
        except BaseException:
            process.terminate()
            raise
    return process.returncode


class Pip:
    """Runs `pip install`, and tells a step of the set-up how far it is; pip's own output goes to `.venv/setup.log`.

    Attributes:
        total: how many packages are to be seen to.
        expected: how many bytes are to be downloaded; 0 if nobody knows.
    """

    def __init__(self, running: Step, total: int, expected: int = 0) -> None:
        self.total, self.expected = total, expected
        self._step = running
        self._seen: set[str] = set()
        self._downloading = True
        self._earlier = 0
        self._unpacking = 0
        self._there = 0

    def install(self, *arguments: str) -> None:
        """`pip install` with `arguments`. Raises SetupError, with pip's last error in it, if it fails."""
        options = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
        command = [str(PYTHON), "-m", "pip", "install", *options, *arguments]
        errors: list[str] = []

        def line(said: str) -> None:
            log.write(said)
            if said.startswith("ERROR"):
                errors.append(said.strip())
            self._read(said)

        self._downloading, self._unpacking = True, 0
        self._step.begin("starting pip")
        with LOG.open("a") as log, _scratch():
            failed = reading(command, line, PYTHONUNBUFFERED="1", TMPDIR=str(SCRATCH))
        if failed:
            why = errors[-1] if errors else "no message"
            raise SetupError(f"pip could not install the locked packages: {why} (all of it: {LOG})")

    def look(self, running: Step) -> None:
        """Say how many bytes, or packages, are there by now: pip itself is silent about large ones."""
        if packages := self._unpacking:  # read once: the next command may begin meanwhile
            done = max(_installed() - self._there, 0)
            running.now = f"unpacking packages, {min(done + 1, packages)} of {packages}"
            running.share = done / packages
        elif self._downloading and (count := self._earlier + _downloaded()) >= 1e6:
            known = f" of about {megabytes(self.expected)}" if self.expected else ""
            running.now = f"{running.now.partition(';')[0]}; {megabytes(count)}{known}"
            left = self.expected - self._earlier
            running.share = (count - self._earlier) / left if left > 0 else None

    def _read(self, said: str) -> None:
        if found := re.match(r"(?:Collecting|Requirement already satisfied:) ([^\s\[=<>]+)", said):
            self._seen.add(found[1])
            self._step.now = f"package {min(len(self._seen), self.total)} of {self.total}, {found[1]}"
        elif found := re.match(r"\s*Building (?:wheel|editable) for (\S+)", said):
            self._downloaded()
            self._step.begin(f"building {found[1]}")
        elif found := re.match(r"Installing collected packages: (.*)", said):
            self._downloaded()
            self._step.begin("unpacking packages")
            self._there, self._unpacking = _installed(), found[1].count(",") + 1

    def _downloaded(self) -> None:
        """All is there; pip throws away what it has downloaded when it ends."""
        if self._downloading:
            self._downloading = False
            self._earlier += _downloaded()


@contextmanager
def _scratch() -> Iterator[None]:
    shutil.rmtree(SCRATCH, ignore_errors=True)  # of a set-up that was killed
    SCRATCH.mkdir()
    try:
        yield
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)


def _downloaded() -> int:
    """The bytes of the packages that pip has in its scratch by now."""
    count = 0
    for file in SCRATCH.glob("pip-unpack-*/*"):
        try:
            count += file.stat().st_size
        except OSError:  # gone meanwhile
            continue
    return count


def _installed() -> int:
    """How many packages there are in the environment."""
    return sum(1 for _ in VENV.glob("lib/python*/site-packages/*.dist-info"))


def apt_install(package: str, why: str) -> None:
    """Install a Debian package, showing how far that is; whether it worked is for the caller to see.

    Only for root, and where there is apt-get: see `has_apt`.
    """
    said_of = {"dlstatus": "downloading", "pmstatus": "installing"}

    def line(said: str) -> None:
        log.write(said)
        kind, _, rest = said.partition(":")
        if kind not in said_of:
            return
        found = rest.rstrip().split(":", 2)
        now = f"{said_of[kind]}: {found[-1]}"
        if not running.now.startswith(said_of[kind]):
            running.begin(now)
        running.now, running.share = now, float(found[1]) / 100

    place = LOG if VENV.is_dir() else Path(os.devnull)
    with step(f"{why}, installing {package} with apt-get", package) as running, place.open("a") as log:
        for words in (["update"], ["install", "-y", "--no-install-recommends", package]):
            # A failed update may still leave a usable package list, so only the outcome counts.
            reading(["apt-get", "-o", "APT::Status-Fd=1", *words], line, DEBIAN_FRONTEND="noninteractive")


def has_apt() -> bool:
    """Whether Debian packages can be installed here."""
    return shutil.which("apt-get") is not None and os.geteuid() == 0
