"""Window functions: which rows a change may concern, for each of them (see `ivm.kernels.windows.reach`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log2
from typing import ClassVar

from ivm.analysis.expected import Expected, appended, projected
from ivm.catalog.types import SqlType
from ivm.plan.node import Change, Names, NamesOf, Plan, PlanOver, Sizes, order_text
from ivm.sql.ir.aggregates import AGGREGATES, Reduction
from ivm.sql.ir.compared_once import compared_once
from ivm.sql.ir.rebuild import Row, row, row_of
from ivm.sql.ir.relation import Order, Relation, Window
from ivm.sql.ir.scalar import Literal, Scalar, Value
from ivm.sql.ir.text import frame_text
from ivm.sql.ir.window_function import UNFRAMED, Frame, WindowFunction

LowerMapped = Callable[[Relation, tuple[Scalar, ...]], Plan]

REACHES = {
    "near": "near the change",
    "onward": "from the change on, while values change",
    "backward": "back from the change, while values change",
    "ranked": "from the change on, while values change",
    "numbered": "from the change on, while values change",
    "behind": "all rows from the change on",
    "before": "all rows back from the change",
    "shared": "one value for the partition",
    "partition": "the partition is read anew",
}
"""What each reach says of the rows that a change may concern."""
_PARTITION = ("percent_rank", "cume_dist", "ntile")
_FAR = 1 << 40
"""How far a function looks that looks at all rows."""


@dataclass(frozen=True)
class WindowFunctionPlan:
    """One window function over column `argument` of the input (None: of the row's place alone).

    lead is a lag of negative `number`, first_value the first nth_value. `reach` says which rows a change may concern,
    `before` and `after` how many rows, or groups of peers, the function looks back and ahead: see
    `ivm.kernels.windows.reach`. `bounds` are the columns with the values up to which a frame by RANGE goes, `numbered`
    the one with the number where it is another for each row, taken `number` times; of ntile it is the argument, too.
    """

    function: str
    argument: int | None
    type: SqlType
    frame: Frame
    skips_nulls: bool
    number: int
    default: Value
    reach: str
    before: int
    after: int
    bounds: tuple[int | None, int | None] = (None, None)
    numbered: int | None = None

    def text(self, names: Names) -> str:
        """The function, its frame, and the rows that a change may concern."""
        parts = [] if self.argument in (None, self.numbered) else [names[self.argument]]
        if self.function in ("lag", "ntile", "nth_value"):
            parts.append(
                str(self.number) if self.numbered is None else ("-" if self.number < 0 else "") + names[self.numbered]
            )
        nulls = " ignore nulls" if self.skips_nulls else ""
        start, end = (None if bound is None else names[bound] for bound in self.bounds)
        framed = f" over {frame_text(self.frame, (start, end)).lower()}" if self.function not in UNFRAMED else ""
        return f"{self.function}({', '.join(parts)}){nulls}{framed}: {REACHES[self.reach]}"


@compared_once
class WindowPlan(PlanOver):
    """Window functions over the first `width` columns of the input, in order by partition; the others are arguments.

    State: the input, a tree for each partition, with the functions' values and the totals of subtrees.
    """

    input: Plan
    width: int
    partition: tuple[int, ...]
    order: tuple[Order, ...]
    functions: tuple[WindowFunctionPlan, ...]
    row: Row
    state_kind: ClassVar[str | None] = "ordered"
    is_append_only = False

    def named(self, names_of: NamesOf) -> Names:
        """The input's; of functions, their place."""
        own = tuple(f"#{self.width + i}" for i in range(len(self.functions)))
        return self.input.names(names_of)[: self.width] + own

    def lines(self, names_of: NamesOf) -> list[str]:
        """Partition and order, then the functions."""
        names = self.input.names(names_of)
        by = f" by=[{', '.join(names[p] for p in self.partition)}]" if self.partition else ""
        functions = [f"    {each.text(names)}" for each in self.functions]
        return [f"window{by} order=[{order_text(self.order, names)}]", *functions]

    def expected(self, sizes: Sizes) -> Expected:
        """The input's, and what is computed."""
        return appended(projected(sizes.of(self.input), range(self.width)), len(self.row))

    def passed(self, change: Change, rate: float) -> float:
        """The rows that the functions reach get other values."""
        change.lookups += rate
        reaches = {function.reach for function in self.functions}
        if "partition" in reaches:
            change.whole[f"a whole partition of {self.input.called()}"] = None
        if change.sizes is None:
            return rate
        rows = change.partition(self.input, self.partition)
        if reaches & {"partition", "shared"}:
            met = rows
        elif reaches == {"near"}:
            by_value = any(f.bounds != (None, None) for f in self.functions)
            met = rows / 2.0 if by_value else min(rows, max(float(f.before + f.after) for f in self.functions))
        else:
            met = rows / 2.0
        change.visited += rate * (log2(1.0 + rows) + met)
        return rate * (1.0 + 2.0 * met)

    def costs(self) -> Iterator[str]:
        """Functions for which a partition is read anew."""
        for function in self.functions:
            if function.reach == "partition":
                yield f"every change of {self.input.called()} computes {function.function} anew for its whole partition"


def lower_window(window: Window, lower_mapped: LowerMapped) -> WindowPlan:
    """Arguments are computed by the MFP below, each distinct one once; plain columns are read where they stand."""
    columns = row(window.input)
    arguments = tuple(dict.fromkeys(s for f in window.functions for s in _computed(f)))
    places: dict[Scalar, int] = {column: column.index for column in columns}
    computed = [argument for argument in arguments if argument not in places]
    places.update({argument: len(columns) + i for i, argument in enumerate(computed)})
    functions = tuple(_function(f, places) for f in window.functions)
    output = row_of((*columns, *window.functions))
    below = lower_mapped(window.input, (*columns, *computed))
    return WindowPlan(below, len(columns), window.partition, window.order, functions, output)


_NUMBERS = {"ntile": 0, "lag": 1, "lead": 1, "nth_value": 1}
"""Which argument is the number of a function."""


def _number(f: WindowFunction) -> int | Scalar:
    """The number of a function, or the expression for it, which may be NULL."""
    if f.function not in _NUMBERS:
        return 1
    number = f.args[_NUMBERS[f.function]]
    return number.value if isinstance(number, Literal) and isinstance(number.value, int) else number


def _argument(f: WindowFunction) -> Scalar | None:
    """What a function is of; of ntile a number that varies, as its value is NULL where that is."""
    return None if not f.args or (f.function == "ntile" and isinstance(_number(f), int)) else f.args[0]


def _computed(f: WindowFunction) -> Iterator[Scalar]:
    """What is computed of the row below."""
    argument, number = _argument(f), _number(f)
    if argument is not None:
        yield argument
    if not isinstance(number, int):
        yield number
    yield from f.scalars[len(f.args) :]


def _function(f: WindowFunction, places: dict[Scalar, int]) -> WindowFunctionPlan:
    argument, given = _argument(f), _number(f)
    skips = f.ignore_nulls and argument is not None and argument.nullable
    numbered, number = (None, given) if isinstance(given, int) else (places[given], 1)
    function, default = f.function, _literal(f.args[2]) if f.function in ("lag", "lead") else None
    if function == "lead":
        function, number = "lag", -number
    elif function == "first_value":
        function = "nth_value"
    start, end = (None if bound is None else places[bound] for bound in f.bounds)
    by_value, varies = (start, end) != (None, None), numbered is not None
    reach, before, after = _reach(function, f.frame, number, varies, skips, by_value)
    return WindowFunctionPlan(
        function, None if argument is None else places[argument], f.type, f.frame, skips, number, default,
        reach, before, after, (start, end), numbered,
    )  # fmt: skip


def _literal(scalar: Scalar) -> int | float | bool | str | None:
    assert isinstance(scalar, Literal), "the binder lets literals pass only"
    return scalar.value


def _reach(function: str, frame: Frame, number: int, varies: bool, skips: bool, by_value: bool) -> tuple[str, int, int]:
    """The reach, and how many rows or groups a function looks back and ahead, where that is bounded."""
    if function in _PARTITION:
        return "partition", 0, 0
    if function in ("rank", "dense_rank"):
        return "ranked", 0, 0
    if function == "row_number":
        return "onward", 0, 0
    if function == "lag":
        return ("partition", 0, 0) if varies else ("near", max(number, 0), max(-number, 0))
    start, end = frame.start, frame.end
    of_each = varies or (bool(frame.exclude) and (frame.is_whole or not _is_sum(function)))
    by_count = skips and number > 1 and not frame.is_whole
    if (start is None or end is None) and (of_each or by_count):
        return _reach_of_each(frame)
    if start is None and end is None:
        return "shared", 0, 0
    if start is None:
        assert end is not None, "not both are unbounded"
        near = function == "last_value" and not skips
        numbered = function == "nth_value" and not skips
        return "near" if near else "numbered" if numbered else "onward", max(-end, 0), max(end, 0)
    if end is None:
        if function == "nth_value" and number == 1 and not skips and (start or by_value):
            return "near", max(-start, 0), max(start, 0)
        if function != "nth_value" or skips or (frame.peers and number == 1):
            return "backward", max(-start, 0), max(start, 0)
        return ("partition", 0, 0) if frame.peers else ("near", max(-start, 0), max(start, 0) + number - 1)
    return "near", max(-start, 0), max(end, 0)


def _is_sum(function: str) -> bool:
    return function in AGGREGATES and AGGREGATES[function].reduction is Reduction.ACCUMULABLE


def _reach_of_each(frame: Frame) -> tuple[str, int, int]:
    """The reach where rows on one side of a change are concerned whatever becomes of the others."""
    if frame.is_whole:
        return "partition", 0, 0
    return ("behind", _FAR, max(frame.end or 0, 0)) if frame.start is None else ("before", max(-frame.start, 0), _FAR)
