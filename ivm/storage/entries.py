"""Files and directories of the operating system: what a user names by a path, and what lies in an open directory.

A file within a directory is named by that directory's descriptor and a name, so that it does not matter what has the
directory's path by now. Nothing is followed: what is no file of the directory's own is refused, and never waited for.
"""

from __future__ import annotations

import errno
import os
import stat
from os import PathLike
from pathlib import Path

from ivm.catalog.errors import TypeMismatchError

_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}


def absolute(path: str | bytes | PathLike[str]) -> Path:
    """The path that a user gave, from the root. OSError for one that nothing can have, TypeMismatchError for none."""
    try:
        name = os.fsdecode(path)
    except TypeError as error:
        raise TypeMismatchError(f"a path is given as a str or a Path, not as a {type(path).__name__}") from error
    if not name:
        raise OSError(errno.EINVAL, "its name is empty")
    if "\0" in name:
        raise OSError(errno.EINVAL, "its name holds a NUL character, which no path can")
    try:
        os.fsencode(name)
    except UnicodeEncodeError as error:
        raise OSError(errno.EINVAL, "its name holds half of a character, which no path can") from error
    return Path(name).absolute()


def open_directory(path: Path) -> int:
    """The descriptor of a directory; OSError if there is none."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def sync_directory(path: Path) -> None:
    """Return when the names in a directory survive a loss of power."""
    handle = open_directory(path)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def names_in(at: int) -> list[str]:
    """The names in an open directory. Any thread calls."""
    handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=at)  # which has a place of its own in it
    try:
        return os.listdir(handle)
    finally:
        os.close(handle)


def open_file(at: int, name: str, flags: int) -> int:
    """The descriptor of a file in an open directory, made or found as `flags` say.

    OSError for what is none: a link, a directory, whatever one could wait for. To be written, nor may it have another
    name, under which it may be a file of somebody else's.
    """
    try:
        handle = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644, dir_fd=at)
    except OSError as error:
        if error.errno == errno.EEXIST:
            raise
        found = os.stat(name, dir_fd=at, follow_symlinks=False)
        if stat.S_ISREG(found.st_mode):
            raise
        raise _no_file(name, found) from error
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise _no_file(name, found)
        if flags & os.O_RDWR and found.st_nlink > 1:
            why = "it has another name too (a hard link), under which it would change; put a copy in its place"
            raise OSError(errno.EMLINK, why, name)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _no_file(name: str, found: os.stat_result) -> OSError:
    kind = _KINDS.get(stat.S_IFMT(found.st_mode), "a device")
    why = f"it is {kind}, and nothing in a database's directory is followed; put the file itself there"
    return OSError(errno.EINVAL, why, name)
