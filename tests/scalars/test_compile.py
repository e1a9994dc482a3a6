"""Every function, compiled, against DuckDB: over columns with masks, read through references."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ivm.render.scalars.compiler import Compiler
from tests.scalars.cases import Case, all_cases, loop_cases
from tests.scalars.oracle import check, rows_of

COMPILER = Compiler(wait=True)
FEW = settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])


@pytest.mark.parametrize("case", loop_cases(), ids=str)
@FEW
@given(data=st.data())
def test_a_loop_equals_duckdb(case: Case, data) -> None:
    check(case.scalar, case.sql, case.types, data.draw(rows_of(case.types)), COMPILER)


@pytest.mark.slow
@pytest.mark.parametrize("case", all_cases(), ids=str)
@settings(FEW, max_examples=50)
@given(data=st.data())
def test_a_loop_of_any_type_equals_duckdb(case: Case, data) -> None:
    check(case.scalar, case.sql, case.types, data.draw(rows_of(case.types)), COMPILER)
