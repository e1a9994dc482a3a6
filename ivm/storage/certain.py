"""How far a log is certain to survive a loss of power, noted beside it: so a log that lost what was certain is told.

The note is a file of `ivmC`, the number of the last certain record in 8 bytes, and zlib's CRC-32 of these 12 bytes in
4, the low byte first. It is written after each sync of the log, before anybody is told, and not synced itself but when
the log is closed. So it never says more than what the log had by then: after the end of the process just that, after a
loss of power that or less. Its bytes are in one sector, which a disk writes as a whole; torn all the same, they say
nothing.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from struct import Struct

from ivm.catalog.errors import StorageError
from ivm.storage.storage import File, Readable, Storage

NAME = "CERTAIN"
_MAGIC = b"ivmC"
_SAID = Struct("<4sQ")
_SUM = Struct("<I")


def note(number: int) -> bytes:
    """The bytes that say that this record, and all before it, are certain."""
    said = _SAID.pack(_MAGIC, number)
    return said + _SUM.pack(zlib.crc32(said))


def noted(storage: Readable) -> int | None:
    """The number of the last record that is known to have been certain; None where that is not known."""
    if NAME not in storage.names():
        return None
    try:
        data = storage.read(NAME)
    except OSError:
        return None
    if data.size != _SAID.size + _SUM.size:
        return None
    _, number = _SAID.unpack_from(data)
    return number if data.to_pybytes() == note(number) else None


def check_end(storage: Readable, number: int) -> None:
    """StorageError if a log that ends at this record is known to have had others, and to have been certain of them."""
    certain = noted(storage)
    if certain is not None and number < certain:
        raise StorageError(
            f"cannot open database {storage.where()}: its log ends at record {number}, and record {certain} was "
            "written and synced, so what was acknowledged is lost, or the files were copied while others were written "
            "(see `backup`). `ivm check` says what is affected, `ivm recover` makes a database of what is there"
        )


class Certain:
    """Keeps the note up to date. Where it cannot be written it stays as it was, which nobody is told: it says less."""

    def __init__(self, storage: Storage, number: int) -> None:
        """The log is certain up to a record."""
        self._file: File | None = None
        with suppress(OSError):
            self._file = storage.open(NAME) if NAME in storage.names() else storage.create(NAME)
        if noted(storage) != number:
            self.tell(number)

    def tell(self, number: int) -> None:
        """It is now up to this one. Cost: a call of the operating system."""
        if self._file is not None:
            with suppress(OSError):
                self._file.write(0, [note(number)])

    def close(self) -> None:
        """Let the file go, synced if it can be."""
        if self._file is not None:
            with suppress(OSError):
                self._file.sync()
            self._file.close()
