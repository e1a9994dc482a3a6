"""The updates of a log, as they tell of themselves: words of int64, which who changes them keeps right.

LENGTH: how many there are; ROOM: how many fit. From COLUMNS on the places of their columns (see `memory.places`), then
those of their times and diffs. The words of a *log* have the address of those, UPDATES, and how many diffs below zero
were added since it was sealed, RETRACTED.
"""

from __future__ import annotations

LENGTH, ROOM, COLUMNS = range(3)
UPDATES, RETRACTED = range(2)
LOG_WORDS = 2
