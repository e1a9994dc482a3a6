"""A column in memory: values in their physical form and, where it can be NULL, a validity mask; arrays for kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ivm.catalog.types import Physical
from ivm.kernels.hashing.keys import DOUBLE, PAIR

Array = npt.NDArray[np.generic]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

ALL: Bools = np.empty(0, np.bool_)
"""The mask of all rows, as kernels take it."""
NOBODY: Ints = np.empty(0, np.int64)

DTYPES: dict[Physical, np.dtype[np.generic]] = {
    Physical.BOOL: np.dtype(np.bool_),
    Physical.INT32: np.dtype(np.int32),
    Physical.INT64: np.dtype(np.int64),
    Physical.WIDE: np.dtype(np.int64),
    Physical.FLOAT64: np.dtype(np.float64),
    Physical.CODE: np.dtype(np.int32),
}


def item_size(physical: Physical) -> int:
    """The bytes of a value."""
    return DTYPES[physical].itemsize * (2 if physical is Physical.WIDE else 1)


KINDS = {Physical.FLOAT64: DOUBLE, Physical.WIDE: PAIR}
"""What kernels call what is not INTEGER to them; see `ivm.kernels.hashing.keys`."""


@dataclass(slots=True)
class Column:
    """`values`: shape (n,), or (n, 2) for WIDE, both words side by side; possibly strided, never written.

    `valid`: bool (n,), None if all are. A value under a False of `valid` is unspecified but safe to compute with (zero
    where the engine makes it).
    """

    values: Array
    valid: Bools | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: npt.NDArray[Any]) -> Column:
        """The column of `values[rows]`; cost: one gather."""
        # `take` is faster than indexing, eight times for pairs, but copies the whole of a strided array first.
        values = self.values.take(rows, axis=0) if self.values.flags.c_contiguous else self.values[rows]
        return Column(values, None if self.valid is None else self.valid[rows])


def empty_column(physical: Physical) -> Column:
    """A column of no rows."""
    return Column(np.empty((0, 2) if physical is Physical.WIDE else 0, DTYPES[physical]))


def part_of(column: Column, rows: Array | slice) -> Column:
    """The column's values of `rows`; a slice is not copied."""
    if isinstance(rows, slice):
        return Column(column.values[rows], None if column.valid is None else column.valid[rows])
    return column.take(rows)


def concat(columns: list[Column]) -> Column:
    """The columns one after the other; cost: one copy."""
    if len(columns) == 1:
        return columns[0]
    values = np.concatenate([c.values for c in columns])
    if all(c.valid is None for c in columns):
        return Column(values)
    masks = [np.ones(len(c), np.bool_) if c.valid is None else c.valid for c in columns]
    return Column(values, np.concatenate(masks))


def value_in(column: Column) -> int | float | None:
    """The value of a column of one row, a pair as the number of 128 bits that it is; None for NULL."""
    values, valid = column.values, column.valid
    if valid is not None and not valid[0]:
        return None
    if values.ndim == 2:
        low, high = values[0].tolist()
        return int(high << 64 | low & (1 << 64) - 1)
    found: int | float = values.item(0)
    return found


def ascending(rows: Array) -> tuple[Ints, Ints | None]:
    """Distinct ascending rows, and the place of each of `rows` among them; None if they are that already."""
    wanted: Ints = rows.astype(np.int64, copy=False)
    if len(wanted) < 2 or every(wanted[1:] > wanted[:-1]):
        return wanted, None
    distinct, places = np.unique(wanted, return_inverse=True)
    return distinct, places


def zeroed(values: Array, valid: Bools) -> Array:
    """The values, (n,) or (n, 2), with zeros where they are not `valid`. Cost: a copy."""
    return np.where(valid[:, None] if values.ndim == 2 else valid, values, np.zeros((), values.dtype))


def validity_mask(array: pa.Array, validity: pa.Buffer | None) -> Bools | None:
    """Which values of an Arrow array are not NULL, bool (n,), from its validity buffer; None if all are."""
    return None if validity is None or array.null_count == 0 else unpacked(validity, array.offset, len(array))


def validity_buffer(valid: Bools | None) -> pa.Buffer | None:
    """The validity of an Arrow array whose values are not NULL where `valid`; None if none is. See `validity_mask`."""
    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))


def offsets_of(lengths: Ints) -> Ints:
    """Where parts of these lengths begin that lie one after the other, and the last one ends, int64 (n + 1,)."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def unpacked(bits: pa.Buffer, first: int, length: int) -> Bools:
    """Bits of an Arrow buffer as bool (length,), from bit `first` on."""
    skipped, given = first % 8, np.frombuffer(bits, np.uint8, offset=first // 8)
    return np.unpackbits(given, count=skipped + length, bitorder="little")[skipped:].view(np.bool_)


def every(mask: Bools) -> bool:
    """Whether all are true; of few it takes a tenth of the time of an array's own `all`."""
    return not mask.size or bool(mask.item(mask.argmin()))


def readonly(array: Array) -> Any:
    """The array, or a view of it, not to be written to. Arrays from outside may be so; kernels take one kind."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.setflags(False)  # type: ignore[call-arg]  # by place: by name, or as `flags`, it takes six times as long
    return view


NO_MASK: Bools = readonly(np.empty(0, np.bool_))
_ONE_TIME: Ints = readonly(np.zeros(1, np.int64))
ALL_ONE: Ints = readonly(np.empty(0, np.int64))


def readonly_times(times: Ints | int) -> Ints:
    """Times as kernels take them: of length one if all are the same."""
    return _ONE_TIME if isinstance(times, int) else readonly(np.ascontiguousarray(times))


def readonly_diffs(diffs: Ints | None) -> Ints:
    """Diffs as kernels take them: of length zero if all are one."""
    return ALL_ONE if diffs is None else readonly(np.ascontiguousarray(diffs))
