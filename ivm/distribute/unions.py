"""Unions over shards: what only comes may be anywhere, but what is taken away must be where it is taken away from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ivm.analysis.non_negative import is_non_negative
from ivm.distribute.exchange import Exchanges, Option
from ivm.distribute.placement import ANYWHERE, REPLICATED, SINGLE, Hashed, Placement, Replicated
from ivm.distribute.spread import targets
from ivm.sql.ir.rebuild import offsets
from ivm.sql.ir.relation import Filter, Get, Join, Map, Negate, Project, Relation, Union, Unnest
from ivm.transform.rewrite import names

OptionsOf = Callable[[Relation], Sequence[Option]]
Origin = tuple[str, int]
"""A column of a table or a view."""


def union_options(union: Union, options_of: OptionsOf, exchanges: Exchanges) -> Iterator[Option]:
    """The ways to have a union, from the ways to have its inputs."""
    yield from _with_all(union, options_of, exchanges)
    if not all(map(is_non_negative, union.inputs)):
        columns = tuple(range(len(union.schema)))
        for wider in _widened(union, options_of):
            for option in _with_all(wider, options_of, exchanges):
                placement = option.placement.moved(lambda c: c if c in columns else None)
                yield replace(option, relation=Project(option.relation, columns), placement=placement)


def _with_all(union: Union, options_of: OptionsOf, exchanges: Exchanges) -> Iterator[Option]:
    below = [options_of(each) for each in union.inputs]
    found: dict[Placement, None] = {o.placement: None for each in below for o in each}
    hashed: list[Placement] = [each for each in found if isinstance(each, Hashed)]
    if all(map(is_non_negative, union.inputs)):
        yield _united(union, [_spread(each, exchanges) for each in below], ANYWHERE)
    elif not hashed:
        hashed = list(targets(union, range(len(union.schema)), exchanges))
    for to in hashed:
        yield _united(union, [exchanges.at(each, to) for each in below], to)
    if all(any(isinstance(o.placement, Replicated) for o in each) for each in below):
        yield _united(union, [exchanges.at(each, REPLICATED) for each in below], REPLICATED)


def _united(union: Union, chosen: Sequence[Option], placement: Placement) -> Option:
    made = replace(union, inputs=tuple(each.relation for each in chosen))
    return Option(made, placement, sum(o.cost for o in chosen), max(o.level for o in chosen))


def _spread(options: Sequence[Option], exchanges: Exchanges) -> Option:
    """An option of which each row is at one shard."""
    there = [exchanges.through(o, SINGLE) if isinstance(o.placement, Replicated) else o for o in options]
    return min(there, key=lambda option: option.total)


def _widened(union: Union, options_of: OptionsOf) -> Iterator[Union]:
    """The union with one more column, by which the rows of its first input are hashed, if all inputs have it below.

    A difference such as `l - (l semi join r)` often does not keep the columns that say where the rows of `l` are. Rows
    that agree in more columns agree, so what is left of the wider one, without the column, is the same.
    """
    tried: set[Origin] = set()
    first = _below(union.inputs[0])
    for option in options_of(first):
        placement = option.placement
        if not isinstance(placement, Hashed) or len(placement.columns) != 1:
            continue
        origin = _origin(first, placement.columns[0])
        if origin is None or origin in tried:
            continue
        tried.add(origin)
        inputs = [_with_column(each, origin) for each in union.inputs]
        wide = [each for each in inputs if each is not None]
        if len(wide) == len(inputs):
            yield replace(union, inputs=tuple(wide))


def _below(relation: Relation) -> Relation:
    """What is projected."""
    while isinstance(relation, Negate | Project):
        relation = relation.input
    return relation


def _with_column(relation: Relation, origin: Origin) -> Relation | None:
    """The relation with the column of this origin behind its own; None if it is not there below."""
    match relation:
        case Negate():
            below = _with_column(relation.input, origin)
            return None if below is None else Negate(below)
        case Project():
            columns = range(len(relation.input.schema))
            found = next((c for c in columns if _origin(relation.input, c) == origin), None)
            if found is None:
                return None
            return Project(relation.input, (*relation.columns, found), (*names(relation), names(relation.input)[found]))
    return None


def _origin(relation: Relation, column: int) -> Origin | None:
    """The column of a table or a view that a column has the values of; None if it is computed."""
    match relation:
        case Get():
            return relation.name, column
        case Project():
            return _origin(relation.input, relation.columns[column])
        case Filter() | Negate():
            return _origin(relation.input, column)
        case Map() | Unnest():
            return _origin(relation.input, column) if column < len(relation.input.schema) else None
        case Join():
            starts = offsets(relation.inputs)
            number = next(i for i in range(len(relation.inputs)) if column < starts[i + 1])
            return _origin(relation.inputs[number], column - starts[number])
    return None
