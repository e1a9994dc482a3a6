"""Window functions of the model: every partition sorted, every frame read for every row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.relation import Order, Window
from ivm.sql.ir.scalar import Literal, Scalar, Value
from ivm.sql.ir.window_function import WindowFunction
from tests.model.aggregates import aggregate
from tests.model.scalar import value_of
from tests.model.values import same, sort_key

Row = tuple[Value, ...]
Bag = Counter[Row]


def windows(window: Window, bag: Bag) -> Bag:
    """The rows of `bag`, whose multiplicities are positive, each with the values of the functions."""
    partitions: dict[Row, list[Row]] = {}
    for row, n in bag.items():
        partitions.setdefault(tuple(row[c] for c in window.partition), []).extend([row] * n)
    result: Bag = Counter()
    for rows in partitions.values():
        _sort(rows, window.order)
        groups = _groups(rows, window.order)
        for at, row in enumerate(rows):
            result[row + tuple(_value(f, rows, at, window.order, groups) for f in window.functions)] += 1
    return result


def _sort(rows: list[Row], order: Sequence[Order]) -> None:
    """By `order`, then by all columns, ascending, NULLs last."""
    rows.sort(key=lambda row: [(value is None, _key(value)) for value in row])
    for term in reversed(order):
        rows.sort(key=lambda row, c=term.column: _key(row[c]), reverse=term.descending)  # type: ignore[misc]
        rows.sort(key=lambda row, o=term: (row[o.column] is None) != o.nulls_first)  # type: ignore[misc]


def _key(value: Value) -> Any:
    return (0,) if value is None else (1, sort_key(value))


def _groups(rows: list[Row], order: Sequence[Order]) -> list[int]:
    """The number of each row's group: of those that ORDER BY does not tell from it."""
    numbers = [0]
    for before, row in pairwise(rows):
        numbers.append(numbers[-1] + (not all(_same(before[o.column], row[o.column]) for o in order)))
    return numbers


def _same(left: Value, right: Value) -> bool:
    return (left is None and right is None) or (left is not None and right is not None and same(left, right))


def _framed(f: WindowFunction, rows: list[Row], at: int, order: Sequence[Order], groups: list[int]) -> list[Row]:
    frame = f.frame
    places = groups if frame.peers else range(len(rows))

    def is_within(i: int, offset: int | None, bound: Scalar | None, sign: int) -> bool:
        if offset is None:
            return True
        if bound is not None:
            return sign * _compared(rows[i][order[0].column], value_of(bound, rows[at]), order[0]) >= 0
        return sign * (places[i] - places[at] - offset) >= 0

    def is_left_out(i: int) -> bool:
        peer = groups[i] == groups[at]
        return {"": False, "current row": i == at, "group": peer, "ties": peer and i != at}[frame.exclude]

    low, high = f.bounds
    inside = (i for i in range(len(rows)) if is_within(i, frame.start, low, 1) and is_within(i, frame.end, high, -1))
    return [rows[i] for i in inside if not is_left_out(i)]


def _compared(left: Value, right: Value, term: Order) -> int:
    """-1, 0 or 1 as a value comes before, with or after another in the order of a term."""
    if _same(left, right):
        return 0
    if left is None or right is None:
        return -1 if (left is None) == term.nulls_first else 1
    return -1 if (sort_key(left) < sort_key(right)) != term.descending else 1


def _value(f: WindowFunction, rows: list[Row], at: int, order: Sequence[Order], groups: list[int]) -> Value:
    first = groups.index(groups[at])
    match f.function:
        case "row_number":
            return at + 1
        case "rank":
            return first + 1
        case "dense_rank":
            return groups[at] + 1
        case "percent_rank":
            return first / (len(rows) - 1) if len(rows) > 1 else 0.0
        case "cume_dist":
            return (first + groups.count(groups[at])) / len(rows)
        case "ntile":
            tiles = _number(f, 0, rows[at])
            return None if tiles is None or tiles < 1 else _tile(at, len(rows), tiles)
        case "lag":
            return _shifted(f, rows[:at][::-1], rows[at + 1 :], rows[at])
        case "lead":
            return _shifted(f, rows[at + 1 :], rows[:at][::-1], rows[at])
    frame = _framed(f, rows, at, order, groups)
    if f.function in ("first_value", "last_value", "nth_value"):
        values = _values(f, frame)
        if f.function == "nth_value":
            number = _number(f, 1, rows[at])
            return values[number - 1] if number is not None and 1 <= number <= len(values) else None
        return (values[0] if f.function == "first_value" else values[-1]) if values else None
    arg = f.args[0] if f.args else None
    weighted = [(None if arg is None else value_of(arg, row), 1) for row in frame]
    return aggregate(Aggregate(f.function, arg, f.type), weighted)


def _values(f: WindowFunction, rows: list[Row]) -> list[Value]:
    values = [value_of(f.args[0], row) for row in rows]
    return [v for v in values if v is not None] if f.ignore_nulls else values


def _shifted(f: WindowFunction, others: list[Row], behind: list[Row], row: Row) -> Value:
    offset, default = _number(f, 1, row), f.args[2]
    if offset is None:
        return None
    if offset == 0:
        return value_of(f.args[0], row)
    values, offset = _values(f, others if offset > 0 else behind), abs(offset)
    assert isinstance(default, Literal)
    return values[offset - 1] if len(values) >= offset else default.value


def _tile(at: int, rows: int, tiles: int) -> int:
    ends = [rows // tiles + (1 if tile < rows % tiles else 0) for tile in range(min(tiles, rows))]
    for tile, size in enumerate(ends, 1):
        if at < size:
            return tile
        at -= size
    raise AssertionError("every row is in a tile")


def _number(f: WindowFunction, argument: int, row: Row) -> int | None:
    number = value_of(f.args[argument], row)
    assert number is None or isinstance(number, int)
    return number
