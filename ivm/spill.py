"""Where DuckDB may put what does not fit into memory: a directory of this process, which goes with it."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

_NAMED = "ivm-duckdb-"


@cache
def spill_directory() -> str:
    """A directory of this process, which only its user may enter, and which it removes at its end.

    Those of processes that were killed are removed by the next one: nobody has their lock.
    """
    _remove_left()
    directory, process = _made(), os.getpid()

    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(directory, ignore_errors=True)

    atexit.register(remove)
    return str(directory)


def _made() -> Path:
    while True:
        directory = Path(tempfile.mkdtemp(prefix=_NAMED))
        with suppress(FileNotFoundError):  # another process may take it for left before it is locked
            handle = _opened(directory)  # for as long as the process lives
            with suppress(OSError):  # where there are no locks, nobody takes it for left either
                fcntl.flock(handle, fcntl.LOCK_SH)
            if directory.exists():
                return directory
            os.close(handle)


def _remove_left() -> None:
    for directory in Path(tempfile.gettempdir()).glob(f"{_NAMED}*"):
        with suppress(OSError):
            if directory.lstat().st_uid != os.getuid():
                continue
            handle = _opened(directory)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(directory)
            finally:
                os.close(handle)


def _opened(directory: Path) -> int:
    return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
