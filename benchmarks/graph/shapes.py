"""What graphs there are: their kinds, their sizes, and the columns of their tables."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("uniform", "skewed", "grid", "tree", "chain", "code")
DRAWN = ("uniform", "skewed")
"""Those of which edges are drawn, so that they have a degree."""
COLUMNS = {
    "e": ("s", "d"),
    "w": ("s", "d", "c"),
    "roots": ("v",),
    "asked2": ("v",),
    "asked3": ("v",),
    "asked4": ("a", "b"),
    "nulls": ("v",),
    "assigns": ("target", "source"),
    "derefs": ("pointer", "v"),
    "news": ("v", "o"),
    "loads": ("target", "pointer"),
    "stores": ("pointer", "source"),
}
"""All tables, with their columns, which are BIGINT and not NULL."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What graph: its `kind`, and of about how many nodes; where edges are drawn, `degree` of them by nodes.

    On disk and in reports it is called by its name.
    """

    kind: str
    nodes: int
    degree: float = 0.0
    seed: int = 1

    @property
    def name(self) -> str:
        """Such as uniform-1000-10-1: kind, nodes, degree, seed."""
        return f"{self.kind}-{self.nodes}-{self.degree:g}-{self.seed}"
