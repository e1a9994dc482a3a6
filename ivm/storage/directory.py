"""Storage in a directory of the operating system, held by one process at a time, whatever path it has meanwhile."""

from __future__ import annotations

import errno
import fcntl
import os
import weakref
from os import PathLike, fspath

from ivm.catalog.errors import StorageError
from ivm.storage.entries import absolute, names_in, open_directory, open_file, sync_directory
from ivm.storage.log import log_files
from ivm.storage.open_directory import DirectoryFile, OpenDirectory

HOLDER = "LOCK"
"""The file whose lock says that somebody holds the directory, and which has the number of that process."""


class Directory(OpenDirectory):
    """See `ivm.storage.storage.Storage`. Made if it is not there; its parent has to be.

    It is known by its descriptor from then on: renamed it is the same one, and what has its path instead is not
    touched. Before anything is written it is made sure that it is held still.

    One that is not `writable` has to be there; it is not held, and nothing in it is changed.
    """

    def __init__(self, path: str | PathLike[str], *, writable: bool = True) -> None:
        super().__init__(-1, "")
        self._holder = -1
        _opened.add(self)
        try:
            self._path = absolute(path)
            self._where = str(self._path)
            self._open(writable)
            if writable:
                self._hold()
        except BaseException as error:
            self.leave()
            if not isinstance(error, OSError):
                raise
            or_new = ", or a new name in a directory that can be written" if writable else ""
            raise StorageError(
                f"cannot open database {fspath(path)!r}: {error.strerror or error}; give a database's directory{or_new}"
            ) from error

    def names(self) -> list[str]:
        """See `Storage.names`."""
        return [name for name in super().names() if name != HOLDER]

    def tail(self, name: str) -> DirectoryFile:
        """A file that another process writes, to be read as it grows. FileNotFoundError if there is none."""
        return DirectoryFile(open_file(self._at, name, os.O_RDONLY), self.check)

    def close(self) -> None:
        """See `Storage.close`. Once is enough."""
        if self._holder >= 0:
            fcntl.flock(self._holder, fcntl.LOCK_UN)  # a process that was forked may have it open as well
        self.leave()

    def leave(self) -> None:
        """Close what was opened, without a word to the lock: in a process that was forked it is not ours."""
        holder, self._holder = self._holder, -1
        if holder >= 0:
            os.close(holder)
        super().close()

    def _open(self, writable: bool) -> None:
        """Find the directory, or make it. OSError if it is that of something else."""
        if writable:
            try:
                self._path.mkdir()
                sync_directory(self._path.parent)
            except FileExistsError:  # somebody may make it at the same time
                if not self._path.is_dir():
                    raise
        elif not self._path.exists():
            raise OSError("there is no database")
        self._at = open_directory(self._path)
        names = names_in(self._at)
        if HOLDER in names or log_files(self):  # without the first somebody has removed it
            return
        if not writable:
            raise OSError("there is no database")
        if names:
            raise OSError("it is a directory of other files")

    def _hold(self) -> None:
        """Have it, and nobody else. OSError if that is not possible, StorageError if another process has it."""
        try:
            self._holder = open_file(self._at, HOLDER, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise OSError(error.errno, f"{HOLDER}: {error.strerror}") from error
        try:
            fcntl.flock(self._holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            pid = os.pread(self._holder, 32, 0).decode(errors="replace").strip()
            whose = f"this process ({pid})" if pid == str(os.getpid()) else f"process {pid or 'unknown'}"
            raise StorageError(
                f"cannot open database {self._path}: {whose} has it open; close it there, or open it beside that with "
                "read_only=True"
            ) from error
        except OSError as error:
            raise StorageError(
                f"cannot open database {self._path}: its file system cannot lock a file (flock: {error.strerror}), so "
                "two processes could write to it; put it on one that can, such as that of a local disk, or only read "
                "it with read_only=True"
            ) from error
        self.check()
        os.ftruncate(self._holder, 0)
        os.pwrite(self._holder, f"{os.getpid()}\n".encode(), 0)

    def check(self) -> None:
        """OSError if somebody else may have it by now. Cost: 2 microseconds, for calls of the operating system."""
        held = os.fstat(self._holder)
        try:
            found = os.stat(HOLDER, dir_fd=self._at, follow_symlinks=False)
        except FileNotFoundError:
            found = None
        if found is None or not os.path.samestat(held, found):
            raise OSError(
                errno.ESTALE,
                f"somebody has removed or replaced {HOLDER} in its directory, so that another process may have it; "
                "close the database, and open it again",
            )


_opened: weakref.WeakSet[Directory] = weakref.WeakSet()


def _leave_all() -> None:
    for each in _opened:
        each.leave()


os.register_at_fork(after_in_child=_leave_all)
