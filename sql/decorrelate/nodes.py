"""The expressions of a node, and the outer columns that a relation reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from sql.ir.relation import (
    Apply,
    Constant,
    Filter,
    Get,
    Join,
    Map,
    Reduce,
    Relation,
    Union,
    Window,
    inputs_of,
)
from sql.ir.scalar import Outer, Scalar, walk


def scalars_of(relation: Relation) -> tuple[Scalar, ...]:
    """The expressions that stand in the node itself."""
    match relation:
        case Map():
            return relation.scalars
        case Filter() | Apply():
            return relation.predicates
        case Reduce():
            return (*relation.keys, *(scalar for aggregate in relation.aggregates for scalar in aggregate.scalars))
        case Window():
            return tuple(arg for function in relation.functions for arg in function.args)
    return ()


def with_scalars(relation: Relation, function: Callable[[Scalar], Scalar]) -> Relation:
    """The same node with `function` applied to each of its expressions; the node itself if none of them changes."""
    if all(function(scalar) == scalar for scalar in scalars_of(relation)):
        return relation
    match relation:
        case Map():
            return replace(relation, scalars=tuple(map(function, relation.scalars)))
        case Filter() | Apply():
            return replace(relation, predicates=tuple(map(function, relation.predicates)))
        case Reduce():
            aggregates = tuple(aggregate.map(function) for aggregate in relation.aggregates)
            return replace(relation, keys=tuple(map(function, relation.keys)), aggregates=aggregates)
        case Window():
            functions = tuple(replace(f, args=tuple(map(function, f.args))) for f in relation.functions)
            return replace(relation, functions=functions)
    return relation


def with_inputs(relation: Relation, inputs: tuple[Relation, ...]) -> Relation:
    """The same node over other inputs; the node itself if they are the ones that it has."""
    if all(new is old for new, old in zip(inputs, inputs_of(relation), strict=True)):
        return relation
    if isinstance(relation, Join | Union):
        return replace(relation, inputs=inputs)
    if isinstance(relation, Apply):
        return replace(relation, left=inputs[0], right=inputs[1])
    assert not isinstance(relation, Get | Constant), "a node without inputs is as it was"
    return replace(relation, input=inputs[0])


Known = dict[int, tuple[Relation, Relation]]
"""What became of each node, by its id; the node is kept so that no other takes its id."""


def map_scalars(relation: Relation, function: Callable[[Scalar], Scalar], known: Known | None = None) -> Relation:
    """`relation` with `function` applied to each expression of each node; what stands twice is visited once.

    `known` carries over what became of nodes from one relation to the next, for one and the same function.
    """
    known = {} if known is None else known

    def visit(node: Relation) -> Relation:
        if id(node) not in known:
            inputs = tuple(map(visit, inputs_of(node)))
            known[id(node)] = node, with_scalars(with_inputs(node, inputs), function)
        return known[id(node)][1]

    return visit(relation)


def relation_scalars(relation: Relation) -> Iterator[Scalar]:
    """The expressions of all nodes; those of a node that stands in several places once."""
    seen: dict[int, Relation] = {}
    waiting = [relation]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            yield from scalars_of(node)
            waiting.extend(inputs_of(node))


def outers(scalars: Iterable[Scalar], binding: int) -> frozenset[int]:
    """The columns of the outer row `binding` that the expressions read."""
    return frozenset(
        s.index for scalar in scalars for s in walk(scalar) if isinstance(s, Outer) and s.binding == binding
    )


class FreeOuters:
    """The numbers of the outer rows that relations read from outside, remembered by node."""

    def __init__(self) -> None:
        # The node is kept beside the answer, so that no other node takes its id.
        self._known: dict[int, tuple[Relation, frozenset[int]]] = {}

    def of(self, relation: Relation) -> frozenset[int]:
        """The bindings of the outer columns in `relation` whose Apply stands around it. Cost: once for each node."""
        if id(relation) not in self._known:
            self._known[id(relation)] = relation, self._found(relation)
        return self._known[id(relation)][1]

    def _found(self, relation: Relation) -> frozenset[int]:
        own = {s.binding for scalar in scalars_of(relation) for s in walk(scalar) if isinstance(s, Outer)}
        if isinstance(relation, Apply):
            return self.of(relation.left) | (self.of(relation.right) - {relation.binding}) | own
        return frozenset(own).union(*map(self.of, inputs_of(relation)))
