"""The aggregates, each declared once: what it takes and gives, how it skips NULLs, and the kind of its reduce.

What wants to know something of an aggregate by its name asks `aggregate_of`, which raises for a name that is not here.

How to add an aggregate:

1. A line of the table below declares it.
2. A line of `ivm.sql.bind.aggregates.types` says how its arguments are bound. If it follows from other
   aggregates, it is `Reduction.REWRITTEN`: bind it as one of these, or say here how it is written with them.
3. An accumulable one says in `ivm.operators.accumulable` which sums it is of, and `ivm.kernels.groups.finalize` makes
   its value of them; importing `ivm.render.reduce` raises if one is missing there. An ordered one says in
   `ivm.render.reduce` how its rows stand, and in `ivm.operators.ordered_aggregates` what is made of them; if that is a
   number that is computed of all of them, a function of `ivm.operators.folds` is all.
4. Cases in `tests/reduce` and `tests/slt` compare it with DuckDB.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto

from ivm.catalog.errors import UnsupportedError
from ivm.sql.ir.scalar import Scalar


@dataclass(frozen=True, slots=True)
class AggregateOrder:
    """One ORDER BY term inside an aggregate."""

    scalar: Scalar
    descending: bool = False
    nulls_first: bool = False


def reverse_of(order: Iterable[AggregateOrder]) -> tuple[AggregateOrder, ...]:
    """The order from its end."""
    return tuple(replace(each, descending=not each.descending, nulls_first=not each.nulls_first) for each in order)


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
        of_nothing: its value of a group without values, where that is not NULL.
        written: of one that is REWRITTEN its parameters, and the expression over other aggregates that it is; those
            that are not given are left out of the calls in it.
        first: the same of one more argument, a number n: what it is of the n first, which is a list.
        decided: the same with an ORDER BY of its own, which decides between values that are tied: that of the aggregate
            in it ends with its terms.
        exact: whether DuckDB's value is near that of `written`, which is what views have.
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
    of_nothing: float | None = None
    written: tuple[tuple[str, ...], str] | None = None
    first: tuple[tuple[str, ...], str] | None = None
    decided: tuple[tuple[str, ...], str] | None = None
    exact: bool = False


_ACCUMULABLE, _EXTREME, _REWRITTEN = Reduction.ACCUMULABLE, Reduction.EXTREME, Reduction.REWRITTEN
_FIRST, _QUANTILE, _ROWS = Reduction.FIRST, Reduction.QUANTILE, Reduction.ROWS
ORDERED = frozenset((_FIRST, _QUANTILE, _ROWS))
"""Those that keep the rows in order whatever comes and goes."""


def _written(name: str, takes: str, gives: str, parameters: str, text: str, *called: str) -> AggregateFunction:
    names = tuple(parameters.split())
    return AggregateFunction(
        name, _REWRITTEN, takes, gives, len(names), len(names), called=called, written=(names, text)
    )  # fmt: skip


def _first(order: str, *others: str) -> tuple[tuple[str, ...], str]:
    """The n first of x in an order, of the rows in which nothing that is read is NULL."""
    known = " AND ".join(f"{name} IS NOT NULL" for name in ("x", *others))
    return ("x", *others, "n"), f"list_slice(list(x ORDER BY {order}) FILTER (WHERE {known}), 1, n)"


def _arg(name: str, order: str) -> AggregateFunction:
    decided = ("x", "y"), f"first(x ORDER BY {order}) FILTER (WHERE x IS NOT NULL AND y IS NOT NULL)"
    return AggregateFunction(
        name, _FIRST, "T, U", "T", least=2, most=2, repeats=False, first=_first(order, "y"), decided=decided
    )  # fmt: skip


def _exact(name: str, takes: str, gives: str, parameters: str, text: str) -> AggregateFunction:
    return replace(_written(name, takes, gives, parameters, text), exact=True)


def _histogram(name: str, called: str, least: int) -> AggregateFunction:
    written = ("x", "bins"), f"list_aggregate(list(x), '{called}', bins)"
    return AggregateFunction(name, _REWRITTEN, "T, T[]", "MAP(T, UBIGINT)", least, 2, written=written)


def _fold(name: str, takes: str, gives: str, *, least: int = 1, of_nothing: float | None = None) -> AggregateFunction:
    """One that is computed of all rows of a group, whatever changes; NULL of less than so many values."""
    return AggregateFunction(name, _ROWS, takes, gives, null_of_values=least > 1, of_nothing=of_nothing)


def _paired(name: str, null_of_values: bool) -> AggregateFunction:
    """One of two columns, which the binder makes NULL in the same rows."""
    return AggregateFunction(name, _ACCUMULABLE, _NUMBERS, "DOUBLE", 2, 2, null_of_values=null_of_values)


_BOTH = "CASE WHEN {1} IS NOT NULL THEN CAST({0} AS DOUBLE) END"
_X, _Y = _BOTH.format("x", "y"), _BOTH.format("y", "x")
_PAIRS = f"count({_Y})"
_NUMBERS = "DOUBLE, DOUBLE"


_MODE = ("x",), "list_aggregate(list(x) FILTER (WHERE x IS NOT NULL), 'mode')"
_JSON = "CASE WHEN x IS NULL THEN 'null' ELSE CAST(to_json(x) AS VARCHAR) END"
_ENTRY = "(CAST(json_object(CAST(k AS VARCHAR), v) AS VARCHAR))[2:-2]"


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
    AggregateFunction("avg", _ACCUMULABLE, "numbers", "DOUBLE", windowed=True, called=("avg", "mean")),
    _deviation("stddev_samp", True, "stddev", "stddev_samp"),
    _deviation("stddev_pop", False),
    _deviation("var_samp", True, "variance"),
    _deviation("var_pop", False, "variance_pop"),
    AggregateFunction("min", _EXTREME, "T", "T", repeats=False, of_parts="min", windowed=True, first=_first("x")),
    AggregateFunction("max", _EXTREME, "T", "T", repeats=False, of_parts="max", windowed=True, first=_first("x DESC")),
    AggregateFunction(
        "bool_and", _REWRITTEN, "BOOLEAN", "BOOLEAN", repeats=False, called=("logical_and",)
    ),  # the least
    AggregateFunction(
        "bool_or", _REWRITTEN, "BOOLEAN", "BOOLEAN", repeats=False, called=("logical_or",)
    ),  # the greatest
    # The first by ORDER BY; without one the least, as first is, and last is the greatest.
    AggregateFunction("any_value", _FIRST, "T", "T", repeats=False),
    AggregateFunction(
        "first", _FIRST, "T", "T", skips_nulls=False, repeats=False, called=("first", "arbitrary")
    ),  # with ORDER BY the first, or its NULL
    AggregateFunction("last", _REWRITTEN, "T", "T", repeats=False),
    _arg("arg_min", "y"),
    _arg("arg_max", "y DESC"),
    # Whose value may be NULL in the row that is least or greatest; where NULL is the greatest, or the least.
    AggregateFunction("arg_min_null", _FIRST, "T, U", "T", least=2, most=2, skips_nulls=False, repeats=False),
    AggregateFunction("arg_max_null", _FIRST, "T, U", "T", least=2, most=2, skips_nulls=False, repeats=False),
    AggregateFunction("arg_min_nulls_last", _REWRITTEN, "T, U", "T", least=2, most=2, repeats=False),
    AggregateFunction("arg_max_nulls_last", _REWRITTEN, "T, U", "T", least=2, most=2, repeats=False),
    AggregateFunction("mode", Reduction.EXPANDED, "T", "T", repeats=False, decided=_MODE),
    AggregateFunction("median", _REWRITTEN, "T", "T"),  # a quantile
    AggregateFunction("quantile_cont", _QUANTILE, "T, fraction", "T", least=2, most=2, called=("percentile_cont",)),
    AggregateFunction(
        "quantile_disc", _QUANTILE, "T, fraction", "T", least=2, most=2, called=("percentile_disc", "quantile")
    ),
    AggregateFunction("string_agg", _ROWS, "VARCHAR, separator", "VARCHAR", most=2, called=("group_concat",)),
    _fold("product", "DOUBLE", "DOUBLE"),
    _fold("mad", "numbers", "DOUBLE; DECIMAL and FLOAT of such"),
    _fold("entropy", "T", "DOUBLE", of_nothing=0.0),
    _fold("skewness", "DOUBLE", "DOUBLE", least=3),
    _fold("kurtosis", "DOUBLE", "DOUBLE", least=4),
    _fold("kurtosis_pop", "DOUBLE", "DOUBLE", least=2),
    _fold("bit_and", "integers", "T"),
    _fold("bit_or", "integers", "T"),
    _fold("bit_xor", "integers", "T"),
    _paired("covar_pop", False),
    _paired("covar_samp", True),
    _written("fsum", "DOUBLE", "DOUBLE", "x", "sum(CAST(x AS DOUBLE))", "fsum", "kahan_sum", "sumkahan"),
    _written("favg", "DOUBLE", "DOUBLE", "x", "avg(CAST(x AS DOUBLE))"),
    _written("sum_no_overflow", "T", "its sum", "x", "sum(x)"),
    _written("sem", "DOUBLE", "DOUBLE", "x", "stddev_pop(x) / sqrt(count(x))"),
    _written("geomean", "DOUBLE", "DOUBLE", "x", "exp(avg(ln(x)))", "geomean", "geometric_mean"),
    _written(
        "weighted_avg",
        "numbers",
        "DOUBLE",
        "x w",
        "sum(x * w) / sum(CASE WHEN x IS NOT NULL THEN w ELSE 0 END)",
        "weighted_avg",
        "wavg",
    ),
    # Of the rows in which both are there; the dependent one comes first.
    _written("corr", _NUMBERS, "DOUBLE", "y x", f"covar_pop(y, x) / (stddev_pop({_X}) * stddev_pop({_Y}))"),
    _written("regr_count", _NUMBERS, "UINTEGER", "y x", f"CAST({_PAIRS} AS UINTEGER)"),
    _written("regr_avgx", _NUMBERS, "DOUBLE", "y x", f"avg({_X})"),
    _written("regr_avgy", _NUMBERS, "DOUBLE", "y x", f"avg({_Y})"),
    _written("regr_sxx", _NUMBERS, "DOUBLE", "y x", f"var_pop({_X}) * {_PAIRS}"),
    _written("regr_syy", _NUMBERS, "DOUBLE", "y x", f"var_pop({_Y}) * {_PAIRS}"),
    _written("regr_sxy", _NUMBERS, "DOUBLE", "y x", f"covar_pop(y, x) * {_PAIRS}"),
    _written("regr_slope", _NUMBERS, "DOUBLE", "y x", f"covar_pop(y, x) / var_pop({_X})"),
    _written(
        "regr_intercept",
        _NUMBERS,
        "DOUBLE",
        "y x",
        f"CASE WHEN var_pop({_X}) <> 0 THEN avg({_Y}) - covar_pop(y, x) / var_pop({_X}) * avg({_X}) END",
    ),
    _written(
        "regr_r2",
        _NUMBERS,
        "DOUBLE",
        "y x",
        f"CASE WHEN var_pop({_X}) = 0 THEN NULL WHEN var_pop({_Y}) = 0 THEN 1.0 "
        f"ELSE power(covar_pop(y, x), 2) / (var_pop({_X}) * var_pop({_Y})) END",
    ),
    _written("json_group_array", "T", "JSON", "x", f"CAST('[' || string_agg({_JSON}, ',') || ']' AS JSON)"),
    _written("json_group_object", "T, U", "JSON", "k v", f"CAST('{{' || string_agg({_ENTRY}, ',') || '}}' AS JSON)"),
    _written("json_group_structure", "JSON", "JSON", "x", "json_structure(json_group_array(x)) -> 0"),
    _exact("approx_count_distinct", "T", "BIGINT", "x", "count(DISTINCT x)"),
    _exact("approx_quantile", "T, fraction", "T", "x fraction", "quantile_disc(x, fraction)"),
    # Of a value, or of a bin by its end, how often it occurs; computed of all values of the group.
    _histogram("histogram", "histogram", 1),
    _histogram("histogram_exact", "histogram_exact", 2),
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
