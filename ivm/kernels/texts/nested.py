"""Lists, structs and maps as bytes (see `ivm.trace.columns.nested`): where the values within them lie.

`steps` int64 (n, 2) say how one is passed, each by what is done and a number: to pass so many bytes, to pass those up
to a zero and that, to open a list, which goes on at a step where it has no more elements, to go back to such a step.
"""

from __future__ import annotations

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.texts.dictionary import Bytes, Int
from ivm.kernels.types import Ints

PASS, TO_ZERO, OPEN, BACK = range(4)


@part(inline=True)
def _behind(data: Bytes, at: Int, steps: Ints) -> Int:
    """The place behind the value that begins at `at`."""
    step = 0
    while step < len(steps):
        kind, number = steps[step, 0], steps[step, 1]
        step += 1
        if kind == PASS:
            at += number
        elif kind == TO_ZERO:
            while data[at] != 0:
                at += 1
            at += 1
        elif kind == BACK:
            step = number
        elif data[at] == 0:
            at += 1
            step = number
    return at


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def find_ends(data: Bytes, starts: Ints, steps: Ints, ends: Ints) -> None:
    """Where the values end that begin at `starts`, int64 (n,). Cost: about 1 ns for each byte or step."""
    for i in range(len(starts)):
        ends[i] = _behind(data, starts[i], steps)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def find_elements(data: Bytes, starts: Ints, stops: Ints, steps: Ints, counts: Ints, ends: Ints, found: Ints) -> Int:
    """Where the elements of the lists begin that lie from `starts` to a zero, or to `stops`, int64 (n,) each.

    `steps` pass an element. Writes how many each list has, where it ends, and the places of all, for which there is
    room; returns how many these are. Cost: as of `find_ends`.
    """
    total = 0
    for i in range(len(starts)):
        at, before = starts[i], total
        while at < stops[i] and data[at] != 0:
            found[total] = at
            total += 1
            at = _behind(data, at, steps)
        counts[i] = total - before
        ends[i] = at
    return total


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def put_parts(data: Bytes, starts: Ints, lengths: Ints, begins: Ints, out: Bytes) -> None:
    """Copy so many bytes from each of `starts` to each of `begins` in `out`, int64 (n,). Cost: below 1 ns a byte."""
    for i in range(len(starts)):
        source, target = starts[i], begins[i]
        for offset in range(lengths[i]):
            out[target + offset] = data[source + offset]
