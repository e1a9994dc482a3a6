"""The end of a file that another process writes, read as far as it goes, also when its name is gone."""

from __future__ import annotations

import os

import pyarrow as pa

_MOST = 1 << 30
"""So many bytes are read by one call of the operating system."""


class Tail:
    """A file, open to be read, that grows at its end. Nothing of it is mapped, since it may be cut off."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @property
    def size(self) -> int:
        """How many bytes it has now."""
        return os.fstat(self._handle).st_size

    def read(self, at: int) -> pa.Buffer:
        """The bytes from `at` on that there are now. Cost: none where there are none."""
        pieces = list[bytes]()
        while piece := os.pread(self._handle, min(max(self.size - at, 0), _MOST), at):
            pieces.append(piece)
            at += len(piece)
        return pa.py_buffer(pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def close(self) -> None:
        """Let it go. Once is enough."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def __del__(self) -> None:
        self.close()
