"""Where everything of a window operator lies in the nodes of its trees, and how values become columns again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy

import numpy as np

from ivm.catalog.types import BIGINT, DOUBLE, Physical, SqlType
from ivm.kernels.groups.accumulate import COUNT
from ivm.kernels.groups.finalize import finalize
from ivm.kernels.windows import values as window_values
from ivm.kernels.windows.tree import INPUT, KEY, OWN, PAYLOAD, PEERS, SHAPE, TERM, TREE, VALUES, WORDS
from ivm.kernels.windows.values import FAR
from ivm.operators.accumulable import Accumulators, AggregateSpec, aggregate_values, overflow_error
from ivm.operators.group_step import fields_of
from ivm.operators.window_functions import (
    DOUBLES,
    KINDS,
    OF_PEERS,
    REACHES,
    Argument,
    Bound,
    FunctionSpec,
    words_of,
)
from ivm.trace.columns.arrow import numbers_from
from ivm.trace.columns.column import Array, Column, Ints
from ivm.trace.columns.segment import Segment, Segments, columns_to_arrow, segment_of
from ivm.trace.delta import Delta
from ivm.trace.ordered.row_order import RowOrder, values_of
from ivm.trace.ordered.window_rows import Rows
from ivm.trace.text.dictionary import Literals, TextDictionary
from ivm.trace.text.texts import Strings

Types = tuple[tuple[SqlType, bool], ...]

_SEGMENT = "window rows"
_LINKS = 3  # words of a node between its key and its arguments


class WindowLayout:
    """The words of a node, and the kernels' plans. Never changed: for wider sums of doubles there is another one.

    `types` are those of the input: the `width` columns of the row, then computed arguments.
    """

    def __init__(
        self,
        types: Types,
        width: int,
        order: RowOrder,
        terms: int,
        functions: Sequence[FunctionSpec],
        dictionary: TextDictionary,
    ) -> None:
        self.types = types
        self.width = width
        self.order = order
        self.functions = tuple(functions)
        self._dictionary = dictionary
        self._literals = Literals(dictionary)
        self.kinds = np.append(order.kinds, 0)
        self._peers = sum(term.words for term in order.terms[:terms])
        self.uses_peers = any(f.frame.asks_for_peers or f.function in OF_PEERS for f in self.functions)
        self._values, self._bounds = self._place_values()
        self._kept: list[tuple[int, Argument | Bound]] = [*self._values.items(), *self._bounds.items()]
        self._aggregates = self._wanted_aggregates()
        self.sums = Accumulators(tuple(self._aggregates)) if self._aggregates else None
        self._lay_out()
        self.defaults = self._words_of_defaults()

    def _with_sums(self, sums: Accumulators) -> WindowLayout:
        made = copy(self)
        made.sums = sums
        made._lay_out()
        return made

    @property
    def is_settled(self) -> bool:
        """Whether a row whose words change certainly changes its values: else changes are to be consolidated."""
        sums = [f for f in self.functions if f.is_sum]
        if not sums:
            return True
        if len({f.frame for f in sums}) > 1 or any(f.skips_nulls for f in self.functions):
            return False
        return all(f.function in ("count", "count_star", "sum") and f.type != DOUBLE for f in sums)

    def _place_values(self) -> tuple[dict[int, Argument], dict[int, Bound]]:
        values: dict[int, Argument] = {}
        bounds: dict[int, Bound] = {}
        at = len(self.kinds) + _LINKS
        for column in (column for f in self.functions if not f.is_sum for column in (f.argument, f.numbered)):
            if column is not None and column not in values:
                values[column] = Argument(at, self.types[column][0])
                at += values[column].words
        for column in (column for f in self.functions for column in f.frame.bounds):
            if column not in bounds:
                bounds[column] = Bound(at, self.order.terms[0])
                at += bounds[column].words
        self._own = at
        return values, bounds

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

    def _lay_out(self) -> None:
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
        self.shape[TERM] = self.order.terms[0].words if self.order.terms else 0
        self.blocks: dict[tuple[object, ...], int] = {}
        self.places: list[int] = []
        self._planned: list[FunctionSpec] = []
        rows: list[list[int]] = []
        self.words = 0
        for f in self.functions:
            block = ("sums", f.frame) if f.is_sum else (len(self.places),)
            if block not in self.blocks:
                self.blocks[block] = self.words
                rows.append(self._function_row(f, self.words, fields))
                self._planned.append(f)
                self.words += rows[-1][2]
            self.places.append(self.blocks[block])
        self.shape[WORDS] = self.words
        self.node_words = at + self.words
        self.plan = np.array(rows, np.int64).reshape(len(rows), window_values.COLUMNS)

    def _place_extremes(self, at: int) -> tuple[Ints, int]:
        """The extremes (see `ivm.kernels.windows.tree`), and the place behind them."""
        rows: dict[tuple[int, bool], list[int]] = {}
        for f in self.functions:
            if f.function in ("min", "max") and (f.argument, f.function == "max") not in rows:
                assert f.argument is not None
                value, is_text = self._values[f.argument], self.types[f.argument][0].physical is Physical.CODE
                rows[f.argument, f.function == "max"] = [value.at, value.words - 1, f.function == "max", is_text, at]
                at += value.words
        self._extreme_numbers = {key: number for number, key in enumerate(rows)}
        return np.array(list(rows.values()), np.int64).reshape(len(rows), 5), at

    def _function_row(self, f: FunctionSpec, at: int, fields: int) -> list[int]:
        """Its row of the kernels' plan."""
        kind, words, argument, counted = KINDS.get(f.function, window_values.SUMS), 1, 0, -1
        if f.is_sum:
            words = fields
        elif f.argument is not None:
            value = self._values[f.argument]
            words, argument = value.words, value.at
            if kind == window_values.EXTREME:
                argument = self._extreme_numbers[f.argument, f.function == "max"]
            if f.skips_nulls and self.types[f.argument][1]:
                assert self.sums is not None
                counted = self.sums.parts[COUNT, f.argument, False].at
        frame = f.frame
        start = -int(FAR) if frame.start is None else frame.start
        end = int(FAR) if frame.end is None else frame.end
        peers = int(frame.peers and kind != window_values.LAG)
        lower, upper = (-1 if c is None else self._bounds[c].at for c in (frame.lower, frame.upper))
        numbered = -1 if f.numbered is None else self._values[f.numbered].at
        return [
            kind, at, words, argument, start, end, peers, counted, f.number, REACHES[f.reach], f.before, f.after,
            lower, upper, frame.hole, numbered,
        ]  # fmt: skip

    def codes(self, nodes: Ints) -> Iterator[Array]:
        """The codes in nodes, those of arguments and values where there are any; see `State.codes`."""
        words = np.flatnonzero(self.kinds).tolist()
        for value in self._values.values():
            if value.type.physical is Physical.CODE:
                words.append(value.at + 1)
        for f, at in zip(self.functions, self.places, strict=True):
            if f.type.physical is Physical.CODE:
                words.append(int(self.shape[VALUES]) + at + 1)
        for word in words:
            yield nodes[:, word]

    def _words_of_defaults(self) -> Ints:
        """The words of the functions' defaults (functions of the plan, 3)."""
        words = np.zeros((len(self.plan), 3), np.int64)
        for row, f in zip(words, self._planned, strict=True):
            if f.default is not None:
                row[0] = 1
                row[1:] = np.resize(words_of(f.default, f.type.physical, self._literals), 2)
        return words

    def encode(self, delta: Delta) -> Ints:
        """The rows of a delta as kernels take them (n, input words); its sums of doubles must have room."""
        n = len(delta)
        rows = self._without_sums(self.order.encode_delta(delta), [delta.column(c) for c, _ in self._kept], n)
        if self.sums is not None:
            rows[:, self._own - _LINKS :] = fields_of(self.sums, [delta.column(c) for c in self.sums.arguments], n)
        return rows

    def _without_sums(self, keys: Ints, arguments: Iterable[Column], n: int) -> Ints:
        rows = np.zeros((n, int(self.shape[INPUT])), np.int64)
        rows[:, : keys.shape[1]] = keys
        for column, (_, value) in zip(arguments, self._kept, strict=True):
            value.encode(column, rows[:, value.at - _LINKS : value.at - _LINKS + value.words])
        return rows

    def segment(self, given: Rows, strings: Strings) -> Segment:
        """Rows, as kernels take them, with their partitions' slots and diffs, as a segment."""
        slots, rows, diffs = given
        columns = self.order.decode(rows[:, : len(self.kinds) - 1])
        for _, value in self._kept:
            columns.append(value.decode(rows[:, value.at - _LINKS : value.at - _LINKS + value.words]))
        arrays = {"slot": numbers_from(slots), **columns_to_arrow(columns, self._kept_types, strings)}
        if diffs is not None:
            arrays["diff"] = numbers_from(diffs)
        for field, words in enumerate(rows[:, self._own - _LINKS :].T):
            arrays[f"field {field}"] = numbers_from(words)
        return segment_of(_SEGMENT, arrays, {"windows": None if self.sums is None else self.sums.saved})

    def restored(self, segments: Segments) -> Iterator[tuple[WindowLayout, Rows]]:
        """The rows that the segments were made of, and the layout with which these are written."""
        layout = self
        for segment in segments.all_of(_SEGMENT):
            saved = segment.scalars["windows"]
            if layout.sums is not None and layout.sums.saved != saved:
                layout = self._with_sums(layout.sums.restored(saved))
            columns = segment.columns(self._kept_types, self._dictionary)
            keys = layout.order.encode(columns[: self.width], segment.rows)
            rows = layout._without_sums(keys, columns[self.width :], segment.rows)
            for field, words in enumerate(rows[:, self._own - _LINKS :].T):
                words[:] = segment.ints(f"field {field}")
            diffs = segment.ints("diff") if segment.has("diff") else None
            yield layout, Rows(segment.ints("slot").astype(np.int32), rows, diffs)

    @property
    def _kept_types(self) -> list[SqlType]:
        """Those of the row's columns, then of the arguments and bounds."""
        return [*(type_ for type_, _ in self.types[: self.width]), *(value.type for _, value in self._kept)]

    def widened(self, delta: Delta) -> WindowLayout | None:
        """The layout with room for the doubles of a delta too; None if this one has. Cost: a pass over the doubles."""
        if self.sums is None or not self.sums.doubles:
            return None
        sums = self.sums.widened({c: delta.column(c) for c in self.sums.arguments})
        return None if sums is None else self._with_sums(sums)

    def moved(self, narrow: WindowLayout, nodes: Ints) -> Ints:
        """Nodes of the layout that this one was widened from."""
        wide = np.zeros((len(nodes), self.node_words), np.int64)
        wide[:, : self._own] = nodes[:, : self._own]
        places = (narrow.shape[[OWN, TREE]], self.shape[[OWN, TREE]])
        for was, now in zip(*places, strict=True):
            self._move_sums(narrow, nodes[:, was:], wide[:, now:])
        extremes = int(self.extremes[:, 1].sum()) + len(self.extremes)
        was, now = narrow.shape[VALUES], self.shape[VALUES]
        wide[:, now - extremes : now] = nodes[:, was - extremes : was]
        for old, new in zip(narrow.plan, self.plan, strict=True):
            source, target = nodes[:, was + old[window_values.AT] :], wide[:, now + new[window_values.AT] :]
            if new[window_values.KIND] == window_values.SUMS:
                self._move_sums(narrow, source, target)
            else:
                words = new[window_values.COUNT]
                target[:, :words] = source[:, :words]
        return wide

    def moved_rows(self, narrow: WindowLayout, rows: Ints) -> Ints:
        """Rows, as kernels take them, of the layout that this one was widened from."""
        wide, own = np.zeros((len(rows), int(self.shape[INPUT])), np.int64), self._own - _LINKS
        wide[:, :own] = rows[:, :own]
        self._move_sums(narrow, rows[:, own:], wide[:, own:])
        return wide

    def _move_sums(self, narrow: WindowLayout, old: Ints, new: Ints) -> None:
        assert self.sums is not None, "without sums nothing is widened"
        assert narrow.sums is not None, "of the same functions"
        self.sums.move(narrow.sums, old[:, : narrow.sums.fields], new[:, : self.sums.fields])

    def columns(self, out: Ints) -> list[Column]:
        """The columns of output rows, whose first words are the row's and the values.

        Raises NumericError if a sum does not fit its type.
        """
        keys, values = out[:, : len(self.kinds) - 1], out[:, len(self.kinds) - 1 :][:, : self.words]
        found = self.order.decode(keys)
        for f, at in zip(self.functions, self.places, strict=True):
            found.append(self._sum_column(f, at, values) if f.is_sum else self._value_column(f, at, values))
        return found

    def _value_column(self, f: FunctionSpec, at: int, values: Ints) -> Column:
        physical = f.type.physical
        if f.function in DOUBLES:
            return Column(np.ascontiguousarray(values[:, at]).view(np.float64))
        if f.argument is None:
            return Column(values_of(np.ascontiguousarray(values[:, at : at + 1]), physical))
        value = self._values[f.argument]
        return value.decode(values[:, at : at + value.words])

    def _sum_column(self, f: FunctionSpec, at: int, values: Ints) -> Column:
        assert self.sums is not None
        o, n = self._aggregates[self._aggregate(f)], len(values)
        out, valid = np.zeros((self.sums.words, n), np.int64), np.ones((len(self._aggregates), n), np.bool_)
        fields = np.ascontiguousarray(values)
        first, words, spec = self.sums.placed[o]
        if finalize(self.sums.outputs, o, True, fields, 0, at, n, out, valid, 0, self.sums.scratch):
            raise overflow_error(spec)
        values = np.ascontiguousarray(out[first : first + words].T)
        return Column(aggregate_values(values, spec), None if valid[o].all() else valid[o])
