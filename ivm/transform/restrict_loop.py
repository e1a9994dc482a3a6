"""A loop of which only rows with some value are read, in a column that it carries along, begins with these alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ivm.analysis.carried import carried, column_below
from ivm.analysis.lifted import is_lifted
from ivm.analysis.ranges import can_raise
from ivm.transform.rewrite import filtered
from sql.ir.rebuild import map_inputs, nodes, offsets, rebuilt, with_inputs
from sql.ir.relation import Binding, Filter, Join, LetRec, RecursiveGet, Relation, inputs_of
from sql.ir.scalar import Scalar, columns_of, remap


def restrict_loop(relation: Relation) -> Relation:
    """Move predicates over one column of a loop that is read once into what its bindings are made of outside the loop,
    where each branch passes the column on unchanged: of a closure from 5 it then finds what 5 reaches.

    Each round has the rows then that passed the predicates before, so a limit of rounds is no matter; but the loop may
    end in fewer, so that an error at the limit might be lost. Needs filters that are as low as they can go.
    """
    readers: dict[tuple[object, ...], set[Relation]] = {}
    for node in nodes(relation):
        for loop in (each for each in inputs_of(node) if isinstance(each, LetRec)):
            readers.setdefault(_same(loop), set()).add(node)

    def restricted(node: Relation) -> Relation:
        if isinstance(node, Filter) and isinstance(node.input, LetRec):
            return _restricted(node, node.input) if len(readers.get(_same(node.input), ())) == 1 else node
        return node

    alone = [each for each in readers.values() if len(each) == 1 and all(isinstance(node, Filter) for node in each)]
    return rebuilt(relation, restricted) if alone else relation


def _same(loop: LetRec) -> tuple[object, ...]:
    """What the LetRecs of one loop have in common."""
    return loop.bindings, loop.limit, loop.fails_at_limit


def _restricted(reader: Filter, loop: LetRec) -> Relation:
    kept: list[Scalar] = []
    for predicate in reader.predicates:
        read = columns_of(predicate)
        columns = None if len(read) != 1 or can_raise(predicate) or loop.fails_at_limit else carried(loop, *read)
        if columns is None:
            kept.append(predicate)
        else:
            loop = _begun(loop, columns, predicate)
    return reader if len(kept) == len(reader.predicates) else filtered(loop, kept)


def _begun(loop: LetRec, columns: Mapping[str, int], predicate: Scalar) -> LetRec:
    """The loop whose bindings have, of these columns, only the values of which the predicate is true."""
    known: dict[tuple[int, int], Relation] = {}

    def within(relation: Relation, column: int) -> Relation:
        place = id(relation), column
        if place not in known:
            known[place] = made(relation, column)
        return known[place]

    def made(relation: Relation, column: int) -> Relation:
        if not is_lifted(relation):
            return filtered(relation, [remap(predicate, lambda _: column)])
        if isinstance(relation, RecursiveGet):
            return relation
        if isinstance(relation, Join):
            starts = offsets(relation.inputs)
            ends = zip(relation.inputs, starts, starts[1:], strict=False)
            owned = (within(each, column - start) if start <= column < end else each for each, start, end in ends)
            return with_inputs(relation, tuple(owned))
        below = column_below(relation, column)
        assert below is not None, "it is carried"
        return map_inputs(relation, lambda each: within(each, below))

    def binding(each: Binding) -> Binding:
        column = columns.get(each.name)
        return each if column is None else replace(each, relation=within(each.relation, column))

    return replace(loop, bindings=tuple(map(binding, loop.bindings)))
