"""The attributes that `churn` changes.

The values of an attribute are numbered 0 .. size - 1. A change moves the value by a shift that is not a multiple of
`size`, so that it always differs from the one before, and the value after any number of changes follows from the
first value and the sum of the shifts: no change has to be made before the next one can be computed.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

_SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
_PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
_STATUSES = ("F", "O", "P")
_FIRST_SHIPMENT, _LAST_SHIPMENT = datetime.date(1992, 1, 2), datetime.date(1998, 12, 1)
_LONGEST_DELAY = 30


@dataclass(frozen=True, slots=True)
class Attribute:
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


def _money(relation: str, column: str, low: int, high: int, weight: int) -> Attribute:
    """A DECIMAL(15,2) from `low` to `high` cents."""
    size = high - low + 1

    def number(value: Column) -> Column:
        return (value * 100).cast("bigint") - low

    def value(number: Column) -> Column:
        cents = (number + low).cast("decimal(15,0)")
        return (cents * F.lit("0.01").cast("decimal(3,2)")).cast("decimal(15,2)")

    return Attribute(relation, column, size, number, value, size - 1, weight)


def _choice(relation: str, column: str, values: tuple[str, ...], weight: int) -> Attribute:
    """One of a few texts."""
    texts = F.array(*[F.lit(text) for text in values])
    return Attribute(
        relation,
        column,
        len(values),
        lambda value: F.array_position(texts, value) - 1,
        lambda number: F.element_at(texts, (number + 1).cast("int")),
        len(values) - 1,
        weight,
    )


def _identity(value: Column) -> Column:
    return value


def attributes() -> tuple[Attribute, ...]:
    """All attributes that change; a function, since Spark's expressions need a running session."""
    first = F.lit(_FIRST_SHIPMENT)
    return (
        _money("customer", "c_acctbal", -99_999, 999_999, weight=3),
        _choice("customer", "c_mktsegment", _SEGMENTS, weight=1),
        Attribute("supplier", "s_nationkey", 25, _identity, _identity, 24, weight=1),
        _money("part", "p_retailprice", 90_000, 209_999, weight=1),
        _money("partsupp", "ps_supplycost", 100, 100_000, weight=2),
        _choice("orders", "o_orderstatus", _STATUSES, weight=3),
        _choice("orders", "o_orderpriority", _PRIORITIES, weight=1),
        Attribute(
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
