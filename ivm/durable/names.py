"""What the names of subscriptions have acknowledged, in a file of its own, which is replaced as a whole.

A first line says what it is and zlib's CRC-32 of the rest, a JSON object, in hexadecimal. It is written once the log is
certain up to what is acknowledged, so it never says more than the log has.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

from ivm.catalog.errors import StorageError
from ivm.storage.storage import Readable, Storage, read_file
from ivm.subscriptions.names import Named

NAME = "SUBSCRIPTIONS"
_FIRST_LINE = re.compile(rb"ivm subscriptions, format 1, crc32 ([0-9a-f]{8})\n")


def plain_names(names: Mapping[str, Named]) -> dict[str, dict[str, Any]]:
    """What outlives the process of these names, as plain values; `names_of` reads them."""
    return {
        name: {"view": each.view, "chosen": each.chosen, "of": each.of, "time": each.time, "keep": each.keep}
        for name, each in names.items()
    }


def names_of(plain: Mapping[str, Mapping[str, Any]]) -> dict[str, Named]:
    """What `plain_names` made plain values of. KeyError, TypeError or ValueError for anything else."""
    return {
        name: Named(str(each["view"]), str(each["chosen"]), int(each["of"]), int(each["time"]), int(each["keep"]))
        for name, each in plain.items()
    }


def read_names(storage: Readable) -> dict[str, Named]:
    """The names there are. StorageError if the file is damaged, or of another release."""
    if NAME not in storage.names():
        return {}
    where, data = storage.where(NAME), read_file(storage, NAME).to_pybytes()
    first = _FIRST_LINE.match(data)
    text = data[first.end() :] if first is not None else b""
    if first is None or zlib.crc32(text) != int(first[1], 16):
        raise StorageError(
            f"cannot open database {storage.where()}: {where} is damaged, or of a later release; restore it from a "
            "backup, or move it away: then named subscriptions begin anew"
        )
    try:
        return names_of(json.loads(text))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"cannot open database {storage.where()}: {where} was not written by ivm: {error!r}; restore it from a "
            "backup, or move it away"
        ) from error


def write_names(storage: Storage, names: Mapping[str, Named]) -> None:
    """Let these be the names there are, and return when that survives a loss of power; StorageError if not.

    Cost: two syncs.
    """
    text = json.dumps(plain_names(names), separators=(",", ":")).encode()
    try:
        storage.replace(NAME, b"ivm subscriptions, format 1, crc32 %08x\n" % zlib.crc32(text) + text)
    except OSError as error:
        raise StorageError(
            f"cannot note what subscriptions have acknowledged: {storage.where(NAME)} cannot be written: "
            f"{error.strerror or error}; what was noted before counts. Make room, and try again"
        ) from error
