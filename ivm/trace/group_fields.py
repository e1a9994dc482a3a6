"""What the fields of groups are, and where they are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from catalog.types import SqlType
from ivm.kernels.groups.table import COUNTS, OPEN, PARTITIONS
from ivm.trace.column import Array, Ints
from ivm.trace.growable import Growable
from ivm.trace.segment import Scalar
from ivm.trace.slot_index import SlotIndex, empty_index


class Fields(Protocol):
    """What the fields of groups are; never changed itself, only exchanged for another one."""

    @property
    def kinds(self) -> tuple[SqlType | None, ...]:
        """For each field the type of text or list that it is a code of, None if it is a number."""
        ...

    @property
    def saved(self) -> Scalar:
        """What the places of the fields depend on beside the plan."""
        ...

    def restored(self, saved: Scalar) -> Fields:
        """The fields of the same plan that depend on this."""
        ...


@dataclass(frozen=True)
class PlainFields:
    """Fields whose places are always the same."""

    kinds: tuple[SqlType | None, ...]
    saved: Scalar = None

    def restored(self, saved: Scalar) -> PlainFields:
        """The same."""
        return self


Form = TypeVar("Form", bound=Fields)


@dataclass(slots=True)
class Table(Generic[Form]):
    """Rows by slot (see `ivm.kernels.groups.table`), and what their fields are; both are exchanged at once."""

    rows: Growable[np.int64]
    fields: Form


@dataclass(slots=True)
class Store(Generic[Form]):
    """A table of groups with its index, and the counts of kernels."""

    table: Table[Form]
    index: SlotIndex
    counts: Ints


def coded(fields: Fields, rows: Ints) -> Iterator[Array]:
    """Those of the fields (n, fields) that are codes."""
    for field, kind in enumerate(fields.kinds):
        if kind is not None:
            yield rows[:, field]


def empty_table(width: int, fields: Form) -> Table[Form]:
    """A table of groups with keys of `width` words, without any."""
    return Table(Growable(np.dtype(np.int64), width + 1 + len(fields.kinds)), fields)


def empty_store(width: int, fields: Form) -> Store[Form]:
    """An empty table with its index."""
    counts = np.zeros(COUNTS, np.int64)
    counts[[OPEN, PARTITIONS]] = 1
    return Store(empty_table(width, fields), empty_index(), counts)
