"""The aggregates, each declared once: what it takes and gives, how it skips NULLs, and the kind of its reduce.

What wants to know something of an aggregate by its name asks `aggregate_of`, which raises for a name that is not here.

How to add an aggregate:

1. A line of the table below declares it.
2. A line of `sql.bind.aggregates.types` says how its arguments are bound. If it follows from other
   aggregates, that is all: bind it as these, and declare it `Reduction.REWRITTEN`.
3. An accumulable one says in `ivm.operators.accumulable` which sums it is of, and `ivm.kernels.groups.finalize` makes
   its value of them; importing `ivm.render.reduce` raises if one is missing there. An ordered one says in
   `ivm.render.reduce` how its rows stand, and in `ivm.operators.ordered_aggregates` what is made of them.
4. Cases in `tests/reduce` and `tests/slt` compare it with DuckDB.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from catalog.errors import UnsupportedError


class Reduction(Enum):
    """What is kept of a group for an aggregate."""

    ACCUMULABLE = auto()
    """Sums and counts, which a row that goes is taken out of again."""
    EXTREME = auto()
    """The rows in order; where no row ever goes, the value alone."""
    FIRST = auto()
    """The rows in order: it is a value of the first of them."""
    QUANTILE = auto()
    """The rows in order: it is the value at a place among them."""
    ROWS = auto()
    """The rows in order: its value holds those of all of them, and is written anew with each."""
    EXPANDED = auto()
    """Nothing: it stands only above `ivm.transform.expand_distinct`."""
    REWRITTEN = auto()
    """Nothing: the binder makes other aggregates of it."""


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """One aggregate, as `Aggregate.function` names it.

    Attributes:
        takes: its arguments; `gives` its result. T is any type, the same on both.
        called: the names of the calls that are of it, as the parser knows these; its own if there are none here.
        least, most: how many arguments SQL gives it.
        skips_nulls: whether rows whose argument is NULL say nothing.
        null_of_values: whether it may be NULL of a group that has values.
        repeats: whether it sees a difference between one and many of the same value.
        of_parts: which aggregate of the values that the parts of a group have is its value of the group; None if none.
        windowed: whether it may stand before OVER.
    """

    name: str
    reduction: Reduction
    takes: str
    gives: str
    least: int = 1
    most: int = 1
    skips_nulls: bool = True
    null_of_values: bool = False
    repeats: bool = True
    of_parts: str | None = None
    windowed: bool = False
    called: tuple[str, ...] = ()


_ACCUMULABLE, _EXTREME, _REWRITTEN = Reduction.ACCUMULABLE, Reduction.EXTREME, Reduction.REWRITTEN
_FIRST, _QUANTILE, _ROWS = Reduction.FIRST, Reduction.QUANTILE, Reduction.ROWS
ORDERED = frozenset((_FIRST, _QUANTILE, _ROWS))
"""Those that keep the rows in order whatever comes and goes."""


def _deviation(name: str, null_of_values: bool, *called: str) -> AggregateFunction:
    return AggregateFunction(
        name, _ACCUMULABLE, "DOUBLE", "DOUBLE", null_of_values=null_of_values, windowed=True, called=called
    )


_TABLE = (
    AggregateFunction(
        "count_star", _ACCUMULABLE, "", "BIGINT", least=0, most=0, skips_nulls=False, of_parts="sum", windowed=True
    ),
    AggregateFunction("count", _ACCUMULABLE, "T", "BIGINT", least=0, of_parts="sum", windowed=True),
    AggregateFunction("count_if", _REWRITTEN, "BOOLEAN", "HUGEINT"),  # a sum
    # HUGEINT of integers, DECIMAL(38, s) of DECIMAL(p, s); of DOUBLE it is rounded, so that sums of parts differ.
    AggregateFunction("sum", _ACCUMULABLE, "numbers", "their sum", of_parts="sum", windowed=True),
    AggregateFunction("avg", _ACCUMULABLE, "numbers", "DOUBLE", windowed=True),
    _deviation("stddev_samp", True, "stddev", "stddev_samp"),
    _deviation("stddev_pop", False),
    _deviation("var_samp", True, "variance"),
    _deviation("var_pop", False, "variance_pop"),
    AggregateFunction("min", _EXTREME, "T", "T", repeats=False, of_parts="min", windowed=True),
    AggregateFunction("max", _EXTREME, "T", "T", repeats=False, of_parts="max", windowed=True),
    AggregateFunction(
        "bool_and", _REWRITTEN, "BOOLEAN", "BOOLEAN", repeats=False, called=("logical_and",)
    ),  # the least
    AggregateFunction(
        "bool_or", _REWRITTEN, "BOOLEAN", "BOOLEAN", repeats=False, called=("logical_or",)
    ),  # the greatest
    # The first by ORDER BY; without one the least, as first is, and last is the greatest.
    AggregateFunction("any_value", _FIRST, "T", "T", repeats=False),
    AggregateFunction("first", _REWRITTEN, "T", "T", repeats=False),
    AggregateFunction("last", _REWRITTEN, "T", "T", repeats=False),
    AggregateFunction("arg_min", _FIRST, "T, U", "T", least=2, most=2, repeats=False),
    AggregateFunction("arg_max", _FIRST, "T, U", "T", least=2, most=2, repeats=False),
    AggregateFunction("mode", Reduction.EXPANDED, "T", "T", repeats=False),
    AggregateFunction("median", _REWRITTEN, "T", "T"),  # a quantile
    AggregateFunction("quantile_cont", _QUANTILE, "T, fraction", "T", least=2, most=2, called=("percentile_cont",)),
    AggregateFunction(
        "quantile_disc", _QUANTILE, "T, fraction", "T", least=2, most=2, called=("percentile_disc", "quantile")
    ),
    AggregateFunction("string_agg", _ROWS, "VARCHAR, separator", "VARCHAR", most=2, called=("group_concat",)),
    AggregateFunction("list", _ROWS, "T", "T[]", skips_nulls=False, called=("array_agg",)),
)

AGGREGATES = {each.name: each for each in _TABLE}
"""All aggregates by name."""


def aggregate_of(name: str) -> AggregateFunction:
    """The declaration of an aggregate; UnsupportedError if there is none."""
    found = AGGREGATES.get(name)
    if found is None:
        raise UnsupportedError(f"cannot aggregate by {name}: the engine has no such aggregate")
    return found
