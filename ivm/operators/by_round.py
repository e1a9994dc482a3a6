"""Groups by round: what a node of groups makes of its input in each round of a loop, as changes from round to round.

A group looks different in each round. Of one that changes in a round the rows up to that round are read, the node is
stepped over them from nothing, and what was made of them before is taken off. That is done in the order of rounds: in
those in which its input changes, and in all later ones in which it, or what was made of it, has changed before (which
is differential dataflow's rule, for the one time that a commit has: Differential Dataflow, section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from ivm.catalog.types import BIGINT, SqlType
from ivm.operators.operator import Operator
from ivm.operators.round_node import RoundNode
from ivm.trace.columns.column import Column, Ints
from ivm.trace.concatenation import concat_deltas
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta, delta_of
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.keys import KeyLayout
from ivm.trace.rows.signed_rows import SignedRows
from ivm.trace.text.dictionary import TextDictionary

_NOW = 1
"""The time at which a node is stepped from nothing."""


class ByRound(RoundNode):
    """A node of groups over rows of columns of `given`, which makes rows of columns of `made`, with the round last.

    `make` makes the node, without any rows. Groups are told by the columns `key` of the input, `key_made` of the
    output. State: input and output, by group.
    """

    def __init__(
        self,
        make: Callable[[], Operator],
        given: Sequence[tuple[SqlType, bool]],
        made: Sequence[tuple[SqlType, bool]],
        key: Sequence[int],
        key_made: Sequence[int],
        dictionary: TextDictionary,
    ) -> None:
        self._make = make
        self._key = tuple(key)
        self._layout = KeyLayout(tuple((given[c][0].physical, given[c][1]) for c in key), nulls="match")
        self._given = _arranged([each for each, _ in given], self._key, self._layout, dictionary)
        self._made = _arranged([each for each, _ in made], tuple(key_made), self._layout, dictionary)
        self._due: dict[int, list[Ints]] = {}
        self.states = (self._given, self._made)

    def begin(self) -> None:
        """See `RoundNode.begin`."""
        if self._initial is not None:
            self._add(0, np.zeros((1, self._layout.words), np.int64))

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """Note what comes, for the rounds that it is of. Cost: hash work for each change."""
        delta = inputs[0]
        if delta is None or not delta.length:
            return None
        self._given.apply(delta)
        words, _ = self._layout.pack([delta.column(c) for c in self._key], delta.length)
        words, rounds = words.reshape(delta.length, -1), delta.column(len(delta.layout) - 1).values
        for each in np.unique(rounds).tolist():
            self._add(each, words[rounds == each])
        return None

    @property
    def due(self) -> int | None:
        """See `RoundNode.due`."""
        return min(self._due, default=None)

    def forget(self) -> None:
        """See `RoundNode.forget`."""
        self._due.clear()

    def evaluate(self, number: int, tick: int) -> Delta | None:
        """See `RoundNode.evaluate`. Cost: reads all rows of these groups up to the round."""
        words = np.unique(np.concatenate(self._due.pop(number)), axis=0)
        given, made = self._rows(self._given, words, number, tick), self._rows(self._made, words, number, tick)
        parts = [] if given is None else self._stepped(given)
        if self._initial is not None:
            parts.append(self._initial)
        if made is not None:
            parts.append(made.with_diffs(-made.diff_array()))
        merged = concat_deltas(parts)
        changed = None if merged is None else consolidate(merged, self._made.store.types[:-2])
        if changed is None:
            return None
        rounds = Column(np.full(len(changed), number, np.int64))
        result = delta_of([*changed.columns(), rounds], tick, changed.diffs, len(changed))
        self._made.apply(result)
        return result

    @cached_property
    def _initial(self) -> Delta | None:
        """What the node shows of no rows."""
        return concat_deltas([each for each in self._make().contents((), _NOW) if each.length])

    def _stepped(self, given: Delta) -> list[Delta]:
        """What the node makes of these rows, from nothing."""
        net = consolidate(given, self._given.store.types[:-2])
        result = None if net is None else self._make().step([net])
        return [] if result is None else [Delta(result.groups, result.layout, result.length, _NOW, result.diffs)]

    def _rows(self, state: SignedRows[Arrangement], words: Ints, number: int, tick: int) -> Delta | None:
        """The rows of groups up to a round, without it; groups that have later ones are due in the first of these."""
        keys = words.reshape(len(words)) if words.shape[1] == 1 else words
        positions, group = state.arranged.look_up(keys, None, tick, True)
        if not len(positions):
            return None
        *columns, round_column, sign_column = (group.column(c) for c in range(len(state.store.types)))
        rounds, signs = (each.values.astype(np.int64, copy=False) for each in (round_column, sign_column))
        late = rounds > number
        if late.any():
            self._look_again(words, positions[late], rounds[late])
        early = np.flatnonzero(~late)
        return delta_of([each.take(early) for each in columns], _NOW, signs[early], len(early))

    def _look_again(self, words: Ints, positions: Ints, rounds: Ints) -> None:
        order = np.lexsort((rounds, positions))
        firsts = np.flatnonzero(np.diff(positions[order], prepend=-1))
        keys, first_rounds = positions[order][firsts], rounds[order][firsts]
        for each in np.unique(first_rounds).tolist():
            self._add(each, words[keys[first_rounds == each]])

    def _add(self, number: int, words: Ints) -> None:
        self._due.setdefault(number, []).append(words)


def _arranged(
    types: Sequence[SqlType], key: tuple[int, ...], layout: KeyLayout, dictionary: TextDictionary
) -> SignedRows[Arrangement]:
    """Rows of columns of these types and the round, by a key."""
    return SignedRows((*types, BIGINT), dictionary, lambda store: Arrangement(store, key, layout))
