"""Texts that nobody refers to any more go, bit by bit, so that no commit waits for it.

What somebody refers to is marked; what has no mark is taken out of the hash table, the rest is copied to another heap,
and the codes that are free by then are given out again. All of that is a *sweep*, of which each commit does a piece in
proportion to the text that it brought. It begins when the dictionary has grown by a quarter since the last one.

Commits go on between two pieces, and whoever was asked for its codes may get others. So whatever the dictionary gives
out meanwhile is marked, and who keeps codes is asked in the order in which they flow: tables first, then each state
after those that it is computed from. A code that comes to one that was asked already comes from the dictionary, or
from one that was asked before; so it has a mark, though it may be gone from there by now. For the same reason it does
no harm that a state tells its codes bit by bit while it changes, as long as it moves none from where it was not yet
asked to where it was.

Readers have what they read and the heap that was there then (see `ivm.trace.text.texts`), of which nothing is written
again: a place is given to another string in a later heap only.

Free codes are given out at all times, the lowest first, also while strings are copied: a code behind the last one would
stay the last one for as long as its text lives, and with every sweep there would be more codes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ivm.kernels.texts.dictionary import COUNT, FREE, LENGTHS, NEXT, PADDING, USED, copy_texts
from ivm.kernels.texts.sweep import AT, BYTES, LAST, PROGRESS, STRINGS, count_codes, mark_codes, move_texts
from ivm.trace.columns.column import Array, Ints, readonly
from ivm.trace.state import State
from ivm.trace.text.dictionary import EACH, NO_MARKS, Codes, Heap, TextDictionary

AT_ONCE = 1 << 13
"""About how many codes are told at a time."""

WORKED: Array = np.empty(0, np.int32)
"""No codes, but as much work as to tell many."""
_LEAST_SLOTS = 1 << 9
_EACH_TIME = 1 << 11
"""To ask for codes once takes as long as to look at so many."""
_BYTES_A_CODE = 32
"""So many bytes are copied in the time in which a code is looked at."""


@dataclass(frozen=True, slots=True)
class Pace:
    """When a sweep begins and how fast it goes.

    It begins when a dictionary has grown by `growth`, as a part of what it was, and by twice that where the last one
    was not worth it: that is if less than `worth` of the bytes is to be had; but by `least` bytes in any case. A commit
    owes a look at `base` codes, and at `rate` for each byte that came. That is paid in pieces: once `piece` codes have
    come together, and no more than `most` at a time.
    """

    least: int = 1 << 22
    growth: float = 0.25
    worth: float = 0.125
    base: int = 1 << 12
    rate: int = 2
    piece: int = 1 << 13
    most: int = 1 << 18


PACE = Pace()


Keepers = Callable[[], Iterable[tuple[Hashable, State]]]
"""Who keeps codes now, each after those that it gets them from, under a name that nobody else ever has."""


class Sweep:
    """The sweeps of a dictionary, one after the other. The caller keeps all others from changing states meanwhile."""

    def __init__(self, dictionary: TextDictionary, keepers: Keepers) -> None:
        self._dictionary = dictionary
        self._keepers = keepers
        self._running: Iterator[int] | None = None
        self._listed: Mapping[Hashable, State] | None = None
        self._next = PACE.least
        self._seen = self._owed = 0

    def work(self) -> int:
        """Do a piece, after a commit, if one is due; how many more are due then for the text that has come.

        Where memory is short the sweep is given up; the next one starts anew. Cost: see `Pace`; a piece that asks
        somebody lists all who keep codes.
        """
        if self._running is None and not self._dictionary.has_come:
            return 0
        self._dictionary.has_come = False
        weight = self._dictionary.weight
        if self._running is None:
            if weight < self._next:
                return 0
            self._seen, self._owed, self._running = weight, 0, self._sweep()
        owed = self._owed + PACE.base + PACE.rate * max(0, weight - self._seen)
        fuel = min(owed, PACE.most) if owed >= PACE.piece else 0
        self._seen, self._owed = weight, owed - fuel
        if not fuel:
            return 0
        try:
            self._go_on(self._running, fuel)
        except MemoryError:
            self._give_up()
        except BaseException:
            self._give_up()
            raise
        return self.owed

    @property
    def owed(self) -> int:
        """How many pieces are due."""
        return -(-self._owed // PACE.most) if self._owed >= PACE.piece else 0

    def _go_on(self, running: Iterator[int], fuel: int) -> None:
        try:
            while fuel > 0:
                done = next(running, None)
                if done is None:
                    self._running, self._owed = None, 0
                    return
                fuel -= done
        finally:
            self._listed = None

    def _now(self) -> Mapping[Hashable, State]:
        """Who keeps codes, as of this piece."""
        if self._listed is None:
            self._listed = dict(self._keepers())
        return self._listed

    def _give_up(self) -> None:
        memory = self._dictionary
        self._running = memory.coming = None
        self._owed = 0
        memory.kept = memory.marks = NO_MARKS  # both, since what is given out without a mark has to be kept
        self._rest(PACE.growth)

    def _rest(self, growth: float) -> None:
        """Until the dictionary has grown by so much."""
        weight = self._dictionary.weight
        self._next = weight + max(int(weight * growth), PACE.least)

    def _sweep(self) -> Iterator[int]:
        """One sweep; yields how much was done, in codes that were looked at."""
        memory = self._dictionary
        with memory.lock:
            memory.marks = np.zeros(memory.count, np.uint8)
            memory.marks[0] = 1
            for literals in list(self._dictionary.literals):
                self._mark(np.array(literals.held, np.int32))
        for memo in list(self._dictionary.memos):
            for codes in memo.codes():
                yield self._mark(codes)
        yield from self._mark_states()
        strings = size = 0
        for begin in range(0, memory.count, AT_ONCE):
            came = np.arange(max(begin, len(memory.marks)), min(begin + AT_ONCE, memory.count))  # unmarked
            stay = np.concatenate([begin + np.flatnonzero(memory.marks[begin : begin + AT_ONCE]), came])
            strings += len(stay)
            lengths = memory.heap.strings.places[stay] & LENGTHS
            size += int(((lengths + 7) & ~7).sum())
            yield AT_ONCE
        stays = size + EACH * strings
        if memory.weight - stays < memory.weight * PACE.worth:
            memory.marks = NO_MARKS
            self._rest(2 * PACE.growth)
            return
        yield from self._take_out(strings)
        yield from self._forget()
        yield from self._move(size)
        memory.marks = NO_MARKS
        self._rest(PACE.growth)

    def _mark_states(self) -> Iterator[int]:
        """Ask all who keep codes. The piece ends here, so that nothing is freed by a commit that is not over."""
        asked: set[Hashable] = set()
        while True:
            now = self._now()
            name = next((name for name in now if name not in asked), None)
            if name is None:
                yield 1 << 62
                if all(each in asked for each in self._now()):
                    return
                continue
            asked.add(name)
            for codes in now[name].codes():
                yield self._mark(codes)
            yield len(now)

    def _mark(self, codes: Array) -> int:
        """Mark codes; how many they were, or what took as long."""
        if codes is WORKED:
            return AT_ONCE
        given: Codes = np.ascontiguousarray(codes, np.int32).reshape(-1)
        mark_codes(readonly(given), self._dictionary.marks)
        return len(given) + _EACH_TIME

    def _take_out(self, strings: int) -> Iterator[int]:
        """Fill another hash table with what has a mark. From here on a text that had none is a new one."""
        memory, size = self._dictionary, _LEAST_SLOTS
        while size < 4 * strings:
            size *= 2
        yield from self._move_slots()  # those that are still on their way to a larger table
        with memory.lock:
            memory.begin_move(np.zeros(size, np.uint64), memory.marks)
        yield from self._move_slots()

    def _move_slots(self) -> Iterator[int]:
        whole = False
        while not whole:
            with self._dictionary.lock:
                whole = self._dictionary.move(AT_ONCE)
            yield AT_ONCE

    def _forget(self) -> Iterator[int]:
        """Let memos forget what has no mark."""
        marks = self._dictionary.marks
        for memo in list(self._dictionary.memos):
            for begin in range(0, len(marks), AT_ONCE):
                memo.forget(marks, begin, min(begin + AT_ONCE, len(marks)))
                yield _EACH_TIME

    def _move(self, size: int) -> Iterator[int]:
        """Copy what has a mark to another heap, and go on with that one."""
        memory = self._dictionary
        with memory.lock:
            heap, progress, given = Heap(size, memory.count), np.zeros(PROGRESS, np.int64), int(memory.meta[NEXT])
            heap.free = np.empty(len(memory.marks), np.int32)
            memory.coming = heap
        while True:
            with memory.lock:
                done = self._move_some(heap, progress)
                if progress[AT] == memory.count:
                    again = memory.heap.free[given : memory.meta[NEXT]][:AT_ONCE]
                    self._move_passed(heap, progress, again)
                    given += len(again)
                    done += len(again)
                    if given == memory.meta[NEXT]:
                        _finish(heap, memory, progress)
                        memory.heap, memory.coming = heap, None
                        return
            yield done

    def _move_some(self, heap: Heap, progress: Ints) -> int:
        old, fuel = self._dictionary.heap.strings, AT_ONCE * _BYTES_A_CODE
        before, count = fuel, self._dictionary.count
        while True:
            to = heap.strings
            fuel = int(
                move_texts(
                    old.heap, old.places, self._dictionary.marks, to.heap, to.places, heap.free, progress,
                    min(count, len(to.places)), fuel,
                )
            )  # fmt: skip
            if fuel <= 0 or progress[AT] == count:
                return max(1, (before - fuel) // _BYTES_A_CODE)
            place = int(old.places[progress[AT]])
            heap.reserve(int(progress[BYTES]), (place & 0xFFFFFFFF) + 8, count)

    def _move_passed(self, heap: Heap, progress: Ints, codes: Codes) -> None:
        """Copy the strings of codes that were given out while others moved, where the copying had been past them."""
        codes = codes[heap.strings.places[codes] & LENGTHS == 0]
        old, count = self._dictionary.heap.strings, self._dictionary.count
        places, begin = old.places[codes], int(progress[BYTES])
        begins = np.zeros(len(codes) + 1, np.int64)
        np.cumsum((places & LENGTHS) + 7 & ~7, out=begins[1:])
        begins += begin
        heap.reserve(begin, int(begins[-1]) - begin + PADDING, count)
        copy_texts(old.heap, old.places, readonly(codes), begins, heap.strings.heap)
        heap.strings.places[codes] = begins[:-1] >> 3 << 32 | places & LENGTHS
        progress[BYTES] = begins[-1]
        progress[LAST] = max(int(progress[LAST]), int(codes.max(initial=0)))


def _finish(heap: Heap, memory: TextDictionary, progress: Ints) -> None:
    """Everything is there. Codes behind the last one are new again; the others that are free come in their order."""
    last, freed = int(progress[LAST]), int(progress[AT] - progress[STRINGS])
    free = heap.free[: np.searchsorted(heap.free[:freed], last)]
    heap.free = free[memory.marks[free] == 0]  # without those that were given out since they were passed
    heap.meta[:] = memory.meta
    heap.meta[[COUNT, USED, NEXT, FREE]] = last + 1, progress[BYTES], 0, len(heap.free)


def of_log(given: Array, times: Ints, diffs: Ints, since: int) -> Iterator[Array]:
    """The codes in the rows that are left of updates as of any time from `since` on.

    Multiplicities are never negative, so a code is there as long as the diffs of its updates add up to more than zero.
    """
    codes, count = readonly(given), 0
    for begin in range(0, len(codes), AT_ONCE):
        count = max(count, int(codes[begin : begin + AT_ONCE].max()) + 1)
        yield WORKED
    sums = np.zeros(count, np.int64)
    for begin in range(0, len(codes), AT_ONCE):
        count_codes(codes, times, diffs, since, sums, begin, min(begin + AT_ONCE, len(codes)))
        yield WORKED
    for begin in range(0, count, AT_ONCE):
        yield np.flatnonzero(sums[begin : begin + AT_ONCE]) + begin
