"""`load`: every relation from empty, one record of each per logical time until it is exhausted."""

from __future__ import annotations

from pyspark.sql import functions as F

from ivm.tpch.schema import relations
from ivm.tpch.source import ROW, Generated
from ivm.tpch.streams.plan import INSERT, Plan, RelationChanges, updates


def plan(source: Generated) -> Plan:
    """Row i (from 0) of each relation, in the generator's order, is inserted at time i + 1."""
    changes = tuple(
        RelationChanges(
            relation,
            updates(source.frame(relation), relation, F.col(ROW) + 1, INSERT),
            rows=source.rows(relation),
            in_order=True,
            append_only=True,
        )
        for relation in relations()
    )
    return Plan((), changes, 1, max(change.rows for change in changes), {})
