"""A shell over a new database, and input for it that nobody is typing."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

import ivm
from ivm.shell.commands import RUN
from ivm.shell.session import Shell


def new_shell(*, external_access: bool, is_typed: bool = False) -> Shell:
    """A shell over an empty database in memory."""
    return Shell(ivm.connect(external_access=external_access), Console(stderr=True), RUN, is_typed=is_typed)


def run_all(shell: Shell, files: Iterable[Path] = (), texts: Iterable[str] = (), lines: Iterable[str] = ()) -> int:
    """Run files, then texts, then lines that nobody is typing, up to the first error. Returns the exit code."""
    try:
        with contextlib.suppress(EOFError):
            for file in files:
                shell.run_file(file)
            for text in texts:
                shell.run_text(text)
            for line in lines:
                shell.feed(line.rstrip("\n"))
            shell.finish()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has left: there is nothing to tell
        return 1
    except KeyboardInterrupt:
        shell.interrupted()
        return 130
    except Exception as error:  # noqa: BLE001  one message, whatever it is
        shell.tell(error)
        return 1
    return 0
