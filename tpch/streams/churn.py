"""`churn`: updates of single attributes, of dimensions and of facts; each is a delete and an insert at one time.

The values of an attribute are numbered 0 .. size - 1. A change moves the value by a shift that is not a multiple of
`size`, so that it always differs from the one before, and the value after any number of changes follows from the
first value and the sum of the shifts: no change has to be made before the next one can be computed.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ivm.tpch.schema import relations
from ivm.tpch.source import ROW, Generated
from ivm.tpch.streams.plan import DELETE, FIRST_CHANGE, INSERT, Plan, RelationChanges, chance, updates

_UPDATES_AT_SCALE_1 = 150_000
_FEWEST = 100
_SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
_PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
_STATUSES = ("F", "O", "P")
_FIRST_SHIPMENT, _LAST_SHIPMENT = datetime.date(1992, 1, 2), datetime.date(1998, 12, 1)
_LONGEST_DELAY = 30


def plan(source: Generated, sf: float, seed: int, count: int | None = None) -> Plan:
    """`count` updates (default: 150,000 * sf, at least 100), one per logical time, of a base of all generated rows."""
    total = max(_FEWEST, round(sf * _UPDATES_AT_SCALE_1)) if count is None else count
    kinds = _attributes()
    draws = _draws(source, seed, kinds, total)
    changed = [relation for relation in relations() if any(kind.relation == relation for kind in kinds)]
    changes = tuple(_changes(source, relation, kinds, draws, total) for relation in changed)
    return Plan(tuple(relations()), changes, FIRST_CHANGE, FIRST_CHANGE + total - 1, {"updates": total})


def _draws(source: Generated, seed: int, kinds: tuple[_Attribute, ...], total: int) -> DataFrame:
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
    source: Generated, relation: str, kinds: tuple[_Attribute, ...], draws: DataFrame, total: int
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


def _moved(drawn: DataFrame, kinds: dict[int, _Attribute]) -> DataFrame:
    """`_before_i` and `_after_i`: how far attribute i of the row has moved before the update and after it."""
    earlier = Window.partitionBy(ROW).orderBy("_update").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    columns: list[Column] = []
    for index, kind in kinds.items():
        own = F.when(F.col("_kind") == index, kind.shift(F.col("_chance"))).otherwise(0)
        after = F.sum(own).over(earlier)
        columns += [(after - own).alias(f"_before_{index}"), after.alias(f"_after_{index}")]
    return drawn.select("_update", ROW, *columns)


def _values(index: int, kind: _Attribute) -> dict[str, Column]:
    """The attribute's value on the side of the row, and that of the column that follows it."""
    moved = F.when(F.col("_side") == DELETE, F.col(f"_before_{index}")).otherwise(F.col(f"_after_{index}"))
    old = F.col(kind.column)
    new = kind.value(F.pmod(kind.number(old) + moved, F.lit(kind.size)))
    values = {kind.column: new}
    if kind.follows is not None:
        values[kind.follows] = F.date_add(new, F.datediff(F.col(kind.follows), old))
    return values


@dataclass(frozen=True, slots=True)
class _Attribute:
    """A column that changes: `number` gives a value's number, `value` the value of a number below `size`.

    `reach` bounds the shifts: 1 .. reach, and -reach .. -1 if `both_ways`. `follows` is a column that keeps its
    distance in days (a receipt follows its shipment). `weight` is the attribute's share of the changes.
    """

    relation: str
    column: str
    size: int
    number: Callable[[Column], Column]
    value: Callable[[Column], Column]
    reach: int
    weight: int
    both_ways: bool = False
    follows: str | None = None

    def shift(self, chance: Column) -> Column:
        """The shift for a pseudo-random integer `chance` >= 0."""
        if not self.both_ways:
            return F.pmod(chance, F.lit(self.reach)) + 1
        signed = F.pmod(chance, F.lit(2 * self.reach)) - self.reach
        return F.when(signed >= 0, signed + 1).otherwise(signed)


def _money(relation: str, column: str, low: int, high: int, weight: int) -> _Attribute:
    """A DECIMAL(15,2) from `low` to `high` cents."""
    size = high - low + 1

    def number(value: Column) -> Column:
        return (value * 100).cast("bigint") - low

    def value(number: Column) -> Column:
        cents = (number + low).cast("decimal(15,0)")
        return (cents * F.lit("0.01").cast("decimal(3,2)")).cast("decimal(15,2)")

    return _Attribute(relation, column, size, number, value, size - 1, weight)


def _choice(relation: str, column: str, values: tuple[str, ...], weight: int) -> _Attribute:
    """One of a few texts."""
    texts = F.array(*[F.lit(text) for text in values])
    return _Attribute(
        relation,
        column,
        len(values),
        lambda value: F.array_position(texts, value) - 1,
        lambda number: F.element_at(texts, (number + 1).cast("int")),
        len(values) - 1,
        weight,
    )


def _attributes() -> tuple[_Attribute, ...]:
    """All attributes that change; a function, since Spark's expressions need a running session."""
    first = F.lit(_FIRST_SHIPMENT)
    return (
        _money("customer", "c_acctbal", -99_999, 999_999, weight=3),
        _choice("customer", "c_mktsegment", _SEGMENTS, weight=1),
        _Attribute("supplier", "s_nationkey", 25, lambda nation: nation, lambda number: number, 24, weight=1),
        _money("part", "p_retailprice", 90_000, 209_999, weight=1),
        _money("partsupp", "ps_supplycost", 100, 100_000, weight=2),
        _choice("orders", "o_orderstatus", _STATUSES, weight=3),
        _choice("orders", "o_orderpriority", _PRIORITIES, weight=1),
        _Attribute(
            "lineitem",
            "l_shipdate",
            (_LAST_SHIPMENT - _FIRST_SHIPMENT).days + 1,
            lambda value: F.datediff(value, first),
            lambda number: F.date_add(first, number.cast("int")),
            _LONGEST_DELAY,
            weight=4,
            both_ways=True,
            follows="l_receiptdate",
        ),
    )
