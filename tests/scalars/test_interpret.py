"""Every function, interpreted, against DuckDB."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scalars import cases
from tests.scalars.cases import Case
from tests.scalars.oracle import check, rows_of

FAMILIES = {
    "arithmetic": cases.arithmetic(),
    "comparisons": cases.comparisons(),
    "logic": cases.logic(),
    "texts": cases.texts(),
    "dates": cases.dates(),
    "rounding": cases.rounding(),
    "casts": cases.casts(),
}


@pytest.mark.parametrize("case", [c for family in FAMILIES.values() for c in family], ids=str)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_equals_duckdb(case: Case, data) -> None:
    check(case.scalar, case.sql, case.types, data.draw(rows_of(case.types)))
