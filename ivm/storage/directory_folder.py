"""A folder in a directory of the operating system, which machines may share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from os import PathLike
from pathlib import Path
from secrets import token_hex
from shutil import rmtree

import pyarrow as pa

from ivm.catalog.errors import StorageError
from ivm.storage.entries import absolute, open_directory, sync_directory
from ivm.storage.open_directory import OpenDirectory
from ivm.storage.storage import aside_of, is_aside


class DirectoryFolder:
    """See `ivm.storage.storage.Shared`. The directory is made where it is not there. It has to know hard links.

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
        """See `Shared.where`."""
        return str(self._path / name) if name else str(self._path)

    def put(self, name: str, pieces: Iterable[bytes | memoryview]) -> None:
        """See `Shared.put`. Cost: a sync of the file and one of its directory."""
        with self._writing(name, pieces) as (there, aside, last):
            there.rename(aside, last)
            there.sync_names()

    def put_new(self, name: str, data: bytes) -> bool:
        """See `Shared.put_new`. StorageError if the file system has no hard links."""
        with self._writing(name, [data]) as (there, aside, last):
            try:
                there.link(aside, last)
            except FileExistsError:
                return False
            except PermissionError as error:  # so Linux says that a file system has none
                raise StorageError(
                    f"cannot write {self.where(name)}: {error.strerror}; a cluster's root needs a directory that can "
                    "be written, of a file system with hard links; give another one"
                ) from error
            finally:
                there.remove(aside)
            there.sync_names()
            return True

    def read(self, name: str, *, mapped: bool = True) -> pa.Buffer:
        """See `Shared.read`. Nothing is mapped: other machines may remove it."""
        with self._beside(name) as (there, last):
            return there.read(last, mapped=False)

    def names(self, under: str = "") -> list[str]:
        """See `Shared.names`."""
        try:
            with os.scandir(self._path / under) as found:
                last = [each.name for each in found if not is_aside(each.name) and each.is_file()]
        except FileNotFoundError:
            return []
        return sorted(os.path.join(under, each) for each in last)

    def remove(self, name: str) -> None:
        """See `Shared.remove`."""
        with suppress(FileNotFoundError), self._beside(name) as (there, last):
            there.remove(last)

    def remove_under(self, under: str) -> None:
        """See `Shared.remove_under`: a directory goes."""
        with suppress(FileNotFoundError):
            rmtree(self._path / under)

    @contextmanager
    def _beside(self, name: str) -> Iterator[tuple[OpenDirectory, str]]:
        """The directory of a file, and what it is called there. FileNotFoundError if there is no such directory."""
        path = self._path / name
        with closing(OpenDirectory(open_directory(path.parent), str(path.parent))) as there:
            yield there, path.name

    @contextmanager
    def _writing(self, name: str, pieces: Iterable[bytes | memoryview]) -> Iterator[tuple[OpenDirectory, str, str]]:
        """Likewise, with what the file is called whose bytes are there by now, synced; on any error it is gone."""
        _make((self._path / name).parent)
        with self._beside(name) as (there, last):
            aside = aside_of(last, f".{token_hex(8)}")
            try:
                there.put(aside, pieces)
                yield there, aside, last
            except BaseException:
                there.remove(aside)
                raise


def _make(directory: Path) -> None:
    """Make a directory that is not there, so that it survives a loss of power."""
    if not directory.is_dir():
        _make(directory.parent)
        directory.mkdir(exist_ok=True)
        sync_directory(directory.parent)
