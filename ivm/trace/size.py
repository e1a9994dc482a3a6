"""How much state something holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StateSize:
    """What an operator or arrangement holds: `rows` stored rows, index entries, all bytes.

    Entries are references to rows. Rows that came in the order of an index's keys are found by it, without any.
    """

    rows: int = 0
    entries: int = 0
    bytes: int = 0
