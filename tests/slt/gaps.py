"""Scripts that the engine does not pass yet, each with the reason. Empty when all is delivered."""

from __future__ import annotations

GAPS: dict[str, str] = {
    "aggregates.slt": "DISTINCT and other aggregates are being built",
    "grouping_sets.slt": "GROUPING SETS are being built",
    "scalars.slt": "more scalar functions are being built",
    "subqueries_elsewhere.slt": "subqueries are being built",
    "subqueries_where.slt": "subqueries are being built",
    "windows.slt": "window functions are being built",
}
