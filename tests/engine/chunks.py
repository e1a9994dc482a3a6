"""Chunks made small, so that views over some dozens of rows are installed in many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from ivm.dataflow import hydration, loop
from ivm.operators import ends, half_join, join, round_reduce
from ivm.plan import existing
from ivm.trace import route
from ivm.trace.columns import stored_columns
from ivm.trace.index import arrangement
from ivm.trace.keyed import group_reader, round_reader
from ivm.trace.ordered import ordered_arrangement, ordered_tree, window_tree
from ivm.trace.rows import rows_reader

_SIZES = (
    (rows_reader, "_CHUNK_ROWS", 1.0),
    (arrangement, "_FILL_ROWS", 1.75),
    (ordered_arrangement, "_FILL_ROWS", 1.75),
    (arrangement, "_COUNTED_FROM", 5.0),
    (stored_columns, "_CONVERT_ROWS", 1.5),
    (hydration, "_SOON", 0.25),
    (half_join, "PART", 2.0),
    *((each, "FIRST_PART", 0.5) for each in (half_join, join)),
    (half_join, "_LEAST_PART", 0.25),
    (route, "MOST_FOUND", 1.25),
    (loop, "_STRETCH", 0.75),
    (round_reduce, "_AT_ONCE", 0.5),
    *((each, "_CHUNK", 0.75) for each in (group_reader, round_reader, ends, window_tree, ordered_tree)),
)


@contextmanager
def chunks_of(rows: int) -> Iterator[None]:
    """Within, a table is read in chunks of so many rows; other chunks are of about as many, but not all of the same."""
    with ExitStack() as stack:
        for module, name, share in _SIZES:
            stack.enter_context(patch.object(module, name, max(1, int(share * rows))))
        yield


@contextmanager
def sizes_from(rows: int) -> Iterator[None]:
    """Within, plans go by the sizes of tables once one has so many rows, as they do in earnest from a thousand on."""
    with patch.object(existing, "SMALL", rows):
        yield
