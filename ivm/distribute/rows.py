"""How many rows a relation is expected to have, and how many values a column: what the choice of exchanges goes by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ivm.analysis.expected import (
    Expected,
    appended,
    constant,
    distinct,
    filtered,
    first,
    grouped,
    mapped,
    projected,
    summed,
    table,
    unknown,
)
from ivm.analysis.expected_joins import joined
from ivm.analysis.selectivity import ELEMENTS
from ivm.sql.ir.rebuild import nodes, row
from ivm.sql.ir.relation import (
    Asof,
    Constant,
    Filter,
    Get,
    Join,
    LetRec,
    Map,
    Negate,
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


class Rows:
    """What is expected of relations over the `sizes` of tables and views, and of what is sent: see
    `ivm.analysis.expected`.
    """

    def __init__(self, sizes: Mapping[str, float]) -> None:
        self._sizes = dict(sizes)
        self._sent: dict[str, Expected] = {}
        self._known: dict[int, tuple[Relation, Expected]] = {}

    def of(self, relation: Relation) -> Expected:
        """What is expected of a relation."""
        known = self._known.get(id(relation))
        if known is None:
            known = self._known[id(relation)] = relation, self._expected(relation)
        return known[1]

    def count(self, relation: Relation) -> float:
        """The rows to expect."""
        return self.of(relation).rows

    def distinct(self, relation: Relation, column: int) -> float:
        """The distinct values to expect in a column; at least 1."""
        return max(1.0, self.of(relation).distinct(column))

    def combinations(self, relation: Relation, columns: Iterable[int]) -> float:
        """The same of several columns together; no more than there are rows."""
        return max(1.0, self.of(relation).combinations(columns))

    def send(self, name: str, relation: Relation, times: float) -> float:
        """By this name `times` as many rows are read as a relation has; how many that are."""
        below = self.of(relation)
        self._sent[name] = appended(below, below.width, times)
        return self._sent[name].rows

    def _expected(self, relation: Relation) -> Expected:
        match relation:
            case Get():
                sent = self._sent.get(relation.name)
                named = relation.name, row(relation), self._sizes, relation.keys, relation.refers
                return table(*named) if sent is None else sent
            case Constant():
                return constant(relation.rows, len(relation.schema))
            case LetRec():  # nobody knows how much comes of it; as much as enters
                rows = max((self.count(each) for each in nodes(relation) if isinstance(each, Get)), default=1.0)
                return unknown(rows, len(relation.schema))
            case RecursiveGet():
                return unknown(1.0, len(relation.schema))
        return self._over(relation, [self.of(each) for each in inputs_of(relation)])

    def _over(self, relation: Relation, inputs: list[Expected]) -> Expected:
        below, width = inputs[0], len(relation.schema)
        match relation:
            case Map():
                return mapped(below, relation.scalars)
            case Filter():
                return filtered(below, relation.predicates)
            case Project():
                return projected(below, relation.columns)
            case Join():
                return joined(inputs, relation.equivalences)
            case Reduce():
                return _groups(below, relation)
            case TopK():
                return first(below, relation.group, relation.limit)
            case Union():
                return summed(inputs, [isinstance(each, Negate) for each in relation.inputs])
            case Threshold():
                return distinct(below)
            case Asof():
                return appended(below, width, more=inputs[1])
            case Unnest():
                return appended(below, width, ELEMENTS)
        return below if below.width == width else appended(below, width)


def _groups(below: Expected, relation: Reduce) -> Expected:
    read = (*relation.keys, *(each.arg for each in relation.aggregates if each.arg is not None))
    made = [each for each in read if not isinstance(each, Column)]
    places = [each.index if isinstance(each, Column) else below.width + made.index(each) for each in read]
    left = iter(range(len(relation.keys), len(read)))
    functions = [(each.function, None if each.arg is None else next(left)) for each in relation.aggregates]
    return grouped(projected(mapped(below, made), places), len(relation.keys), functions)
