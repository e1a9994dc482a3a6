"""What `ivm graph bench` measures: workloads, and the figures that each is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ivm.benchmarks.graph.shapes import Shape

_LEAST_NODES = 64

UNITS = {
    "fill": "s",
    "a row filled": "us",
    "mean": "ms",
    "p50": "ms",
    "p90": "ms",
    "p99": "ms",
    "max": "ms",
    "state": "B",
    "a row joined": "ns",
    "a row met": "ns",
}
"""The figures that are measured, with their units.

`a row filled` is `fill` by the rows of the view; `a row joined` the mean time of the join, and `a row met` that of the
whole commit, by the rows that its changes meet where a triangle is joined edge by edge in a fixed order. Such a join
takes 50 to 190 ns for each of these rows.
"""


@dataclass(frozen=True, slots=True)
class Workload:
    """Programs over a graph, side by side, of which each commit changes `batch` rows.

    `asked`: the most that each figure may be. `rate`: changes that are offered in a second, where a commit is all that
    is due; 0: one commit after the other. `scales`: whether the graph grows with the scale. `anchors`: what of the
    papers stands beside it.
    """

    name: str
    shape: Shape
    programs: tuple[str, ...]
    asked: Mapping[str, float]
    anchors: tuple[str, ...] = ()
    batch: int = 1
    rate: float = 0.0
    scales: bool = True

    def scaled(self, scale: float) -> Workload:
        """The same over a graph of so many times the nodes."""
        nodes = max(_LEAST_NODES, round(self.shape.nodes * scale)) if self.scales else self.shape.nodes
        return replace(self, shape=replace(self.shape, nodes=nodes))


_LARGE = Shape("uniform", 1_000_000, 10)
_PATHS = {"fill": 30.0, "p50": 1.0}
_PAIRS = {"a row filled": 1.0}
_ANALYSES = {"p50": 2.0, "max": 50.0}

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("reach", _LARGE, ("reach",), {"fill": 15.0, "p50": 0.5, "p99": 10.0}, ("livejournal",)),
        Workload(
            "components",
            _LARGE,
            ("components",),
            {"fill": 40.0, "p50": 0.6, "p99": 15.0, "state": 0.7 * 2**30},
            ("livejournal",),
        ),
        Workload("levels", _LARGE, ("levels",), _PATHS, ("livejournal",)),
        Workload("paths", _LARGE, ("paths",), _PATHS),
        Workload("closure-tree", Shape("tree", 127_009), ("closure",), _PAIRS, ("datalog",)),
        Workload("closure-grid", Shape("grid", 2_601), ("closure",), _PAIRS, ("datalog",)),
        Workload("closure-random", Shape("uniform", 1_000, 2), ("closure",), _PAIRS, ("datalog",)),
        Workload("same-generation-tree", Shape("tree", 1_500), ("same_generation",), _PAIRS, ("datalog",)),
        Workload("same-generation-grid", Shape("grid", 10_000), ("same_generation",), _PAIRS, ("datalog",)),
        Workload("same-generation-random", Shape("uniform", 1_000, 2), ("same_generation",), _PAIRS, ("datalog",)),
        Workload("dataflow", Shape("code", 200_000), ("dataflow",), _ANALYSES, ("dataflow",)),
        Workload("aliases", Shape("code", 20_000), ("aliases",), _ANALYSES, ("points-to",)),
        Workload("points-to", Shape("code", 200_000), ("points_to",), _ANALYSES, ("points-to",)),
        Workload(
            "hops",
            _LARGE,
            ("hops2", "hops3", "hops4"),
            {"p50": 1.0, "p90": 3.0, "p99": 10.0},
            ("hops",),
            rate=1_000.0,
        ),
        Workload("triangles-skewed", Shape("skewed", 125_000, 8), ("triangles",), {"a row joined": 20.0}),
        Workload("triangles-uniform", Shape("uniform", 125_000, 8), ("triangles",), {}),
        Workload("chain", Shape("chain", 4_000), ("reach",), {"p50": 5.0}, scales=False),
    )
}
"""By name."""
