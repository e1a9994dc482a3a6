"""The control block of an index: where its arrays are, and what its ascending run has come to.

Each array as `ivm.kernels.memory.at` says: at TABLES the block of the hash table (see `ivm.kernels.hashing.slots`), at
FOLLOWING the next row of each row, int32, at FENCES the leads of the run's blocks, int64. The run has the rows from
START up to STOP. No lead in it is above LAST_LEAD, the first word of a key shifted right by SHIFT bits. DISTINCT: all
of its keys differ. IN_ORDER: its last keys are known, ALIKE rows before the last one have its lead and ascend up to its
words, which lie from LAST on. EACH: there is a fence for every 2 ** EACH rows. SINCE: since when deaths matter to
anybody. ROWS: how many rows are indexed, those that have left the run too. ASCENDING: whether the run may take further
ones. FINAL: up to which row of the run nothing is undone any more. OWES: whether sealing takes more than saying so.
LINKED: from which row on rows may have chains that no step tells of; NONE if there are none. NOTES: where the keys of
these stand, of so many rows as are NOTED, for whoever undoes that, with room for more. FOLLOWED: up to which row such
chains have been written. CAME: how many rows came since chains were looked after last; LOOK_FROM: how many come before
that is done again.
A search writes nothing here.
"""

from __future__ import annotations

TABLES, FOLLOWING, FENCES = 0, 2, 4
START, STOP, LAST_LEAD, SHIFT, DISTINCT, IN_ORDER, ALIKE, EACH, SINCE, ROWS, ASCENDING, FINAL, OWES = range(6, 19)
LINKED, NOTES, NOTES_ROOM, NOTED, FOLLOWED, CAME, LOOK_FROM, LAST = range(19, 27)
NONE = 0x7FFF_FFFF_FFFF_FFFF
ANY_LEAD = 0x7FFF_FFFF_FFFF_FFFF
"""What no lead is above."""
FEW = 128
"""So many rows come at least before chains are looked after: pages of the next table are got for all at once."""
FENCED = 16
"""How many rows of a run there are to a fence, a power of two, and at most of one lead where its keys differ."""
