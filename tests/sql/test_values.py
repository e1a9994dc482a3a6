"""Every operator and function over every pair of operands, value by value: the bound relation against DuckDB."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

from ivm.catalog.errors import Error, NumericError
from tests.sql.test_types import BINARY, OPERANDS, UNARY
from tests.sql.world import bound, expected, modelled

CASES: list[tuple[str, tuple[str, ...]]] = [
    (form, (left, right)) for form in BINARY for left in OPERANDS for right in OPERANDS
]
CASES += [(form, (operand,) * form.count("{}")) for form in UNARY for operand in OPERANDS]
FORMS = tuple(dict.fromkeys(form for form, _ in CASES))
# The remainder of an inexact DOUBLE: DuckDB converts DECIMAL to DOUBLE a last digit off.
INEXACT = frozenset(["1e3 % d152", "1e3 % d386", "1e3 % 0.05"])


@pytest.mark.parametrize("form", FORMS)
def test_values_are_duckdbs(form: str):
    compared = 0
    for case, operands in CASES:
        if case == form and form.format(*operands) not in INEXACT:
            compared += agrees(form.format(*operands))
    assert compared > 1


def agrees(text: str) -> bool:
    """Compare the values over all rows of t; False if the expression is refused. Both may fail on a row."""
    try:
        query = bound(f"SELECT {text} AS x FROM t")
    except Error:
        return False
    try:
        want = shown(expected(query))
    except duckdb.Error:
        with pytest.raises(NumericError):
            modelled(query)
        return True
    assert shown(modelled(query)) == want, text
    return True


def shown(bag) -> Counter[str]:
    """The one column's values, DOUBLEs to 12 digits, since DuckDB adds them in another order."""
    values: Counter[str] = Counter()
    for (value,), count in bag.items():
        values[f"{value:.12g}" if isinstance(value, float) else repr(value)] += count
    return values
