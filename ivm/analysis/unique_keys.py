"""Unique keys: sets of columns on which no two rows of a relation agree."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from ivm.analysis.equivalences import Equivalences, equivalences
from ivm.analysis.fact import fact
from sql.ir.relation import (
    Constant,
    Filter,
    Get,
    Join,
    Map,
    Project,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Window,
    WindowFunction,
)

Key = frozenset[int]

# A relation rarely has more than two keys that matter; a join multiplies those of its inputs.
_MOST = 8


@fact
def unique_keys(relation: Relation) -> tuple[Key, ...]:
    """Keys of `relation`: every multiplicity is 0 or 1, and rows that agree on a key (NULL with NULL) are one row.

    Columns are named by the first of those identical to them and constants are left out, so ask with `is_unique`.
    The empty key says that there is at most one row. Conservative: there may be more keys.
    """
    known = equivalences(relation)
    return _smallest(_simplified(key, known) for key in _keys(relation))


def is_unique(relation: Relation, columns: Iterable[int]) -> bool:
    """Whether no two rows agree on `columns`."""
    known = equivalences(relation)
    given = {known.representative(c) for c in columns}
    return any(key <= given for key in unique_keys(relation))


def _keys(relation: Relation) -> Iterable[Key]:
    match relation:
        case Get():
            return (frozenset(key) for key in relation.keys)
        case Constant():
            return _keys_of_rows(relation)
        case Map() | Filter() | Threshold():
            return unique_keys(relation.input)
        case Project():
            return _kept(relation)
        case Join():
            return _joined(relation)
        case Reduce():
            return (frozenset(range(len(relation.keys))),)
        case Window():
            numbers = (i for i, f in enumerate(relation.functions, len(relation.input.schema)) if _numbers(f))
            return [*unique_keys(relation.input), *(frozenset((*relation.partition, i)) for i in numbers)]
        case TopK():
            own = [frozenset(relation.group)] if relation.limit == 1 and not relation.ties else []
            return [*own, *unique_keys(relation.input)]
    return ()


def _numbers(function: WindowFunction) -> bool:
    return function.function == "row_number"


def _simplified(key: Key, known: Equivalences) -> Key:
    return frozenset(known.representative(c) for c in key if c not in known.constants)


def _smallest(keys: Iterable[Key]) -> tuple[Key, ...]:
    """Without keys that contain another, the shortest first, in a fixed order."""
    ordered = sorted(set(keys), key=lambda key: (len(key), sorted(key)))
    minimal = [key for key in ordered if not any(other < key for other in ordered)]
    return tuple(minimal[:_MOST])


def _keys_of_rows(relation: Constant) -> Iterable[Key]:
    if len(relation.rows) <= 1:
        return (frozenset(),)
    distinct = len(set(relation.rows)) == len(relation.rows)
    return (frozenset(range(len(relation.schema))),) if distinct else ()


def _kept(relation: Project) -> Iterable[Key]:
    """The keys of the input of which every column, or one identical to it, is kept."""
    known = equivalences(relation.input)
    places: dict[int, int] = {}
    for position, column in enumerate(relation.columns):
        places.setdefault(known.representative(column), position)
    below = unique_keys(relation.input)
    return (frozenset(places[c] for c in key) for key in below if key <= places.keys())


def _joined(join: Join) -> Iterable[Key]:
    """One key of each input together, without the columns that the rest determines."""
    keys: list[list[Key]] = []
    start = 0
    for relation in join.inputs:
        keys.append([frozenset(start + c for c in key) for key in unique_keys(relation)])
        start += len(relation.schema)
    known = equivalences(join)
    simplified = [_smallest(_simplified(key, known) for key in each) for each in keys]
    widths = [len(relation.schema) for relation in join.inputs]
    chosen = (frozenset[int]().union(*combination) for combination in _first(product(*simplified), _MOST))
    return [_without_determined(key, simplified, widths, known) for key in chosen]


def _first(combinations: Iterable[tuple[Key, ...]], most: int) -> Iterable[tuple[Key, ...]]:
    return (combination for combination, _ in zip(combinations, range(most), strict=False))


def _without_determined(key: Key, keys: list[tuple[Key, ...]], widths: list[int], known: Equivalences) -> Key:
    """Drop columns from `key` as long as the rest still determines one row of every input."""
    for column in sorted(key, reverse=True):
        rest = key - {column}
        if key <= _determined(rest, keys, widths, known):
            key = rest
    return key


def _determined(columns: Key, keys: list[tuple[Key, ...]], widths: list[int], known: Equivalences) -> set[int]:
    """The columns whose values follow from those of `columns`: a key of an input fixes all of its columns."""
    found = set(columns)
    grows = True
    while grows:
        grows = False
        start = 0
        for own, width in zip(keys, widths, strict=True):
            whole = {known.representative(c) for c in range(start, start + width)}
            start += width
            if not whole <= found and any(key <= found for key in own):
                found |= whole
                grows = True
    return found
