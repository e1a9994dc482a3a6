"""An open directory of the operating system as a storage, by its descriptor: whatever path it has meanwhile."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from mmap import MAP_POPULATE, MAP_SHARED, PROT_READ, mmap

import pyarrow as pa

from ivm.storage.entries import names_in, open_file
from ivm.storage.storage import Storage, is_aside

_PIECES = 1000  # the operating system takes 1024 at once
_MOST = 1 << 30
"""So many bytes are read by one call of the operating system."""
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

    @property
    def size(self) -> int:
        """How many bytes it has now, whoever writes it."""
        return os.fstat(self._handle).st_size

    def read(self, at: int) -> pa.Buffer:
        """The bytes from `at` on that there are now, also when its name is gone. Nothing is mapped, since it may be cut
        off. Cost: none where there are none.
        """
        pieces = list[bytes]()
        while piece := os.pread(self._handle, min(max(self.size - at, 0), _MOST), at):
            pieces.append(piece)
            at += len(piece)
        return pa.py_buffer(pieces[0] if len(pieces) == 1 else b"".join(pieces))

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

    def __del__(self) -> None:
        self.close()


class OpenDirectory(Storage):
    """See `Storage`. Nothing in it is followed: see `ivm.storage.entries`."""

    def __init__(self, at: int, where: str) -> None:
        """`at` is its descriptor, and `where` what a user calls it."""
        self._at = at
        self._where = where

    def where(self, name: str = "") -> str:
        """See `Storage.where`: by the path under which it was opened."""
        return os.path.join(self._where, name) if name else self._where

    def names(self) -> list[str]:
        """See `Storage.names`."""
        return sorted(name for name in names_in(self._at) if not is_aside(name))

    def create(self, name: str) -> DirectoryFile:
        """See `Storage.create`. What was there is not written to: it may have another name."""
        self.remove(name)
        return DirectoryFile(open_file(self._at, name, os.O_RDWR | os.O_CREAT | os.O_EXCL), self.check)

    def open(self, name: str) -> DirectoryFile:
        """See `Storage.open`."""
        return DirectoryFile(open_file(self._at, name, os.O_RDWR), self.check)

    def read(self, name: str, *, mapped: bool = True) -> pa.Buffer:
        """See `Storage.read`."""
        with os.fdopen(open_file(self._at, name, os.O_RDONLY), "rb") as file:
            if not mapped or os.fstat(file.fileno()).st_size == 0:  # which cannot be mapped
                return pa.py_buffer(file.read())
            # All of it is read soon: page by page that would take longer.
            return pa.py_buffer(mmap(file.fileno(), 0, MAP_SHARED | MAP_POPULATE, PROT_READ))

    def rename(self, old: str, new: str) -> None:
        """See `Storage.rename`."""
        self.check()
        os.replace(old, new, src_dir_fd=self._at, dst_dir_fd=self._at)

    def link(self, old: str, new: str) -> None:
        """Give a file one more name, if nothing has that; FileExistsError if something has."""
        os.link(old, new, src_dir_fd=self._at, dst_dir_fd=self._at, follow_symlinks=False)

    def remove(self, name: str) -> None:
        """See `Storage.remove`."""
        self.check()
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._at)

    def sync_names(self) -> None:
        """See `Storage.sync_names`."""
        os.fsync(self._at)

    def close(self) -> None:
        """See `Storage.close`. Once is enough."""
        at, self._at = self._at, -1
        if at >= 0:
            os.close(at)

    def check(self) -> None:
        """OSError if nothing is to be written any more."""


def _left(pieces: list[memoryview], done: int) -> list[memoryview]:
    """What is left of pieces of which so many bytes are done."""
    for i, piece in enumerate(pieces):
        if done < len(piece):
            return [piece[done:], *pieces[i + 1 :]]
        done -= len(piece)
    return []
