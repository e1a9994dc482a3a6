"""Unique keys: sets of columns on which no two rows of a relation agree."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, product

from ivm.analysis.equivalences import Equivalences, equivalences
from ivm.analysis.fact import fact
from ivm.sql.ir.functions import called
from ivm.sql.ir.rebuild import offsets
from ivm.sql.ir.relation import (
    Asof,
    Constant,
    Filter,
    Get,
    Join,
    LetRec,
    Map,
    Project,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Unnest,
    Window,
)
from ivm.sql.ir.scalar import Call

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
        case LetRec():
            return unique_keys(relation.last)
        case Project():
            return _kept(relation)
        case Join():
            return _joined(relation)
        case Reduce():
            return (frozenset(range(len(relation.keys))),)
        case Unnest(numbered=True):
            place = len(relation.schema) - 1
            return (key | {place} for key in unique_keys(relation.input))
        case Unnest(lists=(Call(function=called.CALLED),)):
            return unique_keys(relation.input)
        case Window():
            own = enumerate(relation.functions, len(relation.input.schema))
            numbered = [frozenset((*relation.partition, i)) for i, each in own if each.function == "row_number"]
            return [*unique_keys(relation.input), *numbered]
        case Asof():  # each row of the left has one of the right at most
            return unique_keys(relation.left)
        case TopK():
            first = [frozenset(relation.group)] if relation.limit == 1 and not relation.ties else []
            return [*first, *unique_keys(relation.input)]
    return ()


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
    known, starts = equivalences(join), offsets(join.inputs)
    fixed: list[tuple[Key, tuple[Key, ...]]] = []
    for relation, start, end in zip(join.inputs, starts, starts[1:], strict=False):
        whole = frozenset(map(known.representative, range(start, end)))
        keys = (frozenset(start + c for c in key) for key in unique_keys(relation))
        fixed.append((whole, _smallest(_simplified(key, known) for key in keys)))
    combinations = islice(product(*(keys for _, keys in fixed)), _MOST)
    return [_without_determined(frozenset[int]().union(*each), fixed) for each in combinations]


def _without_determined(key: Key, fixed: list[tuple[Key, tuple[Key, ...]]]) -> Key:
    """Drop columns from `key` as long as the rest still determines one row of every input: its columns and its keys."""
    for column in sorted(key, reverse=True):
        rest = key - {column}
        if key <= _determined(rest, fixed):
            key = rest
    return key


def _determined(columns: Key, fixed: list[tuple[Key, tuple[Key, ...]]]) -> Key:
    """The columns whose values follow from those of `columns`: a key of an input fixes all of its columns."""
    for whole, keys in fixed:
        if not whole <= columns and any(key <= columns for key in keys):
            return _determined(columns | whole, fixed)
    return columns
