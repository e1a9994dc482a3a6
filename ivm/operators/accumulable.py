"""Accumulable aggregates: which sums and counts they need, where each lies in a group's fields, and how they are fed.

Aggregates share accumulators: sum and avg of one column the sum, all of them the multiplicity where no value is NULL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from ivm.catalog.errors import NumericError
from ivm.catalog.types import Kind, Physical, SqlType
from ivm.kernels.groups.accumulate import (
    COUNT,
    EXTREME,
    ORDERED,
    SUM,
    SUM_DOUBLE,
    SUM_PRODUCTS,
    SUM_SQUARES,
    SUM_WIDE,
)
from ivm.kernels.groups.finalize import (
    COUNTS,
    COVAR_POP,
    COVAR_SAMP,
    EXTREMUM,
    MEAN,
    STDDEV_POP,
    STDDEV_SAMP,
    TOTAL,
    VAR_POP,
    VAR_SAMP,
    OutputRow,
)
from ivm.kernels.numbers.exact_float import exponent_range
from ivm.operators.accumulator import Accumulator, Argument, Exponents, bits, mask, move
from ivm.trace.columns.column import Array, Bools, Column, Ints
from ivm.trace.columns.segment import Scalar
from ivm.trace.keyed.group_table import Fields
from ivm.trace.ordered.row_order import Term, values_of

FUNCTIONS = {
    "count_star": COUNTS,
    "count": COUNTS,
    "sum": TOTAL,
    "avg": MEAN,
    "var_pop": VAR_POP,
    "var_samp": VAR_SAMP,
    "stddev_pop": STDDEV_POP,
    "stddev_samp": STDDEV_SAMP,
    "covar_pop": COVAR_POP,
    "covar_samp": COVAR_SAMP,
    "min": EXTREMUM,
    "max": EXTREMUM,
}
"""What makes the value of each aggregate of its fields, for those that are not `Ordered`."""
FIRST, QUANTILES, ROWS = "first", "quantiles", "rows"
_SPREADS = (VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP)
_PAIRED = (COVAR_POP, COVAR_SAMP)
_OF_DOUBLES = (SUM_DOUBLE, SUM_SQUARES, SUM_PRODUCTS)


@dataclass(frozen=True, slots=True)
class Ordered:
    """How an aggregate's rows stand: by `terms`, without those that have a NULL in a column of `required`.

    The terms name columns of the input; the argument is one of them. `form` says what is asked of the rows: the FIRST
    of them, QUANTILES, or all ROWS.
    """

    form: str
    terms: tuple[Term, ...]
    required: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """One aggregate: `function` over column `argument` of the input (None for count_star), with its result's type.

    `other`: a second column, NULL where the first is. `ordered`: how its rows stand, for those of
    `ivm.operators.ordered_aggregates`; `parameters` are Python values.
    """

    function: str
    argument: int | None
    argument_type: SqlType | None
    argument_nullable: bool
    type: SqlType
    ordered: Ordered | None = None
    parameters: tuple[object, ...] = ()
    other: int | None = None

    @property
    def is_encoded(self) -> bool:
        """Whether its value is kept as words that compare (see `ivm.trace.ordered.row_order`)."""
        return self.function in ("min", "max") or self.ordered is not None

    @property
    def may_be_null(self) -> bool:
        """Whether it may be NULL of rows that there are."""
        if self.argument is None or self.function == "count":
            return False
        return self.argument_nullable or self.ordered is not None or self.function.endswith("_samp")


class Accumulators(Fields):
    """All accumulators of a reduce, which are the fields of its groups; `plan` and `outputs` are what kernels take.

    Never changed: for doubles that its sums have no room for there is another one (`widened`), in which all other
    accumulators have the same place. `doubles`: the columns whose sums are widened for what they hold. `placed`: for
    each aggregate at which word of an output row it begins, and how many it takes. `fields`: how many a group has.
    `pauses`: whether some are not added up, but put by those who keep rows in order.
    """

    def __init__(self, aggregates: Sequence[AggregateSpec], exponents: Mapping[int, Exponents] | None = None) -> None:
        self.aggregates = tuple(aggregates)
        self.arguments: dict[int, Argument] = {}
        # By kind, column (of ORDERED: which aggregate) and what more tells it apart (see `Accumulator`).
        self.parts: dict[tuple[int, int | None, int], Accumulator] = {}
        self._part(COUNT, None)
        for index, spec in enumerate(self.aggregates):
            self._plan_aggregate(index, spec)
        for position, each in (exponents or {}).items():
            self.arguments[position] = replace(self.arguments[position], exponents=each)
        self.doubles = tuple(a for kind, a, _ in self.parts if kind == SUM_DOUBLE and a is not None)
        self._lay_out()

    def _plan_aggregate(self, index: int, spec: AggregateSpec) -> None:
        if spec.argument is None:
            return
        assert spec.argument_type is not None, "an aggregate with an argument has the argument's type"
        physical, nullable = spec.argument_type.physical, spec.argument_nullable
        if spec.ordered is not None:
            part = self._part(ORDERED, index)
            part.width, part.type = 3 if spec.type.physical is Physical.WIDE else 2, spec.type
            return
        function = FUNCTIONS[spec.function]
        for position in (spec.argument, *(() if spec.other is None else (spec.other,))):
            if position not in self.arguments:
                self.arguments[position] = Argument(len(self.arguments), physical)
        if nullable:
            self._part(COUNT, spec.argument)
        if function in (TOTAL, MEAN, *_SPREADS, *_PAIRED):
            self._part(_sum_kind(physical), spec.argument)
        if spec.other is not None:
            self._part(SUM_DOUBLE, spec.other)
            self._part(SUM_PRODUCTS, spec.argument, spec.other).other = self.arguments[spec.other].number
        if function in _SPREADS:
            self._part(SUM_SQUARES, spec.argument)
        if function == EXTREMUM:
            part = self._part(EXTREME, spec.argument, spec.function == "max")
            part.width, part.type = 3 if physical is Physical.WIDE else 2, spec.type

    def _part(self, kind: int, argument: int | None, more: int = 0) -> Accumulator:
        part = self.parts.get((kind, argument, more))
        if part is None:
            part = self.parts[kind, argument, more] = Accumulator(kind, argument, more)
            if argument is not None and kind != ORDERED:
                part.number = self.arguments[argument].number
            if kind in (SUM, SUM_WIDE):
                part.width = 2 if kind == SUM else 3
        return part

    def are_there(self, field: int, rows: Ints) -> Bools | None:
        """See `Fields.are_there`: the word before an extreme is 1 where there is one."""
        return rows[:, field - 1] != 0

    def _lay_out(self) -> None:
        """Place the fields one after the other, those that can be widened last; write down the kernels' plans."""
        at = 0
        for part in sorted(self.parts.values(), key=lambda part: part.kind in _OF_DOUBLES):
            if part.kind in _OF_DOUBLES:
                part.fit(*self._factors(part))
            part.at = at
            at += part.size
        self.fields = at
        kinds: list[SqlType | None] = [None] * at
        for part in self.parts.values():
            if part.type is not None and part.type.physical is Physical.CODE:
                kinds[part.at + 1] = part.type
        self.kinds = tuple(kinds)
        self.plan = np.array([part.row() for part in self.parts.values()], np.int64)
        rows: list[OutputRow] = []
        for index, spec in enumerate(self.aggregates):
            rows.append(self._output(index, spec, rows[-1].at + rows[-1].words if rows else 0))
        self.words = rows[-1].at + rows[-1].words if rows else 0
        self.outputs = np.array(rows, np.int64).reshape(len(rows), len(OutputRow._fields))
        self.placed = tuple((row.at, row.words, spec) for row, spec in zip(rows, self.aggregates, strict=True))
        self.pauses = any(part.kind in (EXTREME, ORDERED) for part in self.parts.values())
        widest = max((part.width for part in self.parts.values()), default=1)
        self.scratch = np.empty((1, 3 * widest + 8), np.int64)

    def _factors(self, part: Accumulator) -> tuple[Exponents, ...]:
        """Of what a sum of doubles adds products."""
        assert part.argument is not None
        first = self.arguments[part.argument].exponents
        if part.kind == SUM_PRODUCTS:
            return first, self.arguments[part.more].exponents
        return (first, first) if part.kind == SUM_SQUARES else (first,)

    def _output(self, index: int, spec: AggregateSpec, at: int) -> OutputRow:
        """The row of `outputs` for an aggregate."""
        function = EXTREMUM if spec.ordered is not None else FUNCTIONS[spec.function]
        row = OutputRow(function, 2 if spec.type.physical is Physical.WIDE else 1, at)
        if spec.argument is None:
            return row
        if spec.ordered is not None:
            part = self.parts[ORDERED, index, False]
            return row._replace(source=part.at, width=part.width, kind=EXTREME)
        assert spec.argument_type is not None
        counted = self.parts[COUNT, spec.argument, False].at if spec.argument_nullable else 0
        if function == COUNTS:
            return row._replace(source=counted, counted=counted)
        if function == EXTREMUM:
            part = self.parts[EXTREME, spec.argument, spec.function == "max"]
            return row._replace(source=part.at, width=part.width, kind=EXTREME, counted=counted)
        part = self.parts[_sum_kind(spec.argument_type.physical), spec.argument, False]
        squares = self.parts.get((SUM_SQUARES, spec.argument, False), part)
        if spec.other is not None:
            squares, other = self.parts[SUM_PRODUCTS, spec.argument, spec.other], self.parts[SUM_DOUBLE, spec.other, 0]
            row = row._replace(other=other.at, other_width=other.width)
        return row._replace(
            source=part.at,
            width=part.width,
            kind=part.kind,
            counted=counted,
            scale=_scale(part, squares, spec.argument_type),
            squares=squares.at,
            squares_width=squares.width,
            digits=spec.type.precision if spec.type.kind is Kind.DECIMAL else 0,
        )

    @property
    def saved(self) -> Scalar:
        """The exponents of doubles: column, lowest exponent, span."""
        exponents = ((column, self.arguments[column].exponents) for column in self.doubles)
        return [[column, each.base, each.span] for column, each in exponents]

    def restored(self, saved: Scalar) -> Accumulators:
        """The accumulators of the same aggregates with such exponents."""
        rows = cast(Sequence[Sequence[int]], saved)
        return Accumulators(self.aggregates, {column: Exponents(base, span) for column, base, span in rows})

    def widened(self, columns: dict[int, Column]) -> Accumulators | None:
        """Those with room for the doubles in `columns` too; None if these have, which is the rule.

        Cost: a pass over the doubles.
        """
        if not self.doubles:
            return None
        exponents: dict[int, Exponents] = {}
        for position in self.doubles:
            column, argument = columns[position], self.arguments[position]
            valid = mask(column)
            low, high = exponent_range(bits(column), 0, valid, 0 if len(valid) else -1)
            exponents[position] = argument.exponents.widened(low, high)
        if all(each is self.arguments[position].exponents for position, each in exponents.items()):
            return None
        return Accumulators(self.aggregates, exponents)

    def move(self, narrow: Accumulators, old: Ints, new: Ints) -> None:
        """Copy fields (n, narrow.fields) of the accumulators that these were widened from to (n, fields), all zero."""
        for key, part in self.parts.items():
            move(old, new, narrow.parts[key], part)

    def overflow(self, accumulator: int) -> NumericError:
        """What to say when an accumulator has left 128 bits."""
        part = list(self.parts.values())[accumulator]
        sums = (s for s in self.aggregates if s.argument == part.argument and s.function != "count")
        return overflow_error(next(sums))


def overflow_error(spec: AggregateSpec) -> NumericError:
    """What to say when a sum does not fit its type."""
    return NumericError(
        f"cannot compute {spec.function} of {spec.argument_type}: the sum does not fit {spec.type}; "
        "cast the argument to DOUBLE or scale it down"
    )


def aggregate_values(words: Ints, spec: AggregateSpec) -> Array:
    """An aggregate's values of their words (n, 1 or 2), in the physical form of its type."""
    physical = spec.type.physical
    if spec.is_encoded:
        return values_of(words, physical)
    if physical is Physical.WIDE:
        return words
    return words[:, 0].view(np.float64) if physical is Physical.FLOAT64 else words[:, 0]


def _scale(part: Accumulator, products: Accumulator, type_: SqlType) -> int:
    """The exponent of the lowest bit of what an aggregate is made of, or its digits after the point."""
    if products.kind == SUM_PRODUCTS:
        return products.base
    return part.base if part.kind == SUM_DOUBLE else type_.scale


def _sum_kind(physical: Physical) -> int:
    if physical is Physical.FLOAT64:
        return SUM_DOUBLE
    return SUM_WIDE if physical is Physical.WIDE else SUM
