"""How many values columns of tables have, by some of their rows.

Plans do not go by it: a database that is opened again must come to the plans that it had. What is shown of them does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ivm.analysis.expected import Shares
from ivm.plan.node import Sizes
from ivm.trace.rows.table_store import TableStore

_STRETCHES, _LENGTH = 64, 16
"""So many stretches are read of a table, anywhere, of so many rows."""
_PAIRS = 40
"""Of fewer rows that have the value of another one, chance has brought them together."""


def sampled(sizes: Mapping[str, float], tables: Mapping[str, TableStore]) -> Sizes:
    """What to expect of plans by the sizes of tables and views, and by some rows of these tables.

    Cost: when it is asked for, some milliseconds for a table, and one for a column.
    """
    return Sizes(sizes, _Sampled(tables))


class _Sampled:
    """The distinct values of columns of `tables`, which may change meanwhile. Each is read when it is asked for."""

    def __init__(self, tables: Mapping[str, TableStore]) -> None:
        self._tables = tables
        self._read: dict[str, list[list[Any]]] = {}

    def __call__(self, name: str, column: int) -> Shares | None:
        """What its rows tell of a column; None if that is no table, or has no rows."""
        store = self._tables.get(name)
        if store is None:
            return None
        if name not in self._read:
            self._read[name] = _stretches(store)
        values = [columns[column].to_pylist() for columns in self._read[name]]
        rows = store.count
        return Shares(estimated_values(values, rows), estimated_share(values, rows)) if values else None


def _stretches(store: TableStore) -> list[list[Any]]:
    """The columns of some stretches of rows, or of all rows if they are few; always the same of the same rows."""
    reader = store.reader()
    whole = -(-reader.rows // _LENGTH)
    chosen = range(whole) if whole <= _STRETCHES else np.random.default_rng(0).choice(whole, _STRETCHES, replace=False)
    firsts = [int(number) * _LENGTH for number in chosen]
    return [columns for first in firsts for columns in reader.kept(first, min(first + _LENGTH, reader.rows))]


def estimated_values(stretches: Sequence[Sequence[Any]], rows: int) -> float:
    """How many values so many rows have of which these stretches are some: those that were met, and the more the more
    of them were met in one stretch alone, and the fewer in two (Chao, "Estimating the population size for
    capture-recapture data with unequal catchability").

    Rows that came together may have values of their own. So where no stretch has what another has, there are as many
    more values as there are rows.
    """
    met = Counter(value for each in stretches for value in set(map(_comparable, each)))
    read = sum(map(len, stretches))
    once, twice = (sum(count == times for count in met.values()) for times in (1, 2))
    if read == rows:
        return float(len(met))
    if once == len(met):
        return rows * len(met) / read
    return min(float(rows), len(met) + once * (once - 1) / (2.0 * (twice + 1)))


def estimated_share(stretches: Sequence[Sequence[Any]], rows: int) -> float | None:
    """What share of so many rows, of which these stretches are some, has the value of one of them, NULL aside.

    Rows of one stretch tell nothing of each other, but if they are all rows. None where too few have the same value.
    """
    counts = [Counter(_comparable(value) for value in each if value is not None) for each in stretches]
    read, total = sum(map(len, stretches)), Counter[Any]()
    for each in counts:
        total.update(each)
    pairs = sum(count * count for count in total.values())
    of = read * total.total()
    if read < rows:
        pairs -= sum(count * count for each in counts for count in each.values())
        of -= sum(len(stretch) * each.total() for stretch, each in zip(stretches, counts, strict=True))
    return pairs / of if pairs >= _PAIRS else None


def _comparable(value: Any) -> Any:
    return repr(value) if isinstance(value, list | dict) else value
