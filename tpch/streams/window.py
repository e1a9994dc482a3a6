"""`window`: a window of fixed length that slides over lineitem, in the generator's order."""

from __future__ import annotations

from pyspark.sql import functions as F

from ivm.tpch.schema import relations
from ivm.tpch.source import ROW, Generated
from ivm.tpch.streams.plan import DELETE, FIRST_CHANGE, INSERT, Plan, RelationChanges, updates

SLIDING = "lineitem"


def plan(source: Generated, window: int | None = None) -> Plan:
    """At each time a row of lineitem comes, and that of `window` (default: a tenth of the rows) times earlier goes."""
    rows = source.rows(SLIDING)
    width = max(1, rows // 10) if window is None else window
    sides = F.explode(F.array(F.lit(INSERT), F.lit(DELETE)))
    both = source.frame(SLIDING).withColumn("_side", sides)
    leaves = (F.col("_side") == INSERT) | (F.col(ROW) + width < rows)
    time = F.col(ROW) + FIRST_CHANGE + F.when(F.col("_side") == DELETE, width).otherwise(0)
    sliding = RelationChanges(
        SLIDING,
        updates(both.where(leaves), SLIDING, time, F.col("_side")),
        rows=2 * rows - min(width, rows),
        in_order=False,
        append_only=False,
    )
    base = tuple(relation for relation in relations() if relation != SLIDING)
    return Plan(base, (sliding,), FIRST_CHANGE, FIRST_CHANGE + rows - 1, {"window": width})
