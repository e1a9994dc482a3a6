"""One aggregate of a `Reduce`; `ivm.sql.ir.aggregates` declares those that there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ivm.catalog.types import SqlType
from ivm.sql.ir.aggregates import AggregateOrder
from ivm.sql.ir.scalar import Literal, Scalar


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate: `function` over `arg` (None for count_star), of the rows in which none of `others` is NULL.

    count_star, count, sum, avg, min, max, stddev_samp, stddev_pop, var_samp, var_pop: NULLs are skipped.
    `type` is DuckDB's result type: count BIGINT; sum of integers HUGEINT, of DECIMAL(p,s) DECIMAL(38,s), of DOUBLE
    DOUBLE; avg and the deviations DOUBLE (avg of DECIMAL is the exact sum over the count, divided at the end).
    stddev/var take a DOUBLE argument (the binder casts), covar_pop and covar_samp (arg, others = (x,)) two of them,
    which the binder makes NULL in the same rows.

    Those that keep their values in order, each a function of the group's rows alone, however they came:

    - arg_min, arg_max (arg, others = (by,)): the value of `arg` in the row with the least (greatest) `by`; of equal
      ones the least `arg`. Rows with a NULL in either are skipped.
    - arg_min_null, arg_max_null: the same, but the value may be NULL.
    - any_value, first (arg): the first of `order`, then of `arg` ascending. any_value skips NULLs.
    - quantile_cont, quantile_disc (arg; parameters = (fraction,)): NULLs are skipped. The fraction is a DECIMAL or a
      DOUBLE in [0, 1]; with `order` descending it counts from the greatest.
    - string_agg (VARCHAR arg; parameters = (separator,)), list (arg): by `order`, then by `arg` ascending. string_agg
      skips NULLs, list keeps them.
    - product, mad, entropy, skewness, kurtosis, kurtosis_pop, bit_and, bit_or, bit_xor (arg): computed of all rows.
    - mode: the most frequent value, of equally frequent ones the least. NULLs are skipped.

    `distinct`: of each value of `arg` one only. Such, and mode, stand only above `ivm.transform.expand_distinct`.
    """

    function: str
    arg: Scalar | None
    type: SqlType
    nullable: bool = True
    distinct: bool = False
    others: tuple[Scalar, ...] = ()
    order: tuple[AggregateOrder, ...] = ()
    parameters: tuple[Literal, ...] = ()

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """All expressions over the input row: the argument, the other arguments, the order."""
        return (*(() if self.arg is None else (self.arg,)), *self.others, *(o.scalar for o in self.order))

    def map(self, function: Callable[[Scalar], Scalar]) -> Aggregate:
        """The same aggregate with `function` applied to each of its expressions."""
        return replace(
            self,
            arg=None if self.arg is None else function(self.arg),
            others=tuple(map(function, self.others)),
            order=tuple(replace(o, scalar=function(o.scalar)) for o in self.order),
        )
