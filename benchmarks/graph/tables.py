"""The tables of each kind of graph, made by seed: rows that stay, rows that may change, what is there at first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ivm.benchmarks.graph import code, graphs
from ivm.benchmarks.graph.graphs import Rng
from ivm.benchmarks.graph.shapes import COLUMNS, Shape

_MOST_COST = 100
_ASKED = 100
"""Queries of each kind that are there at first."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table, int64 of shape (rows, columns): those before `first` stay, of the others `there` says which
    are there at first (bool, for each of them).
    """

    rows: np.ndarray
    first: int
    there: np.ndarray


def made(shape: Shape, spare: int) -> dict[str, Rows]:
    """The tables of a graph; where edges and queries are drawn, so many `spare` ones at most may come."""
    rng = np.random.default_rng(shape.seed)
    return _MAKERS[shape.kind](shape, spare, rng)


def _drawn(draw: Callable[[int, int, Rng], np.ndarray]) -> Callable[[Shape, int, Rng], dict[str, Rows]]:
    def tables(shape: Shape, spare: int, rng: Rng) -> dict[str, Rows]:
        count = round(shape.nodes * shape.degree)
        edges = _changing(draw(shape.nodes, count + min(spare, count), rng), count)
        return _of_edges(edges, rng) | _asked(shape.nodes, spare, rng)

    return tables


def _grid(shape: Shape, spare: int, rng: Rng) -> dict[str, Rows]:
    edges = graphs.grid(max(2, round(shape.nodes**0.5)))
    return _of_edges(_changing(edges, len(edges)), rng)


def _tree(shape: Shape, spare: int, rng: Rng) -> dict[str, Rows]:
    edges = graphs.tree(shape.nodes, rng)
    return _of_edges(_changing(edges, len(edges)), rng)


def _chain(shape: Shape, spare: int, rng: Rng) -> dict[str, Rows]:
    edges, more = graphs.chain(shape.nodes), graphs.shortcuts(shape.nodes, 16)
    return _of_edges(Rows(np.concatenate([edges, more]), len(edges), np.zeros(len(more), bool)), rng)


def _code(shape: Shape, spare: int, rng: Rng) -> dict[str, Rows]:
    found = {}
    for name, share in code.SHARES.items():
        rows = code.statements(shape.nodes, name, share, rng)
        found[name] = _changing(rows, max(1, len(rows) * 9 // 10))
    return found


def _of_edges(edges: Rows, rng: Rng) -> dict[str, Rows]:
    """The edges, the same with costs, and as roots the source of the first."""
    costs = rng.integers(1, _MOST_COST + 1, (len(edges.rows), 1))
    costly = Rows(np.concatenate([edges.rows, costs], axis=1), edges.first, edges.there)
    return {"e": edges, "w": costly, "roots": _staying(edges.rows[:1, :1])}


def _asked(nodes: int, spare: int, rng: Rng) -> dict[str, Rows]:
    """Queries: nodes whose surroundings are asked for, pairs of nodes whose distance is."""
    names = ("asked2", "asked3", "asked4")
    draw = {name: rng.integers(0, nodes, (_ASKED + spare, len(COLUMNS[name]))) for name in names}
    found = {name: rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])] for name, rows in draw.items()}
    return {name: _changing(rows, min(_ASKED, len(rows))) for name, rows in found.items()}


def _changing(rows: np.ndarray, count: int) -> Rows:
    """Rows that may all change, of which the first `count` are there."""
    return Rows(rows, 0, np.arange(len(rows)) < count)


def _staying(rows: np.ndarray) -> Rows:
    return Rows(rows, len(rows), np.empty(0, bool))


_MAKERS: dict[str, Callable[[Shape, int, Rng], dict[str, Rows]]] = {
    "uniform": _drawn(graphs.uniform),
    "skewed": _drawn(graphs.skewed),
    "grid": _grid,
    "tree": _tree,
    "chain": _chain,
    "code": _code,
}
