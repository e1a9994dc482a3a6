"""A loop of which only rows with some value are read, in a column that it carries along, begins with these alone."""

from __future__ import annotations

from collections.abc import Mapping

from ivm.analysis.carried import carried
from ivm.analysis.ranges import can_raise
from ivm.sql.ir.rebuild import nodes, rebuilt
from ivm.sql.ir.relation import Filter, LetRec, Relation, inputs_of
from ivm.sql.ir.scalar import Scalar, columns_of, remap
from ivm.transform.entered import entered
from ivm.transform.rewrite import filtered


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

    def begun(part: Relation, column: int | None, is_joined: bool) -> Relation:
        return part if column is None else filtered(part, [remap(predicate, lambda _: column)])

    return entered(loop, columns, begun)
