"""Files of record batches, each a stream of Arrow's IPC format of its own, one after the other.

They are written once. Whoever refers to one says how many bytes it has, and what zlib's CRC-32 of them is.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pyarrow as pa

from ivm.catalog.errors import StorageError
from ivm.durable.streams import stream_pieces
from ivm.storage.storage import Folder, Readable
from ivm.storage.stored import Stored, read_stored
from ivm.trace.columns.arrow import numbers_in, view_of

SUFFIX = ".arrows"
_WITH_OFFSETS = {
    **{each.id: 4 for each in (pa.string(), pa.binary(), pa.list_(pa.null()))},
    **{each.id: 8 for each in (pa.large_string(), pa.large_binary(), pa.large_list(pa.null()))},
}
"""The bytes of a place, of types of values of any length."""


class Files:
    """Writes files, each under a name that no other has had: behind a `prefix` a number from `next` on."""

    def __init__(self, place: Folder, next: int, prefix: str = "") -> None:
        self.next = next
        self._place = place
        self._prefix = prefix
        self._made: list[str] = []

    def write(self, kind: str, batches: Iterable[pa.RecordBatch]) -> Stored:
        """A new file of these batches, whose bytes are certain; its name need not be. StorageError if it cannot be
        written.

        Cost: a sum of each batch, and that of `Folder.put`. Others run meanwhile.
        """
        name = f"{self._prefix}{kind}-{self.next}{SUFFIX}"
        self.next += 1
        self._made.append(name)
        size = total = 0

        def pieces() -> Iterator[memoryview]:
            nonlocal size, total
            for batch in batches:
                for each in stream_pieces(batch.schema, [batch]):
                    piece = memoryview(each)
                    size, total = size + len(piece), zlib.crc32(piece, total)
                    yield piece

        with writing(self._place, name):
            self._place.put(name, pieces())
        return Stored(name, size, total)

    def remove(self) -> None:
        """Let all files go that were written here, to which nobody refers. What cannot be removed stays."""
        for name in self._made:
            with suppress(OSError):
                self._place.remove(name)


@contextmanager
def writing(place: Readable, name: str) -> Iterator[None]:
    """Say of an OSError that it keeps a file of a checkpoint from being written."""
    try:
        yield
    except OSError as error:
        where = place.where(error.filename or name)
        raise StorageError(
            f"cannot make a checkpoint: {where} cannot be written: {error.strerror or error}; the last "
            "one and the log are whole, and go on. Make room, and try again"
        ) from error


class Reading:
    """Reads files that were written, each of which is checked aside before it is looked at, in the order given.

    To be used as a context manager. Size: what is mapped.
    """

    def __init__(self, place: Readable, files: Iterable[Stored]) -> None:
        self._beside = ThreadPoolExecutor(2, "ivm-check")
        self._found = {each.file: self._beside.submit(read_batches, place, each) for each in files}

    def __enter__(self) -> Reading:
        return self

    def __exit__(self, *error: object) -> None:
        self._beside.shutdown(cancel_futures=True)

    def batches(self, written: Stored) -> Sequence[pa.RecordBatch]:
        """The batches of a file, which lie where it is mapped. StorageError if it is not as it was written."""
        return self._found[written.file].result()


def read_batches(place: Readable, written: Stored) -> Sequence[pa.RecordBatch]:
    """The batches of a file, which lie where it is mapped. StorageError if they are not those that were written.

    Cost: a pass over its bytes, and over places of texts: whoever made a file that has the right sum need not have
    been ivm, and nobody is to be led elsewhere in memory.
    """
    data = read_stored(place, written)
    reader, found = pa.BufferReader(data), []
    try:
        while reader.tell() < data.size:
            found += pa.ipc.open_stream(reader)
        for batch in found:
            batch.validate()
            for column in batch.columns:
                _check_places(column)
    except (pa.ArrowException, OSError) as error:
        raise StorageError(
            f"cannot read {place.where(written.file)}: {error}; it was not written by ivm; restore it from a backup"
        ) from error
    return found


def _check_places(array: pa.Array) -> None:
    """ArrowInvalid if an array that is whole refers to places that it does not have."""
    if isinstance(array, pa.DictionaryArray):
        places = numbers_in(array.indices.drop_null())
        if len(places) and (places.min() < 0 or places.max() >= len(array.dictionary)):
            raise pa.ArrowInvalid("an index is outside of its dictionary")
        _check_places(array.dictionary)
    elif len(array) and array.type.id in _WITH_OFFSETS:
        size = _WITH_OFFSETS[array.type.id]
        starts = view_of(array.buffers()[1], f"<i{size}", array.offset * size, (len(array) + 1,), (size,))
        if starts[0] < 0 or (starts[1:] < starts[:-1]).any():
            raise pa.ArrowInvalid("texts or lists overlap")
        if hasattr(array, "values"):
            _check_places(array.values)
