"""How much memory a database takes: what its process holds, and what its relations say of it."""

from __future__ import annotations

import gc
from dataclasses import dataclass

import pyarrow as pa

import ivm
from ivm.kernels.memory.allocator import resident_bytes

_WHOLE = """
    SELECT sum(rows)::BIGINT, sum(entries)::BIGINT, sum(bytes)::BIGINT,
           coalesce(sum(rows) FILTER (kind = 'table'), 0)::BIGINT,
           coalesce(sum(bytes) FILTER (kind = 'table'), 0)::BIGINT
    FROM ivm_arrangements WHERE kind <> 'process'
"""


@dataclass(frozen=True, slots=True)
class Footprint:
    """What is held: stored rows, index entries and bytes of all state, and the tables' own part of them.

    `alone_bytes` is what the views would need if each ran by itself, with tables of its own: the sum of what each needs
    of the state there is. `resident_bytes` is what the process holds, Python and the libraries included.
    """

    rows: int
    entries: int
    state_bytes: int
    table_rows: int
    table_bytes: int
    alone_bytes: int
    resident_bytes: int


def footprint(db: ivm.Database) -> Footprint:
    """The footprint of `db` now, memory that nobody holds any more given back. Cost: two queries over the state."""
    release()
    resident = resident_bytes()
    rows, entries, state, table_rows, table_bytes = db.sql(_WHOLE).fetchall()[0]
    ((alone,),) = db.sql("SELECT coalesce(sum(state_bytes), 0)::BIGINT FROM ivm_views").fetchall()
    return Footprint(rows, entries, state, table_rows, table_bytes, alone, resident)


def release() -> None:
    """Collect garbage, and give back what Arrow keeps for later."""
    gc.collect()
    pa.default_memory_pool().release_unused()
