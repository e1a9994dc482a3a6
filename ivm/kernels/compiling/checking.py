"""`IVM_CHECK=1`: compiled code looks after itself, many times as slowly, for those who change it.

Each access of a kernel, of its parts and of loops is held against the length of the array that it is made to, and
memory that is used again is spoilt before. What reads or writes where it should not raises IndexError, or gives values
that tests do not take for right. Kernels let go of the interpreter's lock however few rows they have, so that small
tests meet what two threads must not do at once. The machine code is other than that which is shipped, and is compiled
when it is needed.
"""

from __future__ import annotations

import os

import numpy as np

from ivm.kernels.types import Ints

CHECKS = os.environ.get("IVM_CHECK", "0") not in ("", "0")
"""Whether it is asked for."""

BEYOND = -99
"""What a loop says, that others enter by its address, where it has met an index that is out of bounds."""

_SPOILT = 0x5AA5_5AA5_5AA5_5AA5
"""No address that can be read, no length that there is memory for, no time, and no row."""


def spoil(memory: Ints) -> None:
    """Fill memory whose content nobody may read any more, if it is asked for."""
    if CHECKS:
        memory.fill(np.int64(_SPOILT))
