"""Where the columns of Arrow data lie in memory, all of them at once: by the struct that Arrow exports."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from ivm.catalog.types import Physical, SqlType
from ivm.kernels.memory.exported import EXPORT, RELEASE, let_go, locate
from ivm.kernels.memory.places import WORDS
from ivm.trace.columns.arrow import is_direct, item_of
from ivm.trace.columns.column import DTYPES, Array, Ints
from ivm.trace.columns.in_place import is_readable

PAGE = 1 << 12
_FEW, _SMALL = 1 << 16, 1 << 11
"""So many rows in several pieces are put together, if the pieces have less than so many on average."""
_OFFSETS: dict[int, np.dtype[Any]] = {4: np.dtype(np.int32), 8: np.dtype(np.int64)}
Each = TypeVar("Each")


ArrowRows: TypeAlias = "pa.Table | pa.RecordBatch"
"""Rows that came, in one piece or in several."""

Located = tuple[pa.RecordBatch, Ints]
"""Rows that came in one piece, and where their columns lie in memory, as `Batch.places` has it.

Of codes and texts, whose STRIDE is 0, other words may say more; see `ivm.kernels.memory.exported`."""


class Exported:
    """What Arrow exports a record batch to, again and again; one that is dropped lets go of what it still holds.

    Behind what is exported `words` has the addresses of the C-contiguous arrays `beside`, for kernels that read both.
    Cost of an export, and of letting go: 5 microseconds for 16 columns.
    """

    __slots__ = ("address", "beside", "words")

    def __init__(self, *beside: Ints) -> None:
        self.words: Ints = np.array([0] * EXPORT + [each.ctypes.data for each in beside], np.int64)
        self.address = self.words.ctypes.data
        self.beside = beside

    def __del__(self) -> None:
        if self.words[RELEASE]:
            let_go(self.words)


class Memory(ctypes.c_char * (1 << 62)):  # type: ignore[misc]
    """All of the process's memory but the first page, as numpy takes it; an array over it keeps `owner` alive."""

    owner: object


_idle: list[Exported] = []
MEMORY = Memory.from_address(PAGE)
READABLE = memoryview(MEMORY).toreadonly()


def located(data: ArrowRows, strides: Ints) -> Located | None:
    """Where the columns of rows lie; None if they lie in several pieces. `strides` int64: `stride_of` of each."""
    batch = one_batch(data)
    if batch is None:
        return None
    addresses: Ints = np.empty((len(strides), WORDS), np.int64)
    exported = taken_from(_idle) or Exported()
    batch._export_to_c(exported.address)
    locate(exported.words, strides, addresses)
    _idle.append(exported)
    return batch, addresses


def taken_from(idle: list[Each]) -> Each | None:
    """One that nobody uses, if there is one; other threads may come to take one too."""
    try:
        return idle.pop()
    except IndexError:
        return None


def one_batch(data: ArrowRows) -> pa.RecordBatch | None:
    """The rows, which have been checked, as one record batch; None if they are several, or none.

    Not copied, unless they are few in small pieces: each piece takes longer than to copy it.
    """
    if isinstance(data, pa.RecordBatch):
        return data
    batches, rows = data.to_batches(), data.num_rows
    if len(batches) > 1 and rows <= _FEW and rows < _SMALL * len(batches):
        with suppress(pa.ArrowException):  # such as for a dictionary of all texts that has too many of them
            batches = data.combine_chunks().to_batches()
    return batches[0] if len(batches) == 1 else None


def stride_of(given: pa.DataType, type: SqlType) -> int:
    """The bytes from a value of an array of type `given` to the next; 0 if values have not the physical form of `type`
    there, nor are int32 where that is int64.
    """
    if not is_readable(type) or not is_direct(given, type):
        return 0
    if pa.types.is_decimal128(given):
        return 16
    if type.physical is Physical.WIDE:
        return 0
    item = np.dtype(item_of(given))
    is_short = item == np.int32 and type.physical is Physical.INT64
    return item.itemsize if is_short or item == DTYPES[type.physical] else 0


def memory_of(owner: object) -> Memory:
    """Memory that `owner` keeps alive."""
    memory = Memory.from_address(PAGE)
    memory.owner = owner
    return memory


def array_at(memory: Memory, address: int, physical: Physical, length: int, stride: int) -> Array:
    """An array over values in their physical form, the first at an address, which must not be written to.

    It is writable in name only: kernels are compiled for one kind of array. Of shorter values it is a copy.
    """
    if physical is Physical.WIDE:
        return np.ndarray((length, 2), np.int64, memory, address - PAGE, (stride, 8))
    dtype = DTYPES[physical]
    if stride < dtype.itemsize:
        return np.ndarray((length,), np.int32, memory, address - PAGE, (stride,)).astype(dtype)
    return np.ndarray((length,), dtype, memory, address - PAGE, (stride,))


def texts_at(address: int, size: int, data: int, length: int) -> tuple[Array, Array]:
    """The bytes of texts, and their offsets of `size` bytes each, where they lie: see `text_buffers`.

    They are not kept alive, nor to be written to.
    """
    offsets: Array = np.ndarray((length + 1,), _OFFSETS[size], READABLE, address - PAGE)
    return np.ndarray((offsets.item(length),), np.uint8, READABLE, data - PAGE), offsets
