"""Where the columns of Arrow data lie in memory, all of them at once: by the struct that Arrow exports."""

from __future__ import annotations

import ctypes

import numpy as np
import pyarrow as pa

from catalog.types import Physical
from ivm.kernels.memory.exported import RELEASE, WORDS, let_go, locate
from ivm.trace.column import DTYPES, Array, Ints

_PAGE = 1 << 12


class Exported:
    """What Arrow exports a record batch to, again and again; one that is dropped lets go of what it still holds.

    Cost of an export, and of letting go: 5 microseconds for 16 columns.
    """

    __slots__ = ("address", "words")

    def __init__(self) -> None:
        self.words: Ints = np.zeros(WORDS, np.int64)
        self.address = self.words.ctypes.data

    def __del__(self) -> None:
        if self.words[RELEASE]:
            let_go(self.words)


class Memory(ctypes.c_char * (1 << 62)):  # type: ignore[misc]
    """All of the process's memory but the first page, as numpy takes it; an array over it keeps `owner` alive."""

    owner: object


_idle: list[Exported] = []


def addresses_of(table: pa.Table, strides: Ints) -> Ints | None:
    """Where the values of the columns lie, as `Batch.addresses` has it; None where they lie in several pieces.

    `strides` int64 (columns,) are the bytes from a value to the next, 0 where values have not their physical form.
    """
    batches = table.to_batches()
    if len(batches) != 1:
        return None
    addresses: Ints = np.empty((len(strides), 4), np.int64)
    try:
        exported = _idle.pop()
    except IndexError:
        exported = Exported()
    batches[0]._export_to_c(exported.address)
    locate(exported.words, strides, addresses)
    _idle.append(exported)
    return addresses


def memory_of(owner: object) -> Memory:
    """Memory that `owner` keeps alive."""
    memory = Memory.from_address(_PAGE)
    memory.owner = owner
    return memory


def array_at(memory: Memory, address: int, physical: Physical, length: int, stride: int) -> Array:
    """An array over values in their physical form, the first at an address, which must not be written to.

    It is writable in name only: kernels are compiled for one kind of array.
    """
    if physical is Physical.WIDE:
        return np.ndarray((length, 2), np.int64, memory, address - _PAGE, (stride, 8))
    return np.ndarray((length,), DTYPES[physical], memory, address - _PAGE, (stride,))
