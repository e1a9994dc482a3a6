"""Folders of compiled code: what is found there is run, so it is only taken from files that no other user can make.

Unpickling an entry runs what it holds, so every doubt is settled before: about the folder, the file's owner and mode,
and, by a digest over name and content under a key of the folder, about the bytes. What is in doubt counts as absent and
is made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import sys
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SEAL = 32
"""The bytes of an entry's digest, which it begins with, and of a folder's key."""

MOST_BYTES = 256 << 20
"""What a user's compiled code takes on disk; a loop takes some 20 kB."""

_KEY = "key"
_OWNERS = hasattr(os, "geteuid")  # files have owners, and say what others may do
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH if _OWNERS else 0
_OTHERS = stat.S_IRWXG | stat.S_IRWXO if _OWNERS else 0
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def cache_directory() -> Path:
    """Where compiled code of this user is kept: `IVM_CACHE_DIR`, else the platform's cache directory for users."""
    chosen = os.environ.get("IVM_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = _named("LOCALAPPDATA", Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = _named("XDG_CACHE_HOME", Path.home() / ".cache")
    return base / "ivm"


def _named(variable: str, otherwise: Path) -> Path:
    """The directory that a variable names; one that is empty, or not from the root on, names none (XDG's rule)."""
    path = Path(os.environ.get(variable, ""))
    return path if path.is_absolute() else otherwise


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of this user that may be trusted; its entries take up to `MOST_BYTES`, see `prune`."""

    path: Path
    key: bytes

    def read(self, name: str) -> bytes | None:
        """What was written under a name; None if nothing was, or it is damaged, or it may be another's."""
        try:
            found = _read(self.path / name)
        except OSError:
            return None
        if not secrets.compare_digest(found[:SEAL], self._seal(name, found[SEAL:])):
            return None
        with contextlib.suppress(OSError):
            os.utime(self.path / name)  # it was used
        return found[SEAL:]

    def write(self, name: str, body: bytes) -> bool:
        """Put an entry in place of whatever has its name, whole or not at all; False if it cannot be written."""
        try:
            replace(self.path / name, self._seal(name, body) + body, 0o600)
        except OSError:
            return False
        prune(self.path, MOST_BYTES)
        return True

    def _seal(self, name: str, body: bytes) -> bytes:
        digest = hashlib.blake2b(name.encode() + b"\0", key=self.key, digest_size=SEAL)
        digest.update(body)
        return digest.digest()


class _DoubtError(Exception):
    """Why a folder is not to be trusted."""


def private_folder() -> Folder | None:
    """The user's own folder of compiled code, which is made if need be; None if it cannot be made or not be trusted.

    The latter is said once, by a RuntimeWarning.
    """
    return _private(cache_directory())


@cache
def _private(base: Path) -> Folder | None:
    path = base / "compiled"
    try:
        base.parent.mkdir(parents=True, exist_ok=True)
        _make(base, _OTHERS_WRITE)
        _make(path, _OTHERS)
        return Folder(path, _key_of(path))
    except OSError:
        return None  # a read-only home must not stop anybody; the price is compiling in every process
    except _DoubtError as doubt:
        warnings.warn(
            f"compiled code is not kept, so each process compiles it again: {doubt}; set IVM_CACHE_DIR to a directory "
            "of your own that only you can write to (chmod 700)",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def read_beside(path: Path, code: Path) -> bytes | None:
    """A file that came with the modules in `code`, in a folder in there; None unless it is as safe as they are."""
    try:
        around, folder = code.stat(), path.parent.lstat()
        with os.fdopen(os.open(path, _READ), "rb") as file:
            found = os.fstat(file.fileno())
            are_plain = stat.S_ISREG(found.st_mode) and stat.S_ISDIR(folder.st_mode)
            are_safe = _is_as_safe(found, around) and _is_as_safe(folder, around)
            return file.read() if are_plain and are_safe else None
    except OSError:
        return None


def _is_as_safe(found: os.stat_result, code: os.stat_result) -> bool:
    """Whether only those who can write the code, or this user, can have written a file or folder beside it."""
    more = found.st_mode & ~code.st_mode & _OTHERS_WRITE
    return not more and (_is_own(found) or found.st_uid == code.st_uid)


def prune(folder: Path, most: int) -> None:
    """Remove the files that were not used for the longest time, until a quarter of `most` bytes is free again.

    Nothing happens as long as all take no more than that. Other processes may read, write and prune meanwhile: one
    that misses an entry compiles it again. Cost: a look at each file.
    """
    files: list[tuple[float, int, str]] = []
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for each in found:
            with contextlib.suppress(OSError):  # removed by another
                status = each.stat(follow_symlinks=False)
                if each.name != _KEY and stat.S_ISREG(status.st_mode):
                    files.append((status.st_mtime, status.st_size, each.path))
    total = sum(size for _, size, _ in files)
    if total <= most:
        return
    for _, size, path in sorted(files):
        if total <= most - most // 4:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size


def _is_own(found: os.stat_result) -> bool:
    """Whether a file is of the user that this process acts as; all are where files have no owners."""
    return not _OWNERS or found.st_uid == os.geteuid()


def _make(directory: Path, refused: int) -> None:
    """Make a directory of this user alone; _DoubtError for one that is there and another's, or has `refused` bits."""
    with contextlib.suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise _DoubtError(f"{directory} is no directory")
    if not _is_own(found):
        raise _DoubtError(f"{directory} belongs to another user")
    if found.st_mode & refused:
        raise _DoubtError(f"{directory} has mode {stat.S_IMODE(found.st_mode):04o}, which lets other users in")


def _key_of(folder: Path) -> bytes:
    """The folder's key, which is made if there is none that is whole."""
    path = folder / _KEY
    with contextlib.suppress(OSError):
        found = _read(path)
        if len(found) == SEAL:
            return found
    replace(path, secrets.token_bytes(SEAL), 0o600)
    return _read(path)  # another process may have made one at the same time: the later one counts


def _read(path: Path) -> bytes:
    """The bytes of a file; OSError if there is none that this user made for himself."""
    with os.fdopen(os.open(path, _READ), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_mode & _OTHERS_WRITE or not _is_own(found):
            raise PermissionError(f"{path} may be another user's")
        return file.read()


def replace(path: Path, content: bytes, mode: int) -> None:
    """Write a file aside and give it its name when it is whole."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(draft, flags, mode), "wb") as file:
            file.write(content)
        os.replace(draft, path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
