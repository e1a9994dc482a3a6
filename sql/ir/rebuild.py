"""Relations taken apart and rebuilt from changed parts; what has not changed stays the very node that it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from operator import is_
from typing import Any, TypeVar

from ivm.sql.ir.relation import (
    Apply,
    Asof,
    Constant,
    Filter,
    Get,
    Join,
    LetRec,
    Map,
    RecursiveGet,
    Reduce,
    Relation,
    Typed,
    Union,
    Unnest,
    Window,
    inputs_of,
)
from ivm.sql.ir.scalar import Column, Outer, Scalar, walk

Node = TypeVar("Node", bound=Relation)

Row = tuple[Column, ...]
"""The columns of an output, in order: column i of it is `row[i]`, with type and nullability."""

Known = dict[int, tuple[Relation, Relation]]
"""What became of each node, by its id; the node is kept so that no other takes its id."""


def row(relation: Relation) -> Row:
    """The columns of a relation as expressions."""
    return row_of(relation.schema)


def row_of(parts: Iterable[Typed]) -> Row:
    """The row whose columns have the types of `parts`."""
    return tuple(Column(i, part.type, part.nullable) for i, part in enumerate(parts))


def column(relation: Relation, index: int, nullable: bool = False) -> Column:
    """Column `index` of `relation`; nullable if it is there or `nullable` says so."""
    described = relation.schema[index]
    return Column(index, described.type, nullable or described.nullable)


def scalars_of(relation: Relation) -> tuple[Scalar, ...]:
    """The expressions that stand in the node itself."""
    match relation:
        case Map():
            return relation.scalars
        case Unnest():
            return relation.lists
        case Filter() | Apply():
            return relation.predicates
        case Reduce():
            return (*relation.keys, *(scalar for aggregate in relation.aggregates for scalar in aggregate.scalars))
        case Window():
            return tuple(scalar for function in relation.functions for scalar in function.scalars)
    return ()


def with_scalars(relation: Node, function: Callable[[Scalar], Scalar]) -> Node:
    """The same node with `function` applied to each of its expressions; the node itself if none of them changes."""
    match relation:
        case Map():
            return _with(relation, scalars=tuple(map(function, relation.scalars)))
        case Unnest():
            return _with(relation, lists=tuple(map(function, relation.lists)))
        case Filter() | Apply():
            return _with(relation, predicates=tuple(map(function, relation.predicates)))
        case Reduce():
            aggregates = tuple(a.map(function) for a in relation.aggregates)
            return _with(relation, keys=tuple(map(function, relation.keys)), aggregates=aggregates)
        case Window():
            functions = tuple(f.map(function) for f in relation.functions)
            return _with(relation, functions=functions)
    return relation


def _with(relation: Relation, **parts: Any) -> Any:
    """The node with these parts; the node itself if it has them."""
    same = all(getattr(relation, name) == part for name, part in parts.items())
    return relation if same else replace(relation, **parts)


def with_inputs(relation: Node, inputs: tuple[Relation, ...]) -> Node:
    """The same node over other inputs; the node itself if they are the ones that it has."""
    before = inputs_of(relation)
    assert len(inputs) == len(before), "a node has as many inputs as it had"
    if all(map(is_, inputs, before)):
        return relation
    if isinstance(relation, Join | Union):
        return replace(relation, inputs=inputs)
    if isinstance(relation, Asof | Apply):
        return replace(relation, left=inputs[0], right=inputs[1])
    if isinstance(relation, LetRec):
        pairs = zip(relation.bindings, inputs, strict=True)
        return replace(relation, bindings=tuple(replace(binding, relation=each) for binding, each in pairs))
    assert not isinstance(relation, Get | Constant | RecursiveGet), "a node without inputs is as it was"
    return replace(relation, input=inputs[0])


def map_inputs(relation: Relation, function: Callable[[Relation], Relation]) -> Relation:
    """The same node with `function` applied to each of its inputs; the node itself if none of them changes."""
    return with_inputs(relation, tuple(map(function, inputs_of(relation))))


def settle(relation: Relation) -> None:
    """Note of a relation that it has been bound as a whole, so that what puts it into another need not look inside.

    A view on a view on a view would else be looked through again for each that is added.
    """
    relation.found["settled"] = True


def is_settled(relation: Relation) -> bool:
    """Whether `settle` was told of this very node."""
    return "settled" in relation.found


def rebuilt(
    relation: Relation,
    function: Callable[[Relation], Relation],
    known: Known | None = None,
    done: Callable[[Relation], bool] = lambda _: False,
) -> Relation:
    """`function` applied to every node, its inputs first; once to a node that stands in several places.

    A node that is `done`, and what is below it, stays as it is.
    `known` carries over what became of nodes from one relation to the next, for one and the same function.
    """
    known = {} if known is None else known

    def visit(node: Relation) -> Relation:
        if done(node):
            return node
        if id(node) not in known:
            known[id(node)] = node, function(map_inputs(node, visit))
        return known[id(node)][1]

    return visit(relation)


def offsets(inputs: Iterable[Relation]) -> tuple[int, ...]:
    """Where each input's columns begin in the concatenated row, and last its width."""
    starts = [0]
    for relation in inputs:
        starts.append(starts[-1] + len(relation.schema))
    return tuple(starts)


def map_scalars(relation: Relation, function: Callable[[Scalar], Scalar], known: Known | None = None) -> Relation:
    """`relation` with `function` applied to each expression of each node; `known` as in `rebuilt`."""
    return rebuilt(relation, lambda node: with_scalars(node, function), known)


def nodes(relation: Relation, done: Callable[[Relation], bool] = lambda _: False) -> Iterator[Relation]:
    """All nodes but those that are `done` and what is below these; one that stands in several places once."""
    seen: dict[int, Relation] = {}
    waiting = [relation]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen and not done(node):
            seen[id(node)] = node
            yield node
            waiting.extend(inputs_of(node))


def is_loop(relation: Relation) -> bool:
    """Whether this is a loop, in which names mean others than around it."""
    return isinstance(relation, LetRec)


def recursive_gets(relation: Relation) -> Iterator[RecursiveGet]:
    """What a relation reads of the loop around it; each node once."""
    return (node for node in nodes(relation, is_loop) if isinstance(node, RecursiveGet))


def relation_scalars(relation: Relation) -> Iterator[Scalar]:
    """The expressions of all nodes."""
    return (scalar for node in nodes(relation) for scalar in scalars_of(node))


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
