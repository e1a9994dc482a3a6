"""A node of the dataflow: an operator, where its input comes from, and what it has done so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ivm.operators.operator import Kept, Operator
from ivm.trace.columns.column import Ints
from ivm.trace.delta import Delta


class Owners(dict["Node | str", None]):
    """Who owns the node of a number, which is among the `loose` ones while nobody does."""

    __slots__ = ("_loose", "_number")

    def __init__(self, number: int, loose: set[int]) -> None:
        super().__init__()
        self._number, self._loose = number, loose
        loose.add(number)

    def __setitem__(self, owner: Node | str, _: None) -> None:
        super().__setitem__(owner, None)
        self._loose.discard(self._number)

    def __delitem__(self, owner: Node | str) -> None:
        super().__delitem__(owner)
        self._note()

    def pop(self, owner: Node | str, *default: None) -> None:  # type: ignore[override]
        """It does not own it any more. It may be interrupted, and called again."""
        super().pop(owner, *default)
        self._note()

    def _note(self) -> None:
        if not self:
            self._loose.add(self._number)


class Counts:
    """What machine code counts for a node: how many updates came in, and for how many nanoseconds it was at them."""

    __slots__ = ("address", "words")

    def __init__(self) -> None:
        self.words: Ints = np.zeros(2, np.int64)
        self.address: int = self.words.ctypes.data


@dataclass(slots=True, eq=False)
class Node:
    """`owners` are the nodes that read this one or wait for it, and the names of views; without any it is removed.

    `waits` are nodes that must step before this one although no delta flows from them (the arrangements of a join).
    `number` is greater than that of any node made before; `readers` are the nodes that have this one as an input.
    `level`: the step of a commit in which all that it reads is there; above 1 where it comes from other shards.
    `depth`: greater than that of all that it reads or waits for. The updates and the nanoseconds spent in the operator
    are counted from its making on: `taken` and `spent` are those of its steps, and `ahead` those of walks that were
    begun ahead, and of which nothing came.
    """

    label: str
    operator: Operator
    inputs: tuple[Node, ...] = ()
    waits: tuple[Node, ...] = ()
    number: int = 0
    level: int = 1
    depth: int = 1
    owners: dict[Node | str, None] = field(default_factory=dict, repr=False)
    readers: list[Node] = field(default_factory=list, repr=False)
    updates_out: int = 0
    taken: int = 0
    spent: int = 0
    ahead: Counts = field(default_factory=Counts, repr=False)

    @property
    def updates_in(self) -> int:
        """How many updates have come in."""
        return self.taken + self.ahead.words.item(0)

    @property
    def nanoseconds(self) -> int:
        """How long the operator was at them."""
        return self.spent + self.ahead.words.item(1)

    def contents(self, time: int, read: Callable[[int], None]) -> Iterator[Delta]:
        """The node's output as of `time`, the present, in chunks of bounded size, as `Operator.contents` gives it.

        Commits may come between two chunks. `read` is told the rows of each where they are kept: in tables, views and
        operators with state.
        """
        contents = self.operator.contents([partial(node.contents, time, read) for node in self.inputs], time)
        return _counted(contents, read) if isinstance(self.operator, Kept) else contents


def _counted(contents: Iterator[Delta], read: Callable[[int], None]) -> Iterator[Delta]:
    for delta in contents:
        read(len(delta))
        yield delta
