"""A folder anywhere that Arrow's file systems reach: S3, Google Cloud Storage, Azure, HDFS, or one of a user's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from secrets import token_hex

import pyarrow as pa
from pyarrow import fs

from ivm.catalog.errors import StorageError
from ivm.storage.agreement import put_by_agreement
from ivm.storage.storage import aside_of, is_aside

_WHOLE = frozenset({"s3", "gcs", "abfs"})
"""File systems in which a file is there when it was closed, and not before."""

PutNew = Callable[[str, bytes], bool]


class ArrowFolder:
    """See `ivm.storage.storage.Shared`. `path` is that of a folder within the file system.

    Arrow has no call that writes a file only where there is none: on object stores it sends no condition, and on HDFS
    its `move` takes away what is in the way. So `put_new` is by agreement (`ivm.storage.agreement`), which is right
    with any number of writers, and costs some five requests more. Where the store has such a call of its own, give it
    as `put_new`: it takes a path as this file system has it, and tells whether the file was not there. fsspec has
    `pipe_file(path, data, mode="create")`, S3 the header If-None-Match, Google Cloud Storage a generation of 0. All who
    write to one folder have to do it in the same way. It is tried before it is believed: StorageError if it overwrites.
    """

    def __init__(self, filesystem: fs.FileSystem, path: str, *, put_new: PutNew | None = None) -> None:
        self._fs = filesystem
        self._path = path.rstrip("/")
        self._put_new = put_new
        while isinstance(filesystem, fs.SubTreeFileSystem):
            filesystem = filesystem.base_fs
        self._kind = filesystem.type_name
        if put_new is not None:
            self._try(put_new)

    def where(self, name: str = "") -> str:
        """See `Shared.where`."""
        return f"{self._kind}:{self._at(name)}"

    def put(self, name: str, pieces: Iterable[bytes | memoryview]) -> None:
        """See `Shared.put`."""
        if self._kind in _WHOLE:
            self._write(self._at(name), pieces)
            return
        aside = self._at(aside_of(name, f".{token_hex(8)}"))
        self._fs.create_dir(self._at(name.rpartition("/")[0]), recursive=True)
        self._write(aside, pieces)
        self._fs.move(aside, self._at(name))

    def put_new(self, name: str, data: bytes) -> bool:
        """See `Shared.put_new`."""
        if self._put_new is not None:
            return self._put_new(self._at(name), data)
        return put_by_agreement(self, name, data)

    def read(self, name: str, *, mapped: bool = True) -> pa.Buffer:
        """See `Shared.read`. Nothing is mapped."""
        with self._fs.open_input_stream(self._at(name)) as file:
            return pa.py_buffer(file.read())

    def names(self, under: str = "") -> list[str]:
        """See `Shared.names`."""
        where = fs.FileSelector(self._at(under), allow_not_found=True)
        try:
            found = self._fs.get_file_info(where)
        except FileNotFoundError:  # it was made while Arrow asked why it could not list it
            found = self._fs.get_file_info(where)
        last = [each.base_name for each in found if each.type == fs.FileType.File and not is_aside(each.base_name)]
        return sorted(f"{under}/{each}" if under else each for each in last)

    def remove(self, name: str) -> None:
        """See `Shared.remove`."""
        with suppress(FileNotFoundError):
            self._fs.delete_file(self._at(name))

    def remove_under(self, under: str) -> None:
        """See `Shared.remove_under`: on S3 a request for a thousand files, where each of them would take three."""
        with suppress(FileNotFoundError):
            self._fs.delete_dir(self._at(under))

    def _at(self, name: str) -> str:
        return f"{self._path}/{name}" if name else self._path

    def _write(self, path: str, pieces: Iterable[bytes | memoryview]) -> None:
        whole = b"".join(pieces)  # or what is there, where that fails, might be a part
        with self._fs.open_output_stream(path) as file:
            file.write(pa.py_buffer(whole))

    def _try(self, put_new: PutNew) -> None:
        name = f"tried/{token_hex(8)}"
        first, second = put_new(self._at(name), b"first"), put_new(self._at(name), b"second")
        kept = self.read(name)
        self.remove(name)
        if not first or second or kept.to_pybytes() != b"first":
            raise StorageError(
                f"cannot use {self.where()}: the call that was given as put_new writes over a file that is there; "
                "leave it out, or give one that does not"
            )
