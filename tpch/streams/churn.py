"""`churn`: updates of single attributes, of dimensions and of facts; each is a delete and an insert at one time."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from tpch.schema import relations
from tpch.source import ROW, Generated
from tpch.streams.attributes import Attribute, attributes
from tpch.streams.plan import DELETE, FIRST_CHANGE, INSERT, Plan, RelationChanges, chance, updates

_UPDATES_AT_SCALE_1 = 150_000
_FEWEST = 100


def plan(source: Generated, sf: float, seed: int, count: int | None = None) -> Plan:
    """`count` updates (default: 150,000 * sf, at least 100), one per logical time, of a base of all generated rows."""
    total = max(_FEWEST, round(sf * _UPDATES_AT_SCALE_1)) if count is None else count
    kinds = attributes()
    draws = _draws(source, seed, kinds, total)
    changed = [relation for relation in relations() if any(kind.relation == relation for kind in kinds)]
    changes = tuple(_changes(source, relation, kinds, draws, total) for relation in changed)
    return Plan(tuple(relations()), changes, FIRST_CHANGE, FIRST_CHANGE + total - 1, {"updates": total})


def _draws(source: Generated, seed: int, kinds: tuple[Attribute, ...], total: int) -> DataFrame:
    """For each update `_update` (from 0): its `_kind`, an index into `kinds`, `_pick`, for the row, and `_chance`."""
    wheel = [index for index, kind in enumerate(kinds) for _ in range(kind.weight)]
    update = F.col("id")
    turn = chance(seed, "kind", update, len(wheel))
    return source.spark.range(total).select(
        update.alias("_update"),
        F.element_at(F.array(*map(F.lit, wheel)), (turn + 1).cast("int")).alias("_kind"),
        chance(seed, "row", update, 1 << 60).alias("_pick"),
        chance(seed, "shift", update, 1 << 60).alias("_chance"),
    )


def _changes(
    source: Generated, relation: str, kinds: tuple[Attribute, ...], draws: DataFrame, total: int
) -> RelationChanges:
    mine = {index: kind for index, kind in enumerate(kinds) if kind.relation == relation}
    row = F.pmod(F.col("_pick"), F.lit(source.rows(relation)))
    drawn = draws.where(F.col("_kind").isin(list(mine))).select("_update", "_kind", "_chance", row.alias(ROW))
    sides = F.explode(F.array(F.lit(DELETE), F.lit(INSERT)))
    both = _moved(drawn, mine).join(source.frame(relation), ROW).withColumn("_side", sides)
    values: dict[str, Column] = {}
    for index, kind in mine.items():
        values |= _values(index, kind)
    frame = updates(both.withColumns(values), relation, F.col("_update") + FIRST_CHANGE, F.col("_side"))
    share = sum(kind.weight for kind in mine.values()) / sum(kind.weight for kind in kinds)
    return RelationChanges(relation, frame, round(2 * total * share), in_order=False, append_only=False)


def _moved(drawn: DataFrame, kinds: dict[int, Attribute]) -> DataFrame:
    """`_before_i` and `_after_i`: how far attribute i of the row has moved before the update and after it."""
    earlier = Window.partitionBy(ROW).orderBy("_update").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    columns: list[Column] = []
    for index, kind in kinds.items():
        own = F.when(F.col("_kind") == index, kind.shift(F.col("_chance"))).otherwise(0)
        after = F.sum(own).over(earlier)
        columns += [(after - own).alias(f"_before_{index}"), after.alias(f"_after_{index}")]
    return drawn.select("_update", ROW, *columns)


def _values(index: int, kind: Attribute) -> dict[str, Column]:
    """The attribute's value on the side of the row, and that of the column that follows it."""
    moved = F.when(F.col("_side") == DELETE, F.col(f"_before_{index}")).otherwise(F.col(f"_after_{index}"))
    old = F.col(kind.column)
    new = kind.value(F.pmod(kind.number(old) + moved, F.lit(kind.size)))
    values = {kind.column: new}
    if kind.follows is not None:
        values[kind.follows] = F.date_add(new, F.datediff(F.col(kind.follows), old))
    return values
