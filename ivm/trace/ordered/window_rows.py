"""The rows of windows as trees take and give them, and what trees ask of their layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol, Self, TypeVar

from ivm.kernels.types import Int32s
from ivm.trace.columns.column import Array, Ints
from ivm.trace.columns.segment import Segment, Segments
from ivm.trace.text.texts import Strings


class Rows(NamedTuple):
    """Rows, as batches have them, with their partitions' slots and their diffs, None if all are one."""

    slots: Int32s
    rows: Ints
    diffs: Ints | None


class Layout(Protocol):
    """What the words of a node are, and what is computed (see `ivm.kernels.windows`). Never changed, but exchanged."""

    kinds: Ints
    shape: Ints
    carries: Ints
    extremes: Ints
    plan: Ints
    defaults: Ints
    uses_peers: bool
    node_words: int

    def segment(self, rows: Rows, strings: Strings) -> Segment:
        """Rows as a segment."""
        ...

    def restored(self, segments: Segments) -> Iterator[tuple[Self, Rows]]:
        """The rows that the segments were made of, and the layout with which these are written."""
        ...

    def codes(self, nodes: Ints) -> Iterator[Array]:
        """The codes in nodes; see `State.codes`."""
        ...

    def moved(self, narrow: Self, nodes: Ints) -> Ints:
        """Nodes of the layout that this one was widened from."""
        ...

    def moved_rows(self, narrow: Self, rows: Ints) -> Ints:
        """Rows, as batches have them, of the layout that this one was widened from."""
        ...


AnyLayout = TypeVar("AnyLayout", bound=Layout)
