"""`refresh`: TPC-H's refresh functions in pairs; RF1 inserts new orders with their lineitems, RF2 deletes old ones.

A pair inserts and then deletes a thousandth of the orders, one order with its lineitems per logical time. New orders
take the keys that the specification leaves free for them: of 32 consecutive keys the generator uses 8, so that three
further sets of orders of the same size fit. Orders leave in a pseudo-random order: first all of the base, then the
new ones in the order in which they came; an order therefore exists when it is deleted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ivm.tpch.errors import GenerateError
from ivm.tpch.options import DEFAULT_PAIRS
from ivm.tpch.schema import relations
from ivm.tpch.source import ROW, Generated
from ivm.tpch.streams.plan import DELETE, FIRST_CHANGE, INSERT, Plan, RelationChanges, chance, updates

_ORDERS_PER_PAIR = 1_500  # at scale factor 1
_FREE_KEY_SETS = 3
_LINES_PER_ORDER = 4
_GOLDEN = (math.sqrt(5) - 1) / 2


def plan(source: Generated, sf: float, seed: int, pairs: int = DEFAULT_PAIRS) -> Plan:
    """`pairs` pairs of RF1 and RF2, after the base; GenerateError if new orders would need more keys than are free."""
    per_pair = max(1, round(sf * _ORDERS_PER_PAIR))
    orders = source.rows("orders")
    total = pairs * per_pair
    if total > _FREE_KEY_SETS * orders:
        most = _FREE_KEY_SETS * orders // per_pair
        raise GenerateError(f"refresh cannot have {pairs} pairs at this scale factor; at most {most}")
    refresh = _Refresh(source, seed, orders, per_pair, total)
    changes = (
        refresh.changes("orders", rows=2 * total),
        refresh.changes("lineitem", rows=2 * total * _LINES_PER_ORDER),
    )
    parameters = {"pairs": pairs, "orders_per_function": per_pair}
    return Plan(tuple(relations()), changes, FIRST_CHANGE, FIRST_CHANGE + 2 * total - 1, parameters)


@dataclass(frozen=True, slots=True)
class _Refresh:
    source: Generated
    seed: int
    orders: int
    per_pair: int
    total: int

    def changes(self, relation: str, rows: int) -> RelationChanges:
        base, new = self._pool(relation), self._new(relation)
        inserts = updates(new, relation, self._time("_new", 0), INSERT)
        deletes = updates(self._leaving(base, new), relation, self._time("_place", self.per_pair), DELETE)
        return RelationChanges(relation, inserts.unionByName(deletes), rows, in_order=False, append_only=False)

    def _time(self, place: str, offset: int) -> Column:
        pair = F.floor(F.col(place) / self.per_pair)
        return pair * (2 * self.per_pair) + F.col(place) % self.per_pair + (FIRST_CHANGE + offset)

    def _pool(self, relation: str) -> DataFrame:
        """The base rows with `_order`, the position of their order in the generator's order."""
        frame = self.source.frame(relation)
        if relation == "orders":
            return frame.withColumn("_order", F.col(ROW))
        return frame.withColumn("_order", order_of_key(F.col("l_orderkey")))

    def _new(self, relation: str) -> DataFrame:
        """The new rows with `_new`, the number of their order among the new ones.

        A new order is modelled on an old one, so that its lineitems, prices and dates fit together and its parts and
        suppliers belong together; its customer is that of another.
        """
        number = F.col("_new")
        new = self.source.spark.range(self.total).select(
            F.col("id").alias("_new"),
            chance(self.seed, "model", F.col("id"), self.orders).alias("_order"),
            chance(self.seed, "customer", F.col("id"), self.orders).alias("_buyer"),
        )
        rows = new.join(self._pool(relation), "_order").drop("_order")
        key = new_key(number, self.orders)
        if relation == "lineitem":
            return rows.withColumn("l_orderkey", key)
        buyers = self.source.frame("orders").select(F.col(ROW).alias("_buyer"), F.col("o_custkey").alias("_customer"))
        return rows.join(buyers, "_buyer").withColumn("o_custkey", F.col("_customer")).withColumn("o_orderkey", key)

    def _leaving(self, base: DataFrame, new: DataFrame) -> DataFrame:
        """The rows that are deleted with `_place`, the place of their order among the deletions."""
        multiplier, offset = permutation(self.orders, self.seed)
        place = F.col("id")
        leaving = self.source.spark.range(min(self.total, self.orders)).select(
            place.alias("_place"), ((place * multiplier + offset) % self.orders).alias("_order")
        )
        rows = base.join(leaving, "_order")
        if self.total <= self.orders:
            return rows
        later = new.where(F.col("_new") < self.total - self.orders)
        return rows.unionByName(later.withColumn("_place", F.col("_new") + self.orders), allowMissingColumns=True)


def order_of_key(key: Column) -> Column:
    """The position (from 0) in the generator's order of the base order that has this key."""
    return F.shiftleft(F.shiftright(key, 5), 3).bitwiseOR(key.bitwiseAND(F.lit(7))) - 1


def new_key(number: Column, orders: int) -> Column:
    """The key of new order `number` (from 0): that of base order `number % orders`, moved into a free set of keys."""
    position = number % orders + 1
    free_set = F.floor(number / orders) + 1
    high = F.shiftleft(F.shiftright(position, 3), 5)
    return high.bitwiseOR(F.shiftleft(free_set, 3)).bitwiseOR(position.bitwiseAND(F.lit(7)))


def permutation(count: int, seed: int) -> tuple[int, int]:
    """(a, b) such that d -> (a * d + b) mod count visits 0 .. count - 1 once each, in a scattered order."""
    multiplier = max(1, int(count * _GOLDEN) + seed % 97)
    while math.gcd(multiplier, count) != 1:
        multiplier += 1
    return multiplier, (seed * 7_919) % count
