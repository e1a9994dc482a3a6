"""What a step did to an ordered tree, to take it back."""

from __future__ import annotations

from dataclasses import dataclass

from ivm.operators.groups import frozen
from ivm.trace.column import Bools, Ints
from ivm.trace.ordered_tree import OrderedTree


@dataclass(frozen=True, slots=True)
class OrderedBatch:
    """Keys (n, W), a mask (n, 1) of those that count, of length 0 if all do, and diffs, of length 0 if all are one."""

    keys: Ints
    valid: Bools
    diffs: Ints


def take_back(tree: OrderedTree, batch: OrderedBatch | None) -> None:
    """Take a batch, if there is one, out of the tree again. Cost: that of the batch."""
    if batch is None:
        return
    keys, diffs = batch.keys, batch.diffs
    if len(batch.valid):
        keep = batch.valid[:, 0]
        keys, diffs = keys[keep], diffs[keep] if len(diffs) else diffs
    tree.add(frozen(keys), frozen(diffs), sign=-1)
