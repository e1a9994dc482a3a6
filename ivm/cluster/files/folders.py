"""The folder of a cluster by its address, which the driver and all workers are given."""

from __future__ import annotations

import re
from os import PathLike, fspath
from pathlib import Path

from ivm.catalog.errors import StorageError
from ivm.storage.directory_folder import DirectoryFolder
from ivm.storage.storage import Shared
from ivm.storage.within import Within


def address_of(path: str | PathLike[str]) -> str:
    """The address of a folder by what a user says: of a directory its path from the root on, as other processes are
    elsewhere. StorageError for a URI that lacks its slashes.
    """
    text = fspath(path)
    if "://" in text:
        return text
    if scheme := re.match(r"([a-z][a-z0-9+.-]+):", text):
        raise StorageError(
            f"cannot use {text} as a cluster's folder: it is neither a path nor a whole URI; write "
            f"{scheme[1]}://, what has a name there and the path, or the path of a directory that all machines see"
        )
    return str(Path(text).absolute())


def folder_of(address: str, under: str = "") -> Shared:
    """A directory by its path, or whatever `pyarrow.fs` reaches by a URI; or what has names under one there.

    StorageError if it cannot be reached.
    """
    return Within(_whole(address), under) if under else _whole(address)


def _whole(address: str) -> Shared:
    scheme, found, rest = address.partition("://")
    if not found:
        return DirectoryFolder(address)
    if scheme == "file":
        return DirectoryFolder(rest)
    from pyarrow import fs  # noqa: PLC0415  which loads what object stores need

    from ivm.storage.arrow_folder import ArrowFolder  # noqa: PLC0415

    try:
        filesystem, base = fs.FileSystem.from_uri(_for_arrow(scheme, rest))
    except Exception as error:
        raise StorageError(
            f"cannot use {address} as a cluster's folder: {error}; give a directory that all machines see, or a URI "
            "that pyarrow.fs knows, such as s3://bucket/path"
        ) from error
    return ArrowFolder(filesystem, base)


def _for_arrow(scheme: str, rest: str) -> str:
    """As Arrow calls what Hadoop calls s3a; and what is small goes there by one request, not by three."""
    if scheme not in ("s3", "s3a", "s3n"):
        return f"{scheme}://{rest}"
    is_said = "allow_delayed_open=" in rest.partition("?")[2]
    return f"s3://{rest}" + ("" if is_said else f"{'&' if '?' in rest else '?'}allow_delayed_open=true")
