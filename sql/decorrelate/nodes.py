"""The expressions of a node, and the outer columns that a relation reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from sql.ir.rebuild import Known, rebuilt, scalars_of, with_scalars
from sql.ir.relation import Apply, Relation, inputs_of
from sql.ir.scalar import Outer, Scalar, walk


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
