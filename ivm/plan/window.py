"""Window to plan: which rows a change may concern, for each function (see `ivm.kernels.windows.reach`)."""

from __future__ import annotations

from collections.abc import Callable

from ivm.plan.mfp import row_of, row_of_relation
from ivm.plan.nodes import Plan, WindowFunctionPlan, WindowPlan
from sql.ir.relation import Frame, Relation, Window, WindowFunction
from sql.ir.scalar import Literal, Scalar

LowerMapped = Callable[[Relation, tuple[Scalar, ...]], Plan]

REACHES = {
    "near": "near the change",
    "onward": "from the change on, while values change",
    "backward": "back from the change, while values change",
    "ranked": "from the change on, while values change",
    "numbered": "from the change on, while values change",
    "shared": "one value for the partition",
    "partition": "the partition is read anew",
}
"""What each reach says of the rows that a change may concern."""
_PARTITION = ("percent_rank", "cume_dist", "ntile")


def lower_window(window: Window, lower_mapped: LowerMapped) -> WindowPlan:
    """Arguments are computed by the MFP below, each distinct one once; plain columns are read where they stand."""
    row = row_of_relation(window.input)
    arguments = tuple(dict.fromkeys(f.args[0] for f in window.functions if _has_argument(f)))
    places: dict[Scalar, int] = {column: column.index for column in row}
    computed = [argument for argument in arguments if argument not in places]
    places.update({argument: len(row) + i for i, argument in enumerate(computed)})
    functions = tuple(_function(f, places) for f in window.functions)
    output = row_of((*row, *window.functions))  # type: ignore[arg-type]
    return WindowPlan(
        lower_mapped(window.input, (*row, *computed)), len(row), window.partition, window.order, functions, output
    )


def _has_argument(f: WindowFunction) -> bool:
    return bool(f.args) and f.function != "ntile"


def _function(f: WindowFunction, places: dict[Scalar, int]) -> WindowFunctionPlan:
    argument = f.args[0] if _has_argument(f) else None
    skips = f.ignore_nulls and argument is not None and argument.nullable
    function, frame, number, default = f.function, f.frame, 0, None
    if function in ("lag", "lead"):
        number = _integer(f.args[1]) * (1 if function == "lag" else -1)
        function, default = "lag", _literal(f.args[2])
    elif function == "ntile":
        number = _integer(f.args[0])
    elif function in ("first_value", "nth_value"):
        number = 1 if function == "first_value" else _integer(f.args[1])
        function = "nth_value"
    reach, before, after = _reach(function, frame, number, skips)
    return WindowFunctionPlan(
        function, None if argument is None else places[argument], f.type, f.nullable, frame, skips, number, default,
        reach, before, after,
    )  # fmt: skip


def _integer(scalar: Scalar) -> int:
    value = _literal(scalar)
    assert isinstance(value, int), "the binder lets integer literals pass only"
    return value


def _literal(scalar: Scalar) -> int | float | bool | str | None:
    assert isinstance(scalar, Literal), "the binder lets literals pass only"
    return scalar.value


def _reach(function: str, frame: Frame, number: int, skips: bool) -> tuple[str, int, int]:
    """The reach, and how many rows a function looks back and ahead, where that is bounded."""
    if function in _PARTITION:
        return "partition", 0, 0
    if function in ("rank", "dense_rank"):
        return "ranked", 0, 0
    if function == "row_number":
        return "onward", 0, 0
    if function == "lag":
        return "near", max(number, 0), max(-number, 0)
    start, end = frame.start, frame.end
    if start is None and end is None:
        return "shared", 0, 0
    if start is None:
        assert end is not None, "not both are unbounded"
        near = function == "last_value" and not skips
        numbered = function == "nth_value" and not skips
        return "near" if near else "numbered" if numbered else "onward", max(-end, 0), max(end, 0)
    if end is None:
        if function != "nth_value" or skips or (frame.peers and number == 1):
            return "backward", max(-start, 0), max(start, 0)
        return ("partition", 0, 0) if frame.peers else ("near", max(-start, 0), max(start, 0) + number - 1)
    return "near", max(-start, 0), max(end, 0)
