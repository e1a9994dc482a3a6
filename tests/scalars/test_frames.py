"""Loops over one frame: what passes is narrowed by the same call, whatever arrays a delta is made of; against numpy."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ivm.catalog.types import BIGINT, BOOLEAN, DOUBLE, HUGEINT, INTEGER, VARCHAR, SqlType
from ivm.plan.mfp import Mfp
from ivm.render.scalars.compiler import Compiler
from ivm.render.scalars.program import MfpProgram
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar
from ivm.trace.columns.column import Column as Values
from ivm.trace.columns.stored_columns import StoredColumns
from ivm.trace.delta import Columns, Delta, Group, Layout
from ivm.trace.helpers import LARGE, Errands, Helpers
from ivm.trace.text.dictionary import TextDictionary
from tests.scalars.oracle import column_of, is_compiled, program_of, python_of

TYPES: tuple[SqlType, ...] = (INTEGER, BIGINT, HUGEINT, DOUBLE, BOOLEAN, VARCHAR)
COMPILER = Compiler(wait=True)
FEW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
COLUMNS = [Column(i, type_) for i, type_ in enumerate(TYPES)]


def programs(dictionary: TextDictionary, computed: bool) -> list[MfpProgram]:
    """What is below 0 or NULL in the first column, all columns passed on, or copied beside what is computed."""
    first = COLUMNS[0]
    passes: Scalar = Call("lt", (first, Literal(0, INTEGER)), BOOLEAN)
    passes = Call("or", (passes, Call("is_null", (first,), BOOLEAN, False)), BOOLEAN)
    long = Call("like", (COLUMNS[5], Literal("a%", VARCHAR)), BOOLEAN)
    both = Call("concat", (COLUMNS[5], COLUMNS[5]), VARCHAR)
    maps: tuple[Scalar, ...] = (Call("add", (first, COLUMNS[1]), BIGINT), long, both, *COLUMNS) if computed else ()
    mfp = Mfp(len(TYPES), maps, (passes,), tuple(range(len(TYPES) + len(maps))), gathered=computed)
    return [MfpProgram(mfp, dictionary, compiler) for compiler in (None, COMPILER)]


def awkward(array: Any, how: int) -> Any:
    """The same values, otherwise in memory."""
    if how == 1:
        return np.repeat(array, 2, axis=0)[::2]
    if how == 2:
        return np.ascontiguousarray(array[::-1])[::-1]
    if how == 3 and array.ndim == 2:
        return np.asfortranarray(array)
    return array


def all_of(delta: Delta | None, types: list[SqlType], dictionary: TextDictionary) -> list[Any]:
    if delta is None:
        return []
    columns = [python_of(delta.column(i), type_, dictionary) for i, type_ in enumerate(types)]
    return list(zip(*columns, delta.time_array().tolist(), delta.diff_array().tolist(), strict=True))


def agree(each: list[MfpProgram], delta: Delta, computed: bool, dictionary: TextDictionary) -> int:
    """Whether both forms of a program give the same, those of a time in the same order; how many rows."""
    types = [*TYPES, *((BIGINT, BOOLEAN, VARCHAR, *TYPES) if computed else ())]
    slow, fast = (all_of(program.run(delta), types, dictionary) for program in each)
    of_time = itemgetter(len(types))
    assert sorted(fast, key=of_time) == sorted(slow, key=of_time)
    return len(fast)


def values(rng: np.random.Generator, type_: SqlType, rows: int, nulls: bool, dictionary: TextDictionary) -> Values:
    """Some, of which a third may be NULL."""
    numbers = rng.integers(-50, 50, rows).tolist()
    given: list[Any] = numbers
    if type_ == HUGEINT:
        given = [n * 10**30 for n in numbers]
    elif type_ == BOOLEAN:
        given = [n > 0 for n in numbers]
    elif type_ == DOUBLE:
        given = [n / 8 for n in numbers]
    elif type_ == VARCHAR:
        given = [f"{'ab'[n % 2]}{n}" for n in numbers]
    if nulls:
        given = [None if rng.random() < 0.3 else each for each in given]
    return column_of(given, type_, dictionary)


def source_of(
    rng: np.random.Generator, types: tuple[SqlType, ...], rows: int, nulls: bool, dictionary: TextDictionary
) -> Any:
    columns = [values(rng, type_, rows, nulls, dictionary) for type_ in types]
    if rng.random() < 0.4:
        stored = StoredColumns(types, dictionary, cold=False)
        stored.append(Columns(columns), rows)
        return stored
    made, how = [], int(rng.integers(0, 4))
    for type_, c in zip(types, columns, strict=True):
        plain = type_ == VARCHAR or how == 0
        valid = c.valid if c.valid is None or plain else awkward(c.valid, how)
        made.append(c if plain else Values(awkward(c.values, how), valid))
    return Columns(made)


def drawn(rng: np.random.Generator, rows: int, dictionary: TextDictionary) -> Delta:
    """Groups with and without references, of which some lie apart or are not of 64 bits."""
    groups = []
    nulls, bare = rng.random() < 0.5, rng.random() < 0.5
    for types in (TYPES[:2], TYPES[2:3], TYPES[3:]):
        if bare and len(types) == 2:
            groups.append(Group(source_of(rng, types, rows, nulls, dictionary)))
            continue
        there = int(rng.integers(1, 2 * rows + 1))
        refs: Any = rng.integers(0, there, rows)
        how = rng.random()
        refs = refs.astype(np.int32) if how < 0.2 else awkward(refs, 1) if how < 0.4 else refs
        groups.append(Group(source_of(rng, types, there, nulls, dictionary), refs))
    times: Any = 7 if rng.random() < 0.5 else awkward(rng.integers(0, 9, rows), int(rng.integers(0, 3)))
    diffs: Any = None if rng.random() < 0.5 else awkward(rng.integers(-2, 3, rows), int(rng.integers(0, 3)))
    layout = Layout([(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (2, 2)])
    return Delta(groups, layout, rows, times, diffs)


@FEW
@given(seed=st.integers(0, 1 << 30), rows=st.integers(1, 40), computed=st.booleans())
def test_what_passes_is_narrowed(seed: int, rows: int, computed: bool) -> None:
    rng, dictionary = np.random.default_rng(seed), TextDictionary()
    each = programs(dictionary, computed)
    for _ in range(4):
        agree(each, drawn(rng, rows, dictionary), computed, dictionary)
    assert is_compiled(each[1])


@pytest.mark.parametrize("computed", [False, True])
def test_parts_by_threads(computed: bool) -> None:
    rng, dictionary = np.random.default_rng(5), TextDictionary()
    each = programs(dictionary, computed)
    errands = Errands(Helpers(3))
    for rows in (LARGE, 3 * LARGE + 1, 40_000):
        delta = drawn(rng, rows, dictionary)
        each[1].run(delta)
        with errands:
            assert 0 < agree(each, delta, computed, dictionary) < rows
    assert is_compiled(each[1])


@pytest.mark.parametrize("limit", [-100, 100])
def test_nothing_or_everything_passes(limit: int) -> None:
    dictionary = TextDictionary()
    passes = Call("lt", (COLUMNS[0], Literal(limit, INTEGER)), BOOLEAN)
    rng = np.random.default_rng(3)
    column = Values(rng.integers(-50, 50, 9).astype(np.int32))
    for compiler in (None, COMPILER):
        program = program_of((), (passes,), None, 1, dictionary, compiler)
        delta = Delta([Group(Columns([column]), np.arange(9))], Layout([(0, 0)]), 9, np.arange(9), np.arange(9))
        passed = program.run(delta)
        assert (passed is None) == (limit < 0)
        if passed is not None:
            assert passed.groups[0].source is delta.groups[0].source
            assert passed.groups[0].refs is delta.groups[0].refs
            assert passed.times is delta.times
            assert passed.diffs is delta.diffs


def test_columns_of_a_store_grow_become_null_and_are_exchanged() -> None:
    dictionary = TextDictionary()
    program = program_of((Call("add", (COLUMNS[0], COLUMNS[0]), BIGINT),), (), (1,), 1, dictionary, COMPILER)
    stored: StoredColumns | None = StoredColumns((INTEGER,), dictionary, cold=False)
    expected: list[int | None] = []
    layout = Layout([(0, 0)])
    for number in range(6):
        assert stored is not None
        more: list[int | None] = [number, None] if number > 3 else [number] * 900
        stored.append(Columns([column_of(more, INTEGER, dictionary)]), len(more))
        expected += [None if each is None else 2 * each for each in more]
        rows = np.arange(len(expected))[::-1]
        delta = Delta([Group(stored, rows)], layout, len(rows), 1)
        passed = program.run(delta)
        assert passed is not None
        assert python_of(passed.column(0), BIGINT, dictionary) == expected[::-1]
        if number == 2:
            stored, expected = stored.empty(), []
