"""Every function, compiled, against DuckDB: over plain and referenced columns, with masks and without."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ivm.render.scalars.compiler import Compiler
from tests.scalars.cases import Case, all_cases
from tests.scalars.oracle import check, rows_of

COMPILER = Compiler(wait=True)


@pytest.mark.parametrize("case", all_cases(), ids=str)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(data=st.data())
def test_equals_duckdb(case: Case, data) -> None:
    check(case.scalar, case.sql, case.types, data.draw(rows_of(case.types)), COMPILER)
