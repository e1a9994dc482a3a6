"""A folder anywhere that Arrow's file systems reach: S3, Google Cloud Storage, Azure, HDFS, or one of a user's own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from secrets import token_hex

import pyarrow as pa
from pyarrow import fs

from ivm.catalog.errors import StorageError
from ivm.storage.agreement import put_by_agreement
from ivm.storage.folder import ASIDE, names_of

_WHOLE = frozenset({"s3", "gcs", "abfs"})
"""File systems in which a file is there when it was closed, and not before."""

PutNew = Callable[[str, bytes], bool]


class ArrowFolder:
    """See `ivm.storage.folder.Folder`. `path` is that of a folder within the file system.

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
        """See `Folder.where`."""
        return f"{self._kind}:{self._at(name) if name else self._path}"

    def put(self, name: str, data: bytes) -> None:
        """See `Folder.put`."""
        if self._kind in _WHOLE:
            self._write(self._at(name), data)
            return
        under, _, last = name.rpartition("/")
        aside = self._at(f"{under}/{ASIDE}{last}.{token_hex(8)}".lstrip("/"))
        self._fs.create_dir(self._at(under) if under else self._path, recursive=True)
        self._write(aside, data)
        self._fs.move(aside, self._at(name))

    def put_new(self, name: str, data: bytes) -> bool:
        """See `Folder.put_new`."""
        if self._put_new is not None:
            return self._put_new(self._at(name), data)
        return put_by_agreement(self, name, data)

    def get(self, name: str) -> bytes:
        """See `Folder.get`."""
        with self._fs.open_input_stream(self._at(name)) as file:
            return file.read()

    def names(self, under: str) -> list[str]:
        """See `Folder.names`."""
        where = fs.FileSelector(self._at(under), allow_not_found=True)
        try:
            found = self._fs.get_file_info(where)
        except FileNotFoundError:  # it was made while Arrow asked why it could not list it
            found = self._fs.get_file_info(where)
        return names_of(under, [each.base_name for each in found if each.type == fs.FileType.File])

    def remove(self, name: str) -> None:
        """See `Folder.remove`."""
        with suppress(FileNotFoundError):
            self._fs.delete_file(self._at(name))

    def remove_under(self, under: str) -> None:
        """See `Emptying.remove_under`: on S3 a request for a thousand files, where each of them would take three."""
        with suppress(FileNotFoundError):
            self._fs.delete_dir(self._at(under))

    def _at(self, name: str) -> str:
        return f"{self._path}/{name}"

    def _write(self, path: str, data: bytes) -> None:
        with self._fs.open_output_stream(path) as file:
            file.write(pa.py_buffer(data))

    def _try(self, put_new: PutNew) -> None:
        name = f"tried/{token_hex(8)}"
        first, second = put_new(self._at(name), b"first"), put_new(self._at(name), b"second")
        kept = self.get(name)
        self.remove(name)
        if not first or second or kept != b"first":
            raise StorageError(
                f"cannot use {self.where()}: the call that was given as put_new writes over a file that is there; "
                "leave it out, or give one that does not"
            )
