"""Storage in a directory of the operating system, held by one process at a time, whatever path it has meanwhile."""

from __future__ import annotations

import errno
import fcntl
import os
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from mmap import MAP_POPULATE, MAP_SHARED, PROT_READ, mmap
from os import PathLike, fspath

import pyarrow as pa

from ivm.catalog.errors import StorageError
from ivm.storage.entries import absolute, names_in, open_directory, open_file, sync_directory
from ivm.storage.log import log_files
from ivm.storage.tail import Tail

HOLDER = "LOCK"
"""The file whose lock says that somebody holds the directory, and which has the number of that process."""
_PIECES = 1000  # the operating system takes 1024 at once
_CACHED_BYTES = 1 << 23
"""So much of the end of a file stays in the operating system's cache, and as much again until that is looked at.

Nobody reads soon what was written before. Without this a log takes memory that no program has used, as long as there is
some, which a virtual machine has to be given page by page: that took six times as long as writing."""


class DirectoryFile:
    """See `ivm.storage.storage.File`. `check` raises OSError if nothing is to be written any more."""

    def __init__(self, handle: int, check: Callable[[], None]) -> None:
        self._handle = handle
        self._check = check
        self._cached_from = 0

    def write(self, at: int, data: Sequence[bytes | memoryview]) -> None:
        """See `File.write`. A call that wrote a part goes on where it ended."""
        self._check()
        pieces = [memoryview(each).cast("B") for each in data]
        while pieces:
            done = os.pwritev(self._handle, pieces[:_PIECES], at)
            if done == 0 and any(len(each) for each in pieces[:_PIECES]):
                raise OSError("the file takes no more bytes")
            at += done
            pieces = _left(pieces, done)
        if at - self._cached_from >= 2 * _CACHED_BYTES and hasattr(os, "posix_fadvise"):
            # Pages that are not on the disk yet stay, and are begun to be written: the next call lets them go.
            begin = max(0, self._cached_from - _CACHED_BYTES)
            os.posix_fadvise(self._handle, begin, at - begin, os.POSIX_FADV_DONTNEED)
            self._cached_from = at - _CACHED_BYTES

    def truncate(self, size: int) -> None:
        """See `File.truncate`."""
        self._check()
        os.ftruncate(self._handle, size)

    def sync(self) -> None:
        """See `File.sync`. OSError also for a file that has no name any more: nobody would find it."""
        os.fdatasync(self._handle)
        if os.fstat(self._handle).st_nlink == 0:
            raise OSError(errno.ESTALE, "somebody has removed it")

    def close(self) -> None:
        """See `File.close`. Once is enough."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)


class Directory:
    """See `ivm.storage.storage.Storage`. Made if it is not there; its parent has to be.

    It is known by its descriptor from then on: renamed it is the same one, and what has its path instead is not
    touched. Before anything is written it is made sure that it is held still. Nothing in it is followed: see
    `ivm.storage.entries`.

    One that is not `writable` has to be there; it is not held, and nothing in it is changed.
    """

    def __init__(self, path: str | PathLike[str], *, writable: bool = True) -> None:
        self._at = self._holder = -1
        self.writable = writable
        _opened.add(self)
        try:
            self._path = absolute(path)
            self._open()
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

    def where(self, name: str = "") -> str:
        """See `Storage.where`: by the path under which it was opened."""
        return str(self._path / name) if name else str(self._path)

    def names(self) -> list[str]:
        """See `Storage.names`."""
        return sorted(name for name in names_in(self._at) if name != HOLDER)

    def create(self, name: str) -> DirectoryFile:
        """See `Storage.create`. What was there is not written to: it may have another name."""
        self.remove(name)
        return DirectoryFile(open_file(self._at, name, os.O_RDWR | os.O_CREAT | os.O_EXCL), self._check_held)

    def open(self, name: str) -> DirectoryFile:
        """See `Storage.open`."""
        return DirectoryFile(open_file(self._at, name, os.O_RDWR), self._check_held)

    def read(self, name: str, *, mapped: bool = True) -> pa.Buffer:
        """See `Storage.read`."""
        with os.fdopen(open_file(self._at, name, os.O_RDONLY), "rb") as file:
            if not mapped or os.fstat(file.fileno()).st_size == 0:  # which cannot be mapped
                return pa.py_buffer(file.read())
            # All of it is read soon: page by page that would take longer.
            return pa.py_buffer(mmap(file.fileno(), 0, MAP_SHARED | MAP_POPULATE, PROT_READ))

    def tail(self, name: str) -> Tail:
        """A file that another process writes, to be read as it grows. FileNotFoundError if there is none."""
        return Tail(open_file(self._at, name, os.O_RDONLY))

    def rename(self, old: str, new: str) -> None:
        """See `Storage.rename`."""
        self._check_held()
        os.replace(old, new, src_dir_fd=self._at, dst_dir_fd=self._at)

    def remove(self, name: str) -> None:
        """See `Storage.remove`."""
        self._check_held()
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._at)

    def sync_names(self) -> None:
        """See `Storage.sync_names`."""
        os.fsync(self._at)

    def close(self) -> None:
        """See `Storage.close`. Once is enough."""
        if self._holder >= 0:
            fcntl.flock(self._holder, fcntl.LOCK_UN)  # a process that was forked may have it open as well
        self.leave()

    def leave(self) -> None:
        """Close what was opened, without a word to the lock: in a process that was forked it is not ours."""
        handles = self._holder, self._at
        self._holder = self._at = -1
        for handle in handles:
            if handle >= 0:
                os.close(handle)

    def _open(self) -> None:
        """Find the directory, or make it. OSError if it is that of something else."""
        if self.writable:
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
        if not self.writable:
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
        self._check_held()
        os.ftruncate(self._holder, 0)
        os.pwrite(self._holder, f"{os.getpid()}\n".encode(), 0)

    def _check_held(self) -> None:
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


def _left(pieces: list[memoryview], done: int) -> list[memoryview]:
    """What is left of pieces of which so many bytes are done."""
    for i, piece in enumerate(pieces):
        if done < len(piece):
            return [piece[done:], *pieces[i + 1 :]]
        done -= len(piece)
    return []
