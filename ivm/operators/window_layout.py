"""Where everything of a window operator lies in the nodes of its trees, and how values become columns again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from catalog.types import BIGINT, DOUBLE, Physical, SqlType
from ivm.kernels.groups.accumulate import COUNT, SUM_DOUBLE
from ivm.kernels.groups.finalize import finalize
from ivm.kernels.numbers.exact_float import exponent_range
from ivm.kernels.windows import reach as window_reach
from ivm.kernels.windows import values as window_values
from ivm.kernels.windows.tree import INPUT, KEY, OWN, PAYLOAD, PEERS, SHAPE, TREE, VALUES, WORDS
from ivm.kernels.windows.values import FAR
from ivm.operators.accumulable import Accumulators, AggregateSpec, overflow_error
from ivm.operators.accumulator import mask, value_words
from ivm.operators.groups import Cells
from ivm.trace.column import Column, Ints
from ivm.trace.delta import Delta
from ivm.trace.dictionary import TextDictionary
from ivm.trace.row_order import RowOrder, narrowed, ordered_words, values_of

Types = tuple[tuple[SqlType, bool], ...]

_LINKS = 3  # words of a node between its key and its arguments
_KINDS = {
    "row_number": window_values.ROW_NUMBER,
    "rank": window_values.RANK,
    "dense_rank": window_values.DENSE_RANK,
    "percent_rank": window_values.PERCENT_RANK,
    "cume_dist": window_values.CUME_DIST,
    "ntile": window_values.NTILE,
    "lag": window_values.LAG,
    "nth_value": window_values.NTH,
    "last_value": window_values.LAST,
    "min": window_values.EXTREME,
    "max": window_values.EXTREME,
}
_DOUBLES = ("percent_rank", "cume_dist")
_OF_PEERS = ("rank", "dense_rank", "percent_rank", "cume_dist")
REACHES = {
    "near": window_reach.NEAR,
    "onward": window_reach.ONWARD,
    "backward": window_reach.BACKWARD,
    "ranked": window_reach.RANKED,
    "numbered": window_reach.NUMBERED,
    "shared": window_reach.SHARED,
    "partition": window_reach.PARTITION,
}


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """One window function: `function` over column `argument` of the input, with its result's type.

    row_number, rank, dense_rank, percent_rank, cume_dist, ntile, lag (lead has a negative `number`), nth_value,
    last_value, or an aggregate. `start` and `end` are the frame's offsets, None where unbounded; with `peers` offset 0
    means them. `number` is that of lag, ntile and nth_value; `default`, in engine form, lag's. `reach`, `before` and
    `after` say which rows a change may concern: see `ivm.kernels.windows.reach`.
    """

    function: str
    argument: int | None
    type: SqlType
    start: int | None
    end: int | None
    peers: bool
    skips_nulls: bool
    number: int
    default: int | float | bool | str | None
    reach: str
    before: int
    after: int

    @property
    def is_sum(self) -> bool:
        """Whether it is computed from sums and counts."""
        return self.function not in _KINDS


@dataclass(frozen=True, slots=True)
class _Value:
    """An argument whose values are kept: its place in a node, its words (without that for NULL)."""

    at: int
    words: int


class WindowLayout:
    """The words of a node, and the kernels' plans; what depends on the width of sums of doubles changes with it.

    `types` are those of the input: the `width` columns of the row, then computed arguments.
    """

    def __init__(
        self, types: Types, width: int, order: RowOrder, terms: int, functions: Sequence[FunctionSpec]
    ) -> None:
        self.types = types
        self.width = width
        self.order = order
        self.functions = tuple(functions)
        self.kinds = np.append(order.kinds, 0)
        self._peers = sum(term.words for term in order.terms[:terms])
        self.uses_peers = any(f.peers or f.function in _OF_PEERS for f in self.functions)
        self._values = self._place_values()
        self._aggregates = self._wanted_aggregates()
        self.sums = Accumulators(tuple(self._aggregates)) if self._aggregates else None
        self.lay_out()

    @property
    def is_settled(self) -> bool:
        """Whether a row whose words change certainly changes its values: else changes are to be consolidated."""
        sums = [f for f in self.functions if f.is_sum]
        if not sums:
            return True
        if len({(f.start, f.end, f.peers) for f in sums}) > 1 or any(f.skips_nulls for f in self.functions):
            return False
        return all(f.function in ("count", "count_star", "sum") and f.type != DOUBLE for f in sums)

    def _place_values(self) -> dict[int, _Value]:
        values: dict[int, _Value] = {}
        at = len(self.kinds) + _LINKS
        for f in self.functions:
            if f.argument is not None and not f.is_sum and f.argument not in values:
                words = 2 if self.types[f.argument][0].physical is Physical.WIDE else 1
                values[f.argument] = _Value(at, words)
                at += 1 + words
        self._own = at
        return values

    def _wanted_aggregates(self) -> dict[AggregateSpec, int]:
        """The aggregates over sums, and the counts by which NULLs are skipped, each with its number."""
        wanted: dict[AggregateSpec, int] = {}
        for f in self.functions:
            if f.is_sum or f.skips_nulls:
                wanted.setdefault(self._aggregate(f), len(wanted))
        return wanted

    def _aggregate(self, f: FunctionSpec) -> AggregateSpec:
        function, type_ = (f.function, f.type) if f.is_sum else ("count", BIGINT)
        if f.argument is None:
            return AggregateSpec(function, None, None, False, type_)
        argument_type, nullable = self.types[f.argument]
        return AggregateSpec(function, f.argument, argument_type, nullable, type_)

    def lay_out(self) -> None:
        """Place what the width of sums decides."""
        fields = self.sums.fields if self.sums is not None else 0
        self.carries = np.zeros(fields, np.int64)
        for part in self.sums.parts.values() if self.sums is not None else ():
            self.carries[part.at + part.size - part.width + 1 : part.at + part.size] = 1
        at = self._own + 2 * fields
        self.extremes, at = self._place_extremes(at)
        key = len(self.kinds)
        self.shape = np.zeros(SHAPE, np.int64)
        self.shape[[KEY, PAYLOAD, OWN, TREE, VALUES]] = key, key + _LINKS, self._own, self._own + fields, at
        self.shape[[PEERS, INPUT]] = self._peers, self._own + fields - _LINKS
        self.blocks: dict[tuple[object, ...], int] = {}
        self.places: list[int] = []
        self._planned: list[FunctionSpec] = []
        rows: list[list[int]] = []
        self.words = 0
        for f in self.functions:
            block = ("sums", f.start, f.end, f.peers) if f.is_sum else (len(self.places),)
            if block not in self.blocks:
                self.blocks[block] = self.words
                rows.append(self._function_row(f, self.words, fields))
                self._planned.append(f)
                self.words += rows[-1][2]
            self.places.append(self.blocks[block])
        self.shape[WORDS] = self.words
        self.node_words = at + self.words
        self.plan = np.array(rows, np.int64).reshape(len(rows), window_reach.COLUMNS)

    def _place_extremes(self, at: int) -> tuple[Ints, int]:
        """The extremes (see `ivm.kernels.windows.tree`), and the place behind them."""
        rows: dict[tuple[int, bool], list[int]] = {}
        for f in self.functions:
            if f.function in ("min", "max") and (f.argument, f.function == "max") not in rows:
                assert f.argument is not None
                value, is_text = self._values[f.argument], self.types[f.argument][0].physical is Physical.CODE
                rows[f.argument, f.function == "max"] = [value.at, value.words, f.function == "max", is_text, at]
                at += 1 + value.words
        self._extreme_numbers = {key: number for number, key in enumerate(rows)}
        return np.array(list(rows.values()), np.int64).reshape(len(rows), 5), at

    def _function_row(self, f: FunctionSpec, at: int, fields: int) -> list[int]:
        """Its row of the kernels' plan."""
        kind, words, argument, counted = _KINDS.get(f.function, window_values.SUMS), 1, 0, -1
        if f.is_sum:
            words = fields
        elif f.argument is not None:
            value = self._values[f.argument]
            words, argument = 1 + value.words, value.at
            if kind == window_values.EXTREME:
                argument = self._extreme_numbers[f.argument, f.function == "max"]
            if f.skips_nulls and self.types[f.argument][1]:
                assert self.sums is not None
                counted = self.sums.parts[COUNT, f.argument, False].at
        start = -int(FAR) if f.start is None else f.start
        end = int(FAR) if f.end is None else f.end
        return [
            kind, at, words, argument, start, end, int(f.peers), counted, f.number, REACHES[f.reach], f.before, f.after,
        ]  # fmt: skip

    def defaults(self, dictionary: TextDictionary) -> Ints:
        """The words of the functions' defaults (functions of the plan, 3)."""
        words = np.zeros((len(self.plan), 3), np.int64)
        for row, f in zip(words, self._planned, strict=True):
            if f.default is not None:
                row[0] = 1
                row[1:] = np.resize(_words_of(f.default, f.type.physical, dictionary), 2)
        return words

    def encode(self, delta: Delta, keys: Ints) -> Ints:
        """The rows of a delta as kernels take them (n, input words), from their key words. Widens sums of doubles."""
        n = len(delta)
        rows = np.zeros((n, int(self.shape[INPUT])), np.int64)
        rows[:, : keys.shape[1]] = keys
        for argument, value in self._values.items():
            column = delta.column(argument)
            at = value.at - _LINKS
            rows[:, at] = True if column.valid is None else column.valid
            rows[:, at + 1 : at + 1 + value.words] = ordered_words(column.values, self.types[argument][0].physical)
            rows[:, at + 1 : at + 1 + value.words] *= rows[:, at : at + 1]
        if self.sums is not None:
            fields = np.zeros((n, self.sums.fields), np.int64)
            every = Cells(np.arange(n, dtype=np.int32), _NO_CELLS, _NO_CELLS, 0)
            self.sums.add(self.sums.read(delta), None, every, fields)
            rows[:, self._own - _LINKS :] = fields
        return rows

    def widened(self, delta: Delta, nodes: Ints) -> Ints | None:
        """Make sums of doubles wide enough for a delta: the nodes in their new places; None if all has room."""
        if self.sums is None or self._has_room(delta):
            return None
        old, before = self.sums.fields, self.shape.copy()
        starts = [self._own, self._own + old]
        starts += [int(before[VALUES]) + at for block, at in self.blocks.items() if block[0] == "sums"]
        blocks = [nodes[:, at : at + old] for at in starts]
        moved = self.sums.widen(self.sums.read(delta), blocks)
        if moved is None:
            return None
        plan, sum_kind = self.plan, window_values.SUMS
        self.lay_out()
        wider = np.zeros((len(nodes), self.node_words), np.int64)
        wider[:, : self._own] = nodes[:, : self._own]
        extremes = int(before[VALUES] - before[TREE]) - old
        wider[:, int(self.shape[VALUES]) - extremes : int(self.shape[VALUES])] = nodes[
            :, int(before[VALUES]) - extremes : int(before[VALUES])
        ]
        pieces = iter(moved)
        for at in (self._own, int(self.shape[TREE])):
            wider[:, at : at + self.sums.fields] = next(pieces)
        for was, now in zip(plan, self.plan, strict=True):
            to, words = int(self.shape[VALUES] + now[window_values.AT]), int(now[window_values.COUNT])
            at = int(before[VALUES] + was[window_values.AT])
            wider[:, to : to + words] = next(pieces) if was[0] == sum_kind else nodes[:, at : at + words]
        return wider

    def _has_room(self, delta: Delta) -> bool:
        """Whether sums of doubles are wide enough for the values of a delta. Cost: a pass over the doubles."""
        assert self.sums is not None
        for kind, position, _ in self.sums.parts:
            if kind == SUM_DOUBLE and position is not None:
                argument, column = self.sums.arguments[position], delta.column(position)
                valid = mask(column)
                low, high = exponent_range(value_words(column, argument), 0, valid, 0 if len(valid) else -1)
                if argument.window.widened(low, high) is not argument.window:
                    return False
        return True

    def columns(self, keys: Ints, values: Ints) -> list[Column]:
        """The output's columns from key words (n, K) and values (n, words).

        Raises NumericError if a sum does not fit its type.
        """
        found = self.order.decode(keys)
        for f, at in zip(self.functions, self.places, strict=True):
            found.append(self._sum_column(f, at, values) if f.is_sum else self._value_column(f, at, values))
        return found

    def _value_column(self, f: FunctionSpec, at: int, values: Ints) -> Column:
        physical = f.type.physical
        if f.function in _DOUBLES:
            return Column(np.ascontiguousarray(values[:, at]).view(np.float64))
        if f.argument is None:
            return Column(narrowed(np.ascontiguousarray(values[:, at]), physical))
        words = self._values[f.argument].words
        plain = narrowed(values_of(np.ascontiguousarray(values[:, at + 1 : at + 1 + words]), physical), physical)
        valid = values[:, at] != 0
        if valid.all():
            return Column(plain)
        return Column(np.where(valid[:, None] if plain.ndim == 2 else valid, plain, 0).astype(plain.dtype), valid)

    def _sum_column(self, f: FunctionSpec, at: int, values: Ints) -> Column:
        assert self.sums is not None
        o, n = self._aggregates[self._aggregate(f)], len(values)
        out, valid = np.zeros((self.sums.words, n), np.int64), np.ones((len(self._aggregates), n), np.bool_)
        fields = np.ascontiguousarray(values)
        if finalize(self.sums.outputs, o, True, fields, 0, at, out, valid, self.sums.scratch):
            raise overflow_error(self.sums.aggregates[o])
        first, words = int(self.sums.outputs[o, 8]), int(self.sums.outputs[o, 7])
        mask = None if valid[o].all() else valid[o]
        if words == 2:
            return Column(np.ascontiguousarray(out[first : first + 2].T), mask)
        physical = f.type.physical
        return Column(
            out[first].view(np.float64) if physical is Physical.FLOAT64 else narrowed(out[first], physical), mask
        )


def _words_of(value: int | float | bool | str, physical: Physical, dictionary: TextDictionary) -> Ints:
    """The words by which a value is kept."""
    if isinstance(value, str):
        return np.array([dictionary.code(value)], np.int64)
    if physical is Physical.WIDE:
        low = int(value) & (2**64 - 1)
        pair = np.array([[low - (low >> 63 << 64), int(value) >> 64]], np.int64)
        return ordered_words(pair, physical)[0]
    return ordered_words(np.array([value]), physical)[0]


_NO_CELLS = np.empty(0, np.int32)
