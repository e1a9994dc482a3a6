"""Arrow's validity bitmaps as masks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ivm.kernels.numbers.convert import unpack_bits
from ivm.trace.column import Bools
from ivm.trace.readonly import readonly


def validity_mask(array: pa.Array, validity: pa.Buffer | None) -> Bools | None:
    """Which values of an Arrow array are not NULL, bool (n,), from its validity buffer; None if all are."""
    if validity is None or array.null_count == 0:
        return None
    return unpacked(validity, array.offset, len(array))


def unpacked(bits: pa.Buffer, first: int, length: int) -> Bools:
    """Bits of an Arrow buffer as bool (length,), from bit `first` on."""
    mask: Bools = unpack_bits(readonly(np.frombuffer(bits, np.uint8)), first, length)
    return mask
