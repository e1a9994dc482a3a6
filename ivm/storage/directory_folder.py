"""A folder in a directory of the operating system, which machines may share."""

from __future__ import annotations

import os
from contextlib import suppress
from os import PathLike
from pathlib import Path
from secrets import token_hex
from shutil import rmtree

from ivm.catalog.errors import StorageError
from ivm.storage.entries import absolute, sync_directory
from ivm.storage.folder import ASIDE, names_of


class DirectoryFolder:
    """See `ivm.storage.folder.Folder`. The directory is made where it is not there. It has to know hard links.

    Network file systems keep what is promised here as far as they keep it themselves: that a link is made once.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        try:
            self._path = absolute(path)
        except OSError as error:
            raise StorageError(
                f"cannot use {path!r} as a cluster's folder: {error.strerror}; give a directory that all machines see"
            ) from error

    def where(self, name: str = "") -> str:
        """See `Folder.where`."""
        return str(self._path / name) if name else str(self._path)

    def put(self, name: str, data: bytes) -> None:
        """See `Folder.put`. Cost: a sync of the file and one of its directory."""
        path, aside = self._aside(name, data)
        aside.replace(path)
        sync_directory(path.parent)

    def put_new(self, name: str, data: bytes) -> bool:
        """See `Folder.put_new`. StorageError if the file system has no hard links."""
        path, aside = self._aside(name, data)
        try:
            os.link(aside, path)
        except FileExistsError:
            return False
        except PermissionError as error:  # so Linux says that a file system has none
            raise StorageError(
                f"cannot write {path}: {error.strerror}; a cluster's root needs a directory that can be written, of a "
                "file system with hard links; give another one"
            ) from error
        finally:
            aside.unlink(missing_ok=True)
        sync_directory(path.parent)
        return True

    def get(self, name: str) -> bytes:
        """See `Folder.get`."""
        return (self._path / name).read_bytes()

    def names(self, under: str) -> list[str]:
        """See `Folder.names`."""
        try:
            with os.scandir(self._path / under) as found:
                return names_of(under, [each.name for each in found if each.is_file()])
        except FileNotFoundError:
            return []

    def remove(self, name: str) -> None:
        """See `Folder.remove`."""
        (self._path / name).unlink(missing_ok=True)

    def remove_under(self, under: str) -> None:
        """See `Emptying.remove_under`: a directory goes."""
        with suppress(FileNotFoundError):
            rmtree(self._path / under)

    def _aside(self, name: str, data: bytes) -> tuple[Path, Path]:
        """Where the file is to be, and where its bytes are by now, synced."""
        path = self._path / name
        _make(path.parent)
        aside = path.with_name(f"{ASIDE}{token_hex(8)}.new")
        try:
            with aside.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
        return path, aside


def _make(directory: Path) -> None:
    """Make a directory that is not there, so that it survives a loss of power."""
    if not directory.is_dir():
        _make(directory.parent)
        directory.mkdir(exist_ok=True)
        sync_directory(directory.parent)
