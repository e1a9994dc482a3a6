"""Expected sizes: what they are called, and the bytes that each kind of state takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ivm.catalog.types import Physical
from ivm.sql.ir.rebuild import Row

_WIDTH = {
    Physical.BOOL: 1,
    Physical.INT32: 4,
    Physical.CODE: 4,
    Physical.INT64: 8,
    Physical.FLOAT64: 8,
    Physical.WIDE: 16,
}

# Bytes beside the columns', as measured over 200,000 rows: of a view's row, of a row that is stored under a key, of a
# group, of a row in order, of a reference to a row, of a key in an index (of one word, of several).
IN_VIEW, STORED, GROUP, IN_ORDER, REFERENCE, KEY, LONG_KEY = 16, 40, 35, 48, 4, 28, 100
# A word of an entry in an ordered tree, whose nodes are three quarters full.
IN_TREE = 11


@dataclass(frozen=True, slots=True)
class Estimate:
    """Rows (of an index: entries) and bytes."""

    rows: float
    bytes: float

    def __str__(self) -> str:
        return f"about {rounded(self.rows)} rows, {bytes_text(self.bytes)}"


def rows_of(count: float, row: Row, more: int) -> Estimate:
    """So many rows, each of which takes `more` bytes beside its columns."""
    return Estimate(count, count * (width(row) + more))


def total(estimates: Iterable[Estimate]) -> Estimate:
    """Of all of them together."""
    each = list(estimates)
    return Estimate(sum(e.rows for e in each), sum(e.bytes for e in each))


def rounded(count: float) -> str:
    """A count by its first two digits: it is a guess."""
    whole = max(0, round(count))
    return f"{round(whole, 2 - len(str(whole))):,}"


def bytes_text(size: float) -> str:
    """`340 bytes`, `1.2 MB`, by powers of a thousand."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.{1 if size < 100 * unit else 0}f} {name}"
    return f"{size:.0f} bytes"


def width(row: Row) -> int:
    """The bytes of a row's columns, text as codes; the text itself is the dictionary's, which all share."""
    return sum(_WIDTH[column.type.physical] + column.nullable for column in row)
