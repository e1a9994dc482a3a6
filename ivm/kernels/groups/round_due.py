"""In which round groups are due: a heap, the least round first, and a stack of those of one. See `groups.round_block`.

While a round is looked at, groups become due in the one behind it: where its entries lie in the stack, those go to the
heap, and the other way round. So neither has to put entries of one round past those of the other, however many these
are.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.groups.round_block import DUE, FIRST, HEAP, LENGTH, STACK, STACKED, heap_in, opened_in, stack_in
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints


@part(counted=True)
def make_due(block: Ints, group: Word, number: Word) -> None:
    """Let a group be due in a round."""
    opened = opened_in(block)
    opened[group, DUE] = number
    if block[FIRST] < 0 or number < block[FIRST]:
        block[FIRST] = number
    if block[STACK + LENGTH] == 0:
        block[STACKED] = number
    if block[STACKED] != number:
        _put(block, group, number)
        return
    stack = stack_in(block)
    stack[block[STACK + LENGTH]] = group
    block[STACK + LENGTH] += 1


@part()
def _put(block: Ints, group: Word, number: Word) -> None:
    """Put an entry into the heap."""
    heap, at = heap_in(block), block[HEAP + LENGTH]
    block[HEAP + LENGTH] = at + 1
    while at > 0:
        above = (at - 1) >> 1
        if heap[above, 0] <= number:
            break
        heap[at, 0], heap[at, 1] = heap[above, 0], heap[above, 1]
        at = above
    heap[at, 0], heap[at, 1] = number, group


@part(counted=True)
def next_due(block: Ints, number: Word) -> Word:
    """The next group that is due up to a round, which then is not due any more; -1 if there is none."""
    opened, heap, stack = opened_in(block), heap_in(block), stack_in(block)
    while True:
        if block[STACK + LENGTH] > 0 and block[STACKED] <= number:
            block[STACK + LENGTH] -= 1
            due, group = block[STACKED], stack[block[STACK + LENGTH]]
        elif block[HEAP + LENGTH] > 0 and heap[0, 0] <= number:
            due, group = heap[0, 0], heap[0, 1]
            _drop_first(block, heap)
        else:
            return np.int64(-1)
        if opened[group, DUE] == due:
            opened[group, DUE] = -1
            return np.int64(group)


@part(counted=True)
def tell_first(block: Ints) -> None:
    """Say in which round some group is due first."""
    opened, heap, stack = opened_in(block), heap_in(block), stack_in(block)
    while block[HEAP + LENGTH] > 0 and opened[heap[0, 1], DUE] != heap[0, 0]:
        _drop_first(block, heap)
    while block[STACK + LENGTH] > 0 and opened[stack[block[STACK + LENGTH] - 1], DUE] != block[STACKED]:
        block[STACK + LENGTH] -= 1
    block[FIRST] = heap[0, 0] if block[HEAP + LENGTH] > 0 else np.int64(-1)
    if block[STACK + LENGTH] > 0 and (block[FIRST] < 0 or block[STACKED] < block[FIRST]):
        block[FIRST] = block[STACKED]


@part()
def _drop_first(block: Ints, heap: Ints) -> None:
    """Take the first entry out of the heap."""
    block[HEAP + LENGTH] -= 1
    count = block[HEAP + LENGTH]
    number, group = heap[count, 0], heap[count, 1]
    at = np.int64(0)
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and heap[below + 1, 0] < heap[below, 0]:
            below += 1
        if heap[below, 0] >= number:
            break
        heap[at, 0], heap[at, 1] = heap[below, 0], heap[below, 1]
        at = below
    heap[at, 0], heap[at, 1] = number, group
