"""Rows of groups: from key words and accumulators to the columns of a reduce's output."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from catalog.types import Physical
from ivm.kernels.groups.finalize import AT, WORDS, finalize
from ivm.operators.accumulable import Accumulators, AggregateSpec
from ivm.trace.column import Array, Column, Ints
from ivm.trace.computed import Read
from ivm.trace.delta import Source
from ivm.trace.keys import KeyLayout
from ivm.trace.row_order import narrowed, values_of


@dataclass(slots=True)
class GroupRows(Source):
    """Groups as they were when they were looked up: `words`, their keys as `layout` packs them, and `fields`.

    A column is computed when it is first read, then kept; nothing depends on what becomes of the groups.
    """

    layout: KeyLayout
    words: Ints
    parts: Accumulators
    fields: Ints
    _outputs: Ints = field(init=False)
    _scratch: Ints = field(init=False)
    _made: dict[Read, Column] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        # Both are made anew when sums are widened: these are the ones that belong to the fields.
        self._outputs, self._scratch = self.parts.outputs, self.parts.scratch

    def column(self, index: Read) -> Column:
        """A key, or behind the keys an aggregate. Cost: see `finalize`."""
        column = self._made.get(index)
        if column is None:
            assert not isinstance(index, tuple), "groups compute no functions of texts"
            keys = len(self.layout.parts)
            column = self._made[index] = self._key(index) if index < keys else self._aggregate(index - keys)
        return column

    def _key(self, index: int) -> Column:
        return self.layout.unpack(self.words)[index]

    def _aggregate(self, index: int) -> Column:
        output = self._outputs[index : index + 1].copy()
        output[0, AT] = 0
        words = np.empty((int(output[0, WORDS]), len(self.fields)), np.int64)
        valid = np.empty((1, len(self.fields)), np.bool_)
        finalize(output, 0, False, self.fields, 0, 0, words, valid, self._scratch)
        values = aggregate_values(np.ascontiguousarray(words.T), self.parts.aggregates[index])
        return Column(values, None if valid.all() else valid[0])


def aggregate_values(words: Ints, spec: AggregateSpec) -> Array:
    """An aggregate's values of their words (n, 1 or 2), in the physical form of its type."""
    physical = spec.type.physical
    if spec.function in ("min", "max") or spec.ordered is not None:
        return narrowed(values_of(words, physical), physical)
    if physical is Physical.WIDE:
        return words
    return words[:, 0].view(np.float64) if physical is Physical.FLOAT64 else words[:, 0]
