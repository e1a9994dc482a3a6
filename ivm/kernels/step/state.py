"""The state that look-ups search, as it tells of itself: words of int64, which who changes the state keeps right.

So a walk finds it without asking Python, however many look-ups there are.
"""

from __future__ import annotations

ASK, INDEX, STORE, EDITION, TOLD, PLACES, RUN, RUN_PARTS = range(8)
ARRANGEMENT = 8
"""The words of an arrangement: whether Python is to be asked first; where the block of the index and the words of the
store stand, and a word that changes when the places of its columns have to be told anew; what that was when they were
told; where these stand; the form of the key as the store has it, and its parts."""

DIED, ROOM, MORTAL, ROWS, LAST, KNOWN, TIMES, TIMES_ROOM, FIRSTS, FIRSTS_ROOM = range(10)
ROWS_OF = 10
"""The words of a store: where the rows' deaths lie, for how many there is room, and whether any row is mortal; how many
rows there are; the last time at which any may have come. Then how many times are known at which rows came; where these
lie, and the first row of each, and for how many of both there is room."""

STORE_AT, KEYS_AT, KEYS, COLUMNS_AT = range(4)
KEPT = 4
"""The words of a derived collection: where those of its store stand; where the keys by which its indexes take rows are
told of, and how many words that takes (see `step.append`); where the places of its columns stand. The first is zero
until Python has told of them, and once they hold no longer."""
