"""Graphs made by seed: directed edges as an int64 array of shape (edges, 2), source and target, no edge twice.

Nodes are numbered from 0. Nobody points at itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_ZIPF = 1.0
_CHILDREN = (2, 7)
"""A node of a tree has 2 to 6 children."""

Rng = np.random.Generator
Draw = Callable[[int], np.ndarray]


def uniform(nodes: int, edges: int, rng: Rng) -> np.ndarray:
    """Edges between nodes drawn at random."""
    return _distinct(nodes, edges, lambda count: rng.integers(0, nodes, (count, 2)))


def skewed(nodes: int, edges: int, rng: Rng) -> np.ndarray:
    """Edges between nodes drawn by Zipf's law: a node's share of sources, and of targets, falls with its rank."""
    shares = np.cumsum(1.0 / np.arange(1, nodes + 1) ** _ZIPF)
    ranked = rng.permutation(nodes)

    def draw(count: int) -> np.ndarray:
        return ranked[np.searchsorted(shares, rng.random((count, 2)) * shares[-1])]

    return _distinct(nodes, edges, draw)


def grid(side: int) -> np.ndarray:
    """A square of `side` by `side` nodes, each of which points at the next to its right and below."""
    numbers = np.arange(side * side).reshape(side, side)
    right = np.stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()], axis=1)
    below = np.stack([numbers[:-1].ravel(), numbers[1:].ravel()], axis=1)
    return np.concatenate([right, below])


def tree(nodes: int, rng: Rng) -> np.ndarray:
    """A tree of so many nodes, filled level by level; each that is not a leaf points at 2 to 6 children."""
    children = rng.integers(*_CHILDREN, nodes)
    parents = np.repeat(np.arange(nodes), children)[: nodes - 1]
    return np.stack([parents, np.arange(1, nodes)], axis=1)


def chain(nodes: int) -> np.ndarray:
    """Each node points at the next."""
    return np.stack([np.arange(nodes - 1), np.arange(1, nodes)], axis=1)


def shortcuts(nodes: int, count: int) -> np.ndarray:
    """Edges around the middle of a chain, each of which skips two nodes more than the one before."""
    steps = np.arange(1, min(count, nodes // 2 - 1) + 1)
    return np.stack([nodes // 2 - steps, nodes // 2 + steps], axis=1)


def _distinct(nodes: int, edges: int, draw: Draw) -> np.ndarray:
    """So many different edges in the order in which they were drawn. ValueError if there are not as many."""
    if edges > nodes * (nodes - 1) // 2:
        raise ValueError(f"{edges:,} edges between {nodes:,} nodes are too many; half of all is the most")
    codes = np.empty(0, np.int64)
    while codes.size < edges:
        drawn = draw(edges - codes.size + edges // 8 + 8)
        drawn = drawn[drawn[:, 0] != drawn[:, 1]]
        codes = np.concatenate([codes, drawn[:, 0] * nodes + drawn[:, 1]])
        codes = codes[np.sort(np.unique(codes, return_index=True)[1])]
    return np.stack(np.divmod(codes[:edges], nodes), axis=1)
