"""An index: a hash multimap from key words to row numbers of a store, read as of any time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ivm.kernels.hashing.ascending import NO_ROOM, REFUSED, TAKEN, TAKEN_ON
from ivm.kernels.hashing.block import ASCENDING, CAME, FINAL, LINKED, LOOK_FROM, NONE, OWES, ROWS, SINCE, START, STOP
from ivm.kernels.hashing.changes import ALIVE, apply_changes
from ivm.kernels.hashing.index import NO_SLOT, newest_row
from ivm.kernels.hashing.insert import insert_packed, insert_rows
from ivm.kernels.hashing.packed import INCOMPLETE, extend_packed, pack_complete
from ivm.kernels.hashing.settle import ABSENT, LEAVING, MOST
from ivm.kernels.hashing.settle import NO_ROOM as NO_SLOTS
from ivm.kernels.types import Hashes
from ivm.trace.columns.column import ALL, NOBODY, Bools, Ints
from ivm.trace.index.chains import Chains
from ivm.trace.index.index_block import IndexBlock
from ivm.trace.index.keys import KeysAt, hashed
from ivm.trace.index.run import AscendingRun, Melting, RunKeys
from ivm.trace.index.search import NO_RUN, Run, Search, seen_of
from ivm.trace.lessons import Learner, Met
from ivm.trace.rows.changes import Applied

_AT_ONCE = 1 << 17
_ALL_KEYS = 1 << 40
_FEW = 4
"""Keys are noted for undoing up to the slots of the table divided by this; with more of them a pass is no dearer."""


class IndexMark(NamedTuple):
    """A state of an index to which `rollback` returns."""

    steps: int
    rows: int


_Step = tuple[int, Ints | None, Applied | None, Bools]
"""What undoes a change, written before it: no row before this one comes; the keys whose chains get rows (None: too many
to name); and where rows may leave chains too, what is done, and which changes are inserts.
"""


class Index(IndexBlock):
    """Rows 0.. of a store by keys of W = `words` int64 words, which arguments give as (n, W), or (n,) if W is 1.

    `unique`: at most one row of a key lives at any time. `keys` are those of the store's rows (of one word, or unique);
    where they are given, and as long as they come in the order of their leads (see `ivm.kernels.hashing.ascending` for
    `shift`), rows are kept as a run outside of the hash table and move there by and by, in proportion to what is asked
    for, never all at once for the sake of a few keys. A key that has a slot has all of its rows in that slot's chain;
    the rows of the others are in the run.

    Every method that changes or reads chains takes `died` (int64 by row number, of length 0 while nobody ever died).
    Rows with a True in `dropped` (None: none) are not indexed; keys with one find nothing. Changes can be undone until
    the next `seal`. Size: see `Chains` and `AscendingRun`.
    """

    def __init__(self, words: int, unique: bool = False, keys: RunKeys | None = None, shift: int = 0) -> None:
        self.words = words
        self.unique = unique
        self._keys = keys
        super().__init__(words)
        self._no_run = np.zeros(MOST + 1, np.int64)
        self._chains = Chains(words, self.block)
        self._run = AscendingRun(keys, shift, unique, self.block)
        self.block[ASCENDING] = keys is not None
        self._search = Search()
        self._melting = Melting(is_needed=unique)
        self._journal: list[_Step] = []

    @property
    def nbytes(self) -> int:
        """Bytes of slots, chains and fences."""
        return self._chains.nbytes + self._run.nbytes

    @property
    def keys(self) -> int:
        """Keys in the hash table, with those whose rows are all gone and not yet forgotten."""
        return self._chains.keys

    @property
    def entries(self) -> int:
        """References to rows that are kept: a run needs none but one for each of its keys that the table knows.

        Cost: where there is a run, a pass over the table.
        """
        known = self._chains.count(self._run.start, self._run.stop) if self.backlog else 0
        return self.rows - self.backlog + known

    @property
    def is_ascending(self) -> bool:
        """Whether rows may come whose order proves their keys new."""
        return bool(self.block[ASCENDING]) and self.block.item(STOP) == self.rows

    def mark(self) -> IndexMark:
        """Where the index is now, for `rollback`."""
        return IndexMark(len(self._journal), self.rows)

    def rollback(self, mark: IndexMark) -> None:
        """Undo all changes since `mark`. Called again after it was interrupted, it goes on.

        Cost: a random access a row, or a pass over the table where they were many.
        """
        self._undo(mark.steps, mark.steps, mark.rows)

    def truncate(self, first_row: int) -> None:
        """Undo the inserts of the rows from `first_row` on, in an index that is unique or was changed by no `apply`.

        Whoever inserts rows before it meanwhile, in another thread, is not disturbed. Cost: as that of `rollback` to
        the last `seal`.
        """
        kept = len(self._journal)
        while kept and self._journal[kept - 1][0] >= first_row:
            kept -= 1
        self._undo(0, kept, first_row)

    def mend(self) -> None:
        """Undo an insert that was interrupted before its rows counted, in an index as for `truncate`."""
        rows = self.rows
        if self.run_rows > rows or (self._journal and any(step[0] >= rows for step in self._journal)):
            self.truncate(rows)

    def seal(self, since: int, died: Ints) -> None:
        """Make all changes final; nobody reads as of a time before `since` any more.

        Moves what waits to its place, in proportion to what came. Where nothing OWES it, `seal_runs` does all of it.
        """
        block, chains = self.block, self._chains
        block[SINCE] = since
        if chains.is_moving or block[CAME] >= block[LOOK_FROM]:
            chains.seal(died, since)
        block[FINAL], block[LINKED] = block.item(STOP), NONE
        self._journal.clear()
        block[OWES] = chains.is_moving
        if self._expected:
            self.make_notes()

    def reserve(self, keys: float, died: Ints) -> None:
        """Make room for about so many keys in all, so that the table need not grow on the way there."""
        self._chains.reserve(keys, died, self.since)

    def insert(self, words: Ints, dropped: Bools | None, died: Ints) -> None:
        """Index the rows from `rows` on with these keys. Cost: a comparison a row while keys ascend, else 17-19 ns."""
        if not self.extend(words, dropped, died):
            self._insert(words.reshape(-1, self.words), ALL if dropped is None else dropped, died)

    def insert_packed(self, keys: KeysAt, died: Ints) -> bool:
        """As `insert`, of rows, at least one, whose keys lie somewhere; False, and nothing is changed, if not."""
        if self.block.item(ASCENDING) and self.extend_packed(keys, died):
            return True
        return self._insert(np.empty((keys[3], self.words), np.int64), ALL, died, keys)

    def extend(self, words: Ints, dropped: Bools | None, died: Ints = NOBODY) -> bool:
        """Index further rows if they go on ascending, which proves unique keys new; else change nothing, say False."""
        if not self.is_ascending or (dropped is not None and dropped.any()):
            return False
        words = words.reshape(-1, self.words)
        if not self.unique and self.rows and len(words) and words.item(0) == self._run.last_lead:
            return self._extend_key(words, died)
        if not self._run.extend(words):
            return False
        self.rows += len(words)
        return True

    def extend_packed(self, keys: KeysAt, died: Ints = NOBODY) -> bool:
        """As `extend`, of rows, at least one, whose keys lie somewhere."""
        form, places, first, count = keys
        mortal = len(died) > 0
        while (said := extend_packed(self.block, form, places, first, count, self.words, mortal)) == NO_ROOM:
            self.make_room(count)
        if said in (TAKEN, TAKEN_ON):
            return True
        words = None if said in (INCOMPLETE, REFUSED) else self.packed(keys)
        return words is not None and self.extend(words, None, died)

    def make_room(self, rows: int) -> None:
        """Room in the run for so many rows more."""
        self._run.make_room(rows)

    def packed(self, keys: KeysAt) -> Ints | None:
        """The words of keys that lie somewhere; None if some value is NULL, or they do not."""
        form, places, first, count = keys
        words = np.empty((count, self.words), np.int64)
        return words if pack_complete(form, places, first, words) else None

    def apply(
        self, words: Ints, inserts: Bools, times: Ints, died: Ints, applied: Applied, *, replace: bool = False
    ) -> None:
        """Insert further rows and kill living ones, change by change in the order given.

        inserts[i] links the next row of the store, or else a living row of key i dies at times[i] (times: length 1 or
        n). In a unique index an insert whose key has a living row fails, or kills that row if `replace`. In any other
        rows are unlinked as they die: all that are linked live, which `since` has to say, and none are looked up as of
        the past. A delete without a living row fails. `died` is written to and covers the rows to come, unless all are
        plain inserts. After a few failures nothing more is done, unless `applied` is to go on. After one the caller
        goes back to a mark, and the store revives the rows killed; or, if he lets the failures be, nothing.
        """
        words, rows, block, chains = words.reshape(-1, self.words), self.rows, self.block, self._chains
        frame = self._settling(words)
        self._note((rows, words, applied, inserts))
        if self.unique:
            self.expect(len(words))
        chains.lengthen(rows, len(words))
        unique, done = self.unique, applied.done
        while said := apply_changes(block, frame, died, words, inserts, times, rows, unique, replace, done):
            self._make_way(said, frame, died)
        if frame is not self._no_run:
            self._looked(frame)
        block[CAME] += len(words)
        self.rows = rows + applied.inserted

    def probe(
        self, words: Ints, dropped: Bools | None, limits: Ints, died: Ints, times: Ints, learner: Learner | None = None
    ) -> tuple[Ints, Ints]:
        """(position of the key, row) for the rows of each key with row < limits[i] and died[row] > times[i], by
        position.

        `limits` and `times` have length n, or 1 if all are the same; times are at least `since`. The order of the rows
        of one key is unspecified. `learner`: who learns from what is met; here nothing is changed. Cost: about two
        random accesses a key and one for each further entry of its chain; a key changed k times between `since` and its
        time has k entries more.
        """
        words, valid = words.reshape(-1, self.words), None if dropped is None else ~dropped
        seen, run = seen_of(limits, died, times), self.run_at()
        found = list(self._search.find(self, words, valid, seen, run, learner)) if len(words) else []
        if len(found) == 1:
            return found[0]
        return np.concatenate([NOBODY, *(p for p, _ in found)]), np.concatenate([NOBODY, *(r for _, r in found)])

    def newest(self, words: Ints, died: Ints) -> int | None:
        """The living row of a key (1, W) of a unique index; None if there is none."""
        row = newest_row(self.block, words)
        if row == NO_SLOT and self.backlog:
            firsts, counts = self._run.find(words)
            row = firsts.item(0) if counts.item(0) else NO_SLOT
        return row if row >= 0 and (len(died) == 0 or died.item(row) == ALIVE) else None

    def run_at(self) -> Run:
        """How kernels read the keys of the run; NO_RUN if it is empty."""
        return self._keys.at(self.run_rows) if self._keys is not None and self.backlog else NO_RUN

    def learn(self, met: Met, died: Ints) -> None:
        """Let rows leave the run that searches have paid for, and dead ones the chains that they have found long."""
        try:
            for searched in met.searched:
                if backlog := self.backlog:
                    self._let_leave(self._melting.after_step(searched, backlog), died)
            for words in met.long:
                self._chains.shorten(words, died, self.since)
        except MemoryError:  # it can all wait
            pass

    def _undo(self, last: int, kept: int, first_row: int) -> None:
        """Undo steps down to number `last`, for rows from `first_row` on, and forget those from number `kept` on.

        Rows that only the run has got need no step: they go with its end.
        """
        if len(self._journal) <= last and max(self.rows, self.run_rows) <= first_row:
            return
        ascending, cut = self.block.item(ASCENDING), 0
        self.block[ASCENDING] = False
        for number in range(len(self._journal) - 1, last - 1, -1):
            before, words, applied, inserts = self._journal[number]
            if applied is not None and not self.unique:
                assert words is not None
                self._chains.undo(words, inserts, before, applied)
            else:
                cut += self._chains.cut(words, first_row)
        if len(noted := self.noted(first_row)):
            cut += self._chains.cut(noted, first_row)
        self._run.truncate(first_row)
        self._chains.following.truncate(first_row)
        self.cut_off(first_row)
        # The table may know keys above the run's last one now: then order alone no longer proves a key new.
        self.block[ASCENDING] = ascending and not cut
        del self._journal[kept:]

    def _settling(self, words: Ints) -> Ints:
        """What is asked for where rows of these keys come, or die: rows of theirs then leave the run before."""
        start, stop = self.block.item(START), self.block.item(STOP)
        if start == stop:
            return self._no_run
        self._note_links(words, stop)
        return self._run.settling(self.words, self._melting.most(stop - start))

    def _note_links(self, words: Ints, stop: int) -> None:
        """Rows of the run, which goes up to `stop`, are about to have chains, of these keys."""
        if stop > self.block.item(FINAL):  # rows that are final need not leave the table again
            self._note((0, words, None, ALL))

    def _note(self, step: _Step) -> None:
        """What undoes a change that is about to be made."""
        self.block[OWES] = True
        self._journal.append(step)

    def _let_leave(self, rows: int, died: Ints) -> None:
        if rows:
            self._melt(rows, died)
            if not self.unique and self._melting.is_detour:
                self.block[ASCENDING] = False
            self._settled(died)

    def _melt(self, count: int, died: Ints) -> None:
        """Move the first `count` rows of the run, and what else their last key has, into the hash table."""
        run = self._run
        goal = min(run.start + count, run.stop)
        while run.start < goal:
            words, firsts, counts = run.keys(min(goal - run.start, _AT_ONCE), self.words)
            stop = int(firsts[-1] + counts[-1])
            # Room for all that comes in this way, if the rest has as many rows a key.
            keys = len(words) * (goal - run.start) // (stop - run.start)
            self._chains.ensure(keys, goal - run.start, died, self.since)
            self._link(words, hashed(words), firsts, counts, died)
            run.start = stop

    def _extend_key(self, words: Ints, died: Ints) -> bool:
        """As `extend`, where the run's last key goes on: link its rows if the table knows the key.

        Where rows die the table has to, so that a key that is updated over and over keeps a short chain.
        """
        rows = self.rows
        if not self._run.extend(words):
            return False
        key, others = words[:1], np.flatnonzero(words[:, 0] != words.item(0))
        alike = words[: others[0]] if len(others) else words
        if newest_row(self.block, key) != NO_SLOT:
            # A table that is full forgets keys whose rows are dead; what it knows then it still knows when rows are
            # linked. Else the key would be looked for in the run, which has these rows, and linked to itself.
            keys = 1 + int((alike[1:] != alike[:-1]).any(axis=1).sum())
            self._chains.ensure(keys, len(alike), died, self.since)
        if newest_row(self.block, key) != NO_SLOT:
            self._insert(alike, ALL, died)
        elif len(died):
            self._link(key, hashed(key), *self._run.find(key), died)
        self.rows = rows + len(words)
        return True

    def _settled(self, died: Ints) -> None:
        """Seal the chains at once if no step is open: an index that is only searched may not be sealed for long."""
        if not self._journal and self.linked == self.rows:
            self._chains.seal(died, self.since)

    def _link(self, words: Ints, hashes: Hashes, firsts: Ints, lengths: Ints, died: Ints) -> None:
        stop = self._run.stop
        self._note_links(words, stop)
        self._chains.link(words, hashes, firsts, lengths, stop, died, self.since)

    def _insert(self, words: Ints, dropped: Bools, died: Ints, keys: KeysAt | None = None) -> bool:
        """Link rows of these keys, which do not go on ascending, or of `keys`, of which `words` are made.

        False, and nothing is changed, if these do not lie where kernels find them.
        """
        rows, count, block, chains = self.rows, len(words), self.block, self._chains
        frame, hashes, at = self._settling(words), np.empty(2 * count, np.uint64), 0
        named = words if count * _FEW <= len(chains.tables.slots) else None
        self._note((rows, named, None, ALL))
        if rows + count > chains.following.length:
            chains.lengthen(rows, count)
        while at < count:
            if keys is None or at:
                said = insert_rows(block, frame, died, words, hashes, dropped, at, rows)
            else:
                form, places, first, _ = keys
                said = insert_packed(block, frame, died, form, places, first, words, hashes, rows)
                if said == INCOMPLETE:
                    return False
            if said < 0:
                self._make_way(said, frame, died)
            elif (at := said) < count:
                chains.ensure(1, count - at, died, self.since)
        if frame is not self._no_run:
            self._looked(frame)
        block[CAME] += count
        block[ROWS] = rows + count
        return True

    def _make_way(self, said: int, frame: Ints, died: Ints) -> None:
        """Do what a kernel has asked for before it does anything."""
        absent = frame.item(ABSENT)
        if said == NO_SLOTS:
            self._chains.ensure(absent, absent, died, self.since)
            return
        assert said == LEAVING, "the columns of a key have places"
        self._let_leave(self._melting.before_search(absent, self.backlog), died)
        frame[MOST] = _ALL_KEYS

    def _looked(self, frame: Ints) -> None:
        """Note what was looked for in the run."""
        absent = frame.item(ABSENT)
        if absent and frame.item(MOST) < _ALL_KEYS:
            self._melting.looked_for(absent)
