"""What comes back to the nodes of a loop, by the round that it is of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ivm.catalog.types import SqlType
from ivm.dataflow.node import Node
from ivm.trace.columns.column import Ints
from ivm.trace.concatenation import concat_deltas
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta


class Feedback:
    """Changes of bindings on their way to where they come back, each with its round last; at first what enters.

    If it `waits`, each comes in the pass of its round, added up with all others of the row in that round: a row that
    leads to itself would else be followed for ever by what takes it back. Where all pass groups on their way, these
    wait for the round, and all may come at once.
    """

    def __init__(self, entering: Mapping[Node, Delta], *, waits: bool) -> None:
        self._waits = waits
        self._coming: dict[int, dict[Node, list[tuple[Delta, Sequence[SqlType]]]]] = {}
        for node, delta in entering.items():
            self._put(0, node, delta, ())

    @property
    def first(self) -> int | None:
        """The first round of which something comes back."""
        return min(self._coming, default=None)

    def add(self, node: Node, delta: Delta, rounds: Ints, types: Sequence[SqlType]) -> None:
        """Different changes, of these rounds and types, which come back at a node. Cost: sorts their rounds."""
        if not len(rounds):
            return
        first = int(rounds.min())
        if not self._waits or first == rounds.max():
            self._put(first, node, delta, types)
            return
        order = np.argsort(rounds, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(rounds[order])) + 1):
            self._put(int(rounds[rows[0]]), node, delta.take(rows), types)

    def take(self, number: int) -> dict[Node, Delta]:
        """What comes back in the pass of a round."""
        given = [self._coming.pop(each, {}) for each in ([number] if self._waits else sorted(self._coming))]
        found = dict[Node, Delta]()
        for node in dict.fromkeys(node for each in given for node in each):
            parts = [part for each in given for part in each.get(node, ())]
            merged = concat_deltas([delta for delta, _ in parts])
            net = merged if merged is None or len(parts) == 1 else consolidate(merged, parts[0][1])
            if net is not None:
                found[node] = net
        return found

    def _put(self, number: int, node: Node, delta: Delta, types: Sequence[SqlType]) -> None:
        self._coming.setdefault(number, {}).setdefault(node, []).append((delta, types))
