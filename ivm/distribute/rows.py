"""How many rows a relation is expected to have, and how many values a column: what the choice of exchanges goes by."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from math import prod

from ivm.analysis.selectivity import ELEMENTS, selectivity
from ivm.analysis.unique_keys import unique_keys
from ivm.catalog.types import BOOLEAN, DATE, VARCHAR, SqlType
from ivm.sql.ir.rebuild import nodes, offsets
from ivm.sql.ir.relation import (
    Constant,
    Filter,
    Get,
    Join,
    LetRec,
    Map,
    Project,
    RecursiveGet,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Union,
    Unnest,
    inputs_of,
)
from ivm.sql.ir.scalar import Column

_DAYS = 2_500.0
_SHARE = 0.1
"""The share of a column's rows that are distinct values, where nothing is known."""
_MORE = 0.25
"""A second key multiplies groups by this power of its values, a third by the power of the power, and so on: what is
grouped by together mostly depends on each other, and has few values.
"""


def _usual(type_: SqlType, rows: float) -> float:
    """The distinct values of a column of a table of which nothing is known: names and days repeat more than numbers."""
    if type_ == BOOLEAN:
        return 2.0
    if type_ == DATE:
        return _DAYS
    return rows**0.5 if type_ == VARCHAR else rows * _SHARE


class Rows:
    """Estimates over given sizes: `sizes` are the rows of each table, view and channel by name.

    `values` are the distinct values that a column of one of these is known to have, by name and column.
    """

    def __init__(self, sizes: Mapping[str, float], values: Mapping[tuple[str, int], float]) -> None:
        self.sizes = dict(sizes)
        self.values = dict(values)
        self._counts: dict[int, tuple[Relation, float]] = {}

    def count(self, relation: Relation) -> float:
        """The rows to expect."""
        known = self._counts.get(id(relation))
        if known is None:
            known = self._counts[id(relation)] = relation, self._count(relation)
        return known[1]

    def distinct(self, relation: Relation, column: int) -> float:
        """The distinct values to expect in a column; at least 1."""
        return max(1.0, min(self.count(relation), self._distinct(relation, column)))

    def combinations(self, relation: Relation, columns: Iterable[int]) -> float:
        """The same of several columns together, if they were independent; no more than there are rows."""
        product = prod(self.distinct(relation, column) for column in columns)
        return max(1.0, min(self.count(relation), product))

    def _count(self, relation: Relation) -> float:
        match relation:
            case Get():
                return self.sizes[relation.name]
            case Constant():
                return float(len(relation.rows))
            case Unnest():
                return self.count(relation.input) * ELEMENTS
            case Filter():
                return self.count(relation.input) * prod(map(selectivity, relation.predicates))
            case Join():
                return self.joined(relation.inputs, relation.equivalences)
            case Reduce():
                return self._groups(relation)
            case TopK() if relation.limit is not None:
                groups = self.combinations(relation.input, relation.group)
                return min(self.count(relation.input), groups * relation.limit)
            case Union():
                return sum(map(self.count, relation.inputs))
            case LetRec():  # nobody knows how much comes of it; as much as enters
                return max((self.count(each) for each in nodes(relation) if isinstance(each, Get)), default=1.0)
            case RecursiveGet():
                return 1.0
        return self.count(inputs_of(relation)[0])

    def joined(self, inputs: tuple[Relation, ...], classes: Iterable[tuple[int, ...]]) -> float:
        """The product, divided for each class by the distinct values of all of its columns but the fewest."""
        starts, total = offsets(inputs), prod(map(self.count, inputs))
        for group in classes:
            owners = [(bisect_right(starts, c) - 1, c) for c in group]
            values = sorted(self.distinct(inputs[i], c - starts[i]) for i, c in owners)
            total /= prod(values[1:])
        return total

    def _groups(self, relation: Reduce) -> float:
        below, columns = relation.input, [key.index if isinstance(key, Column) else None for key in relation.keys]
        rows = self.count(below)
        known = [max(1.0, rows * _SHARE) if c is None else self.distinct(below, c) for c in columns]
        most = prod(values**_MORE**place for place, values in enumerate(sorted(known, reverse=True)))
        return max(1.0, min(rows, most)) if columns else 1.0

    def _distinct(self, relation: Relation, column: int) -> float:
        rows = self.count(relation)
        if frozenset((column,)) in unique_keys(relation):
            return rows
        match relation:
            case Get():
                return self.values.get((relation.name, column), _usual(relation.schema[column].type, rows))
            case Filter() | Threshold():
                return self.distinct(relation.input, column)
            case Project():
                return self.distinct(relation.input, relation.columns[column])
            case Map() | Unnest() if column < len(relation.input.schema):
                return self.distinct(relation.input, column)
            case Join():
                return self._of_join(relation, column)
            case Reduce() if column < len(relation.keys):
                key = relation.keys[column]
                return self.distinct(relation.input, key.index) if isinstance(key, Column) else rows * _SHARE
            case Reduce() if relation.aggregates[column - len(relation.keys)].function in ("count", "count_star"):
                return float(rows**0.5)
        return rows * _SHARE

    def _of_join(self, join: Join, column: int) -> float:
        starts = offsets(join.inputs)
        equal = next((group for group in join.equivalences if column in group), (column,))
        owners = [(bisect_right(starts, c) - 1, c) for c in equal]
        return min(self.distinct(join.inputs[i], c - starts[i]) for i, c in owners)
