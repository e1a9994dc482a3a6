"""A process at a terminal, for tests: keys in, and what a person would see."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path
from types import TracebackType

from tests.house.modules import ROOT

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|[\x07\r]")


class Terminal:
    """`ivm` with arguments, in a terminal of 100 columns. Use as a context manager, which ends the process."""

    def __init__(self, *arguments: str, **environment: str | Path) -> None:
        self.started = time.perf_counter()
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.chdir(ROOT)
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # which tests that run in the background ignore
            os.environ.update(TERM="xterm", PROMPT_TOOLKIT_NO_CPR="1", NO_COLOR="1")
            os.environ.update({name: str(value) for name, value in environment.items()})
            os.execv(sys.executable, [sys.executable, "-c", "from ivm.cli import main; main()", *arguments])
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.seen = ""
        self._looked = 0

    def until(self, text: str, seconds: float = 60) -> str:
        """Wait for a text after the one waited for last; what came before it. AssertionError if it does not come."""
        end = time.monotonic() + seconds
        while (at := self.plain.find(text, self._looked)) < 0:
            assert time.monotonic() < end, f"no {text!r} in {self.plain[self._looked :]!r}"
            if select.select([self._fd], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self._fd, 1 << 16).decode()
                except OSError:
                    assert text in self.plain[self._looked :], f"ended without {text!r}: {self.plain[self._looked :]!r}"
        before, self._looked = self.plain[self._looked : at], at + len(text)
        return before

    @property
    def plain(self) -> str:
        """All that was written, without what moves the cursor."""
        return _CONTROL.sub("", self.seen)

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._fd, keys.encode())

    def exit_code(self) -> int:
        """Wait for the end of the process."""
        while True:
            try:
                if not os.read(self._fd, 1 << 16):
                    break
            except OSError:
                break
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if os.waitpid(self._pid, os.WNOHANG) == (0, 0):
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
        except ChildProcessError:
            pass
        os.close(self._fd)
