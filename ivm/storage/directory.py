"""Storage in a directory of the operating system, held by one process at a time."""

from __future__ import annotations

import fcntl
import os
import weakref
from collections.abc import Sequence
from mmap import MAP_POPULATE, MAP_SHARED, PROT_READ, mmap
from os import PathLike, fspath
from pathlib import Path

import pyarrow as pa

from catalog.errors import StorageError

HOLDER = "LOCK"
"""The file whose lock says that somebody holds the directory, and which has the number of that process."""
_PIECES = 1000  # the operating system takes 1024 at once
_CACHED_BYTES = 1 << 23
"""So much of the end of a file stays in the operating system's cache, and as much again until that is looked at.

Nobody reads soon what was written before. Without this a log takes memory that no program has used, as long as there is
some, which a virtual machine has to be given page by page: that took six times as long as writing."""


class DirectoryFile:
    """See `ivm.storage.storage.File`."""

    def __init__(self, path: Path, flags: int) -> None:
        self._handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, 0o644)
        self._cached_from = 0

    def write(self, at: int, data: Sequence[bytes | memoryview]) -> None:
        """See `File.write`. A call that wrote a part goes on where it ended."""
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
        os.ftruncate(self._handle, size)

    def sync(self) -> None:
        """See `File.sync`."""
        os.fdatasync(self._handle)

    def close(self) -> None:
        """See `File.close`. Once is enough."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)


class Directory:
    """See `ivm.storage.storage.Storage`. Made if it is not there; its parent has to be.

    One that is not `writable` has to be there; it is not held, and nothing in it is changed.
    """

    def __init__(self, path: str | PathLike[str], *, writable: bool = True) -> None:
        self._path = Path(path).absolute()
        self._holder = -1
        self.writable = writable
        try:
            if not fspath(path):
                raise OSError("its name is empty")
            if writable:
                self._make()
            elif not (self._path / HOLDER).exists():
                raise OSError("there is no database")
        except OSError as error:
            or_new = ", or a new name in a directory that can be written" if writable else ""
            raise StorageError(
                f"cannot open database {fspath(path)!r}: {error.strerror or error}; give a database's directory{or_new}"
            ) from error
        if writable:
            self._hold()
            _held.add(self)

    def where(self, name: str = "") -> str:
        """See `Storage.where`."""
        return str(self._path / name) if name else str(self._path)

    def names(self) -> list[str]:
        """See `Storage.names`."""
        return sorted(entry.name for entry in os.scandir(self._path) if entry.is_file() and entry.name != HOLDER)

    def create(self, name: str) -> DirectoryFile:
        """See `Storage.create`."""
        return DirectoryFile(self._path / name, os.O_CREAT | os.O_TRUNC)

    def open(self, name: str) -> DirectoryFile:
        """See `Storage.open`."""
        return DirectoryFile(self._path / name, 0)

    def read(self, name: str, *, mapped: bool = True) -> pa.Buffer:
        """See `Storage.read`."""
        path = self._path / name
        if not mapped or path.stat().st_size == 0:  # which cannot be mapped
            return pa.py_buffer(path.read_bytes())
        with path.open("rb") as file:  # all of it is read soon: page by page that would take longer
            return pa.py_buffer(mmap(file.fileno(), 0, MAP_SHARED | MAP_POPULATE, PROT_READ))

    def rename(self, old: str, new: str) -> None:
        """See `Storage.rename`."""
        (self._path / old).replace(self._path / new)

    def remove(self, name: str) -> None:
        """See `Storage.remove`."""
        (self._path / name).unlink(missing_ok=True)

    def sync_names(self) -> None:
        """See `Storage.sync_names`."""
        _sync(self._path)

    def close(self) -> None:
        """See `Storage.close`. Once is enough."""
        holder, self._holder = self._holder, -1
        if holder >= 0:
            fcntl.flock(holder, fcntl.LOCK_UN)  # a process that was forked may have it open as well
            os.close(holder)

    def leave(self) -> None:
        """Close what was opened, without a word to the lock: in a process that was forked it is not ours."""
        holder, self._holder = self._holder, -1
        if holder >= 0:
            os.close(holder)

    def _make(self) -> None:
        if not self._path.is_dir():
            self._path.mkdir()
            _sync(self._path.parent)
        elif not (self._path / HOLDER).exists() and any(self._path.iterdir()):
            raise OSError("it is a directory of other files")
        self._holder = os.open(self._path / HOLDER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def _hold(self) -> None:
        try:
            fcntl.flock(self._holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            pid = os.pread(self._holder, 32, 0).decode(errors="replace").strip()
            self.leave()
            whose = f"this process ({pid})" if pid == str(os.getpid()) else f"process {pid or 'unknown'}"
            raise StorageError(
                f"cannot open database {self._path}: {whose} has it open; close it there, or open it beside that with "
                "read_only=True"
            ) from error
        os.ftruncate(self._holder, 0)
        os.pwrite(self._holder, f"{os.getpid()}\n".encode(), 0)


_held: weakref.WeakSet[Directory] = weakref.WeakSet()


def _leave_all() -> None:
    for each in _held:
        each.leave()


os.register_at_fork(after_in_child=_leave_all)


def _left(pieces: list[memoryview], done: int) -> list[memoryview]:
    """What is left of pieces of which so many bytes are done."""
    for i, piece in enumerate(pieces):
        if done < len(piece):
            return [piece[done:], *pieces[i + 1 :]]
        done -= len(piece)
    return []


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
