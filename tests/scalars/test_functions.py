"""The functions of `functions`, against DuckDB: interpreted one by one, compiled many in one loop."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ivm.catalog.errors import NumericError
from ivm.catalog.types import VARCHAR, SqlType
from ivm.render.scalars.compiler import Compiler
from ivm.sql.ir.functions import function_of
from ivm.sql.ir.scalar import Call
from ivm.trace.text.dictionary import TextDictionary
from tests.model.scalar import value_of
from tests.scalars.cases import Case
from tests.scalars.functions import function_cases, quiet_cases, raising
from tests.scalars.oracle import (
    check,
    column_of,
    delta_over,
    duckdb_rows,
    is_compiled,
    program_of,
    python_of,
    rows_of,
    same,
)

COMPILER = Compiler(wait=True)
FEW = settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(FEW, max_examples=60)


@pytest.mark.parametrize("case", function_cases(), ids=str)
@FEW
@given(data=st.data())
def test_the_interpreter_equals_duckdb(case: Case, data) -> None:
    check(case.scalar, case.sql, case.types, data.draw(rows_of(case.types)))


def bundles() -> dict[tuple[SqlType, ...], list[Case]]:
    """The cases that never raise, by the types of their columns; of functions of one text one for each result type.

    They all have one form in a loop, and a loop of a hundred takes minutes to compile.
    """
    found: dict[tuple[SqlType, ...], list[Case]] = defaultdict(list)
    forms = set()
    for case in quiet_cases():
        assert isinstance(case.scalar, Call)
        form = (case.scalar.type, function_of(case.scalar.function).makes_null)
        if case.types != (VARCHAR,) or form not in forms:
            found[case.types].append(case)
        if case.types == (VARCHAR,):
            forms.add(form)
    return found


@pytest.mark.parametrize("types", list(bundles()), ids=lambda types: " ".join(map(str, types)))
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(data=st.data())
def test_one_loop_of_many_functions_equals_duckdb(types: tuple[SqlType, ...], data) -> None:
    rows, cases = data.draw(rows_of(types)), bundles()[types]
    dictionary, failures = TextDictionary(), len(COMPILER.failures())
    columns = [column_of([row[i] for row in rows], t, dictionary, True) for i, t in enumerate(types)]
    maps, width = tuple(case.scalar for case in cases), len(types)
    program = program_of(maps, (), tuple(range(width, width + len(maps))), width, dictionary, COMPILER)
    delta = delta_over(columns, len(rows), through_refs=True)
    expected = [duckdb_rows(case.sql, types, rows, case.scalar.type) for case in cases]
    for _ in range(2):  # the second time the memos know every string
        output = program.run(delta)
        assert output is not None
        for place, case in enumerate(cases):
            actual = python_of(output.column(place), case.scalar.type, dictionary)
            agree = all(same(a, e) for a, e in zip(actual, expected[place], strict=True))
            assert agree, (case.sql, rows, actual, expected[place])
    assert is_compiled(program)
    assert len(COMPILER.failures()) == failures


@pytest.mark.parametrize("case", function_cases(), ids=str)
@settings(FEW, max_examples=1)
@given(data=st.data())
def test_the_model_equals_duckdb(case: Case, data) -> None:
    for row in data.draw(rows_of(case.types, 6)):
        expected = duckdb_rows(case.sql, case.types, [row], case.scalar.type)
        try:
            found = value_of(case.scalar, row)
        except NumericError:
            assert isinstance(expected, str), (row, expected)
        except OUTSIDE:
            continue
        else:
            assert not isinstance(expected, str), (row, found, expected)
            assert same(found, expected[0]), (row, found, expected)


OUTSIDE = (OverflowError, ValueError)
"""What Python's own dates raise outside the years 1 to 9999."""


@pytest.mark.slow
@pytest.mark.parametrize("case", function_cases(), ids=str)
@MANY
@given(data=st.data())
def test_many_values(case: Case, data) -> None:
    check(case.scalar, case.sql, case.types, data.draw(rows_of(case.types, 30)))


@pytest.mark.slow
@pytest.mark.parametrize("case", raising(), ids=str)
@settings(MANY, max_examples=20)
@given(data=st.data())
def test_a_loop_of_what_can_raise_equals_duckdb(case: Case, data) -> None:
    check(case.scalar, case.sql, case.types, data.draw(rows_of(case.types)), COMPILER)
