"""Every function, interpreted, against DuckDB."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scalars.cases import Case, all_cases
from tests.scalars.oracle import check, rows_of


@pytest.mark.parametrize("case", all_cases(), ids=str)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_interpreter_equals_duckdb(case: Case, data) -> None:
    check(case.scalar, case.sql, case.types, data.draw(rows_of(case.types)))
