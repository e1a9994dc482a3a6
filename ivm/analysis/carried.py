"""Columns that a loop carries along: whose values go from the rows of a name into what is made of them, unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ivm.analysis.equivalences import equivalences
from ivm.analysis.lifted import is_lifted
from ivm.sql.ir.rebuild import offsets, recursive_gets
from ivm.sql.ir.relation import (
    Filter,
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
    Window,
    inputs_of,
)
from ivm.sql.ir.scalar import Column


def carried(loop: LetRec, column: int) -> Mapping[str, int] | None:
    """The bindings whose rows a reader of the rows with some value in `column` needs no more of than those with this
    value in the column given for them, in any round; of others it may need all. None if it needs all of its own.

    They are so if each of their rows is made of rows of these names with the same value alone. Cost: the loop's size.
    """
    found = _Carried({binding.name: binding.relation for binding in loop.bindings})
    return found.columns if found.only(loop.bindings[loop.result].name, column) else None


def carried_by_all(loop: LetRec) -> tuple[Mapping[str, int], ...]:
    """The ways in which the bindings of a loop carry a column along, each of them one: see `carried`.

    So whatever tells rows apart by these columns alone also tells loops apart, of which each goes its own way. The same
    for all results of a loop. Cost: the loop's size for each column of its bindings.
    """
    found: dict[tuple[int, ...], Mapping[str, int]] = {}
    for result, binding in enumerate(loop.bindings):
        for column in range(len(binding.schema)):
            columns = carried(replace(loop, result=result), column)
            if columns is not None and len(columns) == len(loop.bindings):
                found.setdefault(tuple(columns[each.name] for each in loop.bindings), columns)
    return tuple(found.values())


@dataclass
class _Carried:
    """The bindings met so far: those of which one value in a column is needed, and those needed whole."""

    relations: Mapping[str, Relation]
    columns: dict[str, int] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    seen: dict[tuple[int, int], bool] = field(default_factory=dict)

    def only(self, name: str, column: int) -> bool:
        """Whether no more of a binding need be there than the rows with one value in `column`."""
        if name in self.whole or self.columns.get(name, column) != column:
            return False
        if name in self.columns:
            return True
        self.columns[name] = column
        return self._within(self.relations[name], column)

    def _all(self, name: str) -> bool:
        """Whether a binding may be there as a whole, with all that it is made of."""
        if name in self.columns:
            return False
        if name in self.whole:
            return True
        self.whole.add(name)
        return self._all_of(self.relations[name])

    def _all_of(self, relation: Relation) -> bool:
        return all(self._all(get.name) for get in recursive_gets(relation))

    def _within(self, relation: Relation, column: int) -> bool:
        """As `only`, of a relation in a binding."""
        if not is_lifted(relation):
            return True
        if isinstance(relation, RecursiveGet):
            return self.only(relation.name, column)
        place = id(relation), column
        if place not in self.seen:
            self.seen[place] = self._below(relation, column)
        return self.seen[place]

    def _below(self, relation: Relation, column: int) -> bool:
        if isinstance(relation, Join):
            return self._joined(relation, column)
        below = column_below(relation, column)
        return below is not None and all(self._within(each, below) for each in inputs_of(relation))

    def _joined(self, join: Join, column: int) -> bool:
        """Of inputs that have the column, or one that is identical, rows with the value are needed; others whole."""
        pairs = zip(join.inputs, columns_joined(join, column), strict=True)
        return all(self._all_of(each) if own is None else self._within(each, own) for each, own in pairs)


def columns_joined(join: Join, column: int) -> tuple[int | None, ...]:
    """Of each input of a join a column that holds in every row what `column` of the join holds; None without one."""
    same = next((group for group in equivalences(join).classes if column in group), (column,))
    starts = offsets(join.inputs)
    owned = ([c - start for c in (column, *same) if start <= c < end] for start, end in pairwise(starts))
    return tuple(own[0] if own else None for own in owned)


def column_below(relation: Relation, column: int) -> int | None:
    """The column of the inputs of a node, but a join, of which its rows with one value in `column` are made, those
    with this value and no others; None if there is none.
    """
    match relation:
        case Filter() | Negate() | Threshold() | Union():
            return column
        case Project():
            return relation.columns[column]
        case Map():
            width = len(relation.input.schema)
            return column if column < width else _plain(relation.scalars[column - width])
        case Unnest():
            return column if column < len(relation.input.schema) else None
        case Reduce() if column < len(relation.keys):
            return _plain(relation.keys[column])
        case TopK() if column in relation.group:
            return column
        case Window() if column in relation.partition:
            return column
    return None


def _plain(scalar: object) -> int | None:
    return scalar.index if isinstance(scalar, Column) else None
