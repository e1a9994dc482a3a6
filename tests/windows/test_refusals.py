"""What window functions cannot be maintained, or make no sense, is refused with its place and what to write."""

from __future__ import annotations

import pytest

from ivm.catalog.errors import BindError, Error, TypeMismatchError, UnsupportedError
from tests.sql.world import bound

CASES = [
    (
        TypeMismatchError,
        "sum(pay) OVER (ORDER BY id RANGE BETWEEN name PRECEDING AND CURRENT ROW)",
        "a number or an INTERVAL",
    ),
    (UnsupportedError, "sum(pay) OVER (ORDER BY id ROWS 2 PRECEDING EXCLUDE GROUP)", "write GROUPS or RANGE"),
    (TypeMismatchError, "sum(pay) OVER (ORDER BY id ROWS pay PRECEDING)", "is an integer"),
    (UnsupportedError, "sum(pay) OVER (ORDER BY born RANGE INTERVAL '1 month -1 day' PRECEDING)", "both ways"),
    (UnsupportedError, "sum(pay) OVER (ORDER BY 1 RANGE 1 PRECEDING)", "write ROWS"),
    (UnsupportedError, "sum(pay) OVER (ORDER BY CAST(born AS TIMESTAMP)::TIME RANGE 1 PRECEDING)", "a TIMESTAMP"),
    (BindError, "sum(pay) OVER (ORDER BY id, dept RANGE 1 PRECEDING)", "one ORDER BY expression"),
    (BindError, "sum(pay) OVER (ORDER BY id RANGE -1 PRECEDING)", "cannot be negative"),
    (BindError, "sum(pay) OVER (ORDER BY id GROUPS NULL PRECEDING)", "cannot be negative or NULL"),
    (BindError, "sum(pay) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND CURRENT ROW)", "lower bound first"),
    (BindError, "sum(pay) OVER (ORDER BY born RANGE INTERVAL '-1 day' PRECEDING)", "cannot be negative"),
    (TypeMismatchError, "sum(pay) OVER (ORDER BY name RANGE 1 PRECEDING)", "VARCHAR - INTEGER"),
    (TypeMismatchError, "sum(pay) OVER (ORDER BY id RANGE '1' PRECEDING)", "not a text"),
    (BindError, "ntile(0) OVER (ORDER BY id)", "1 or more"),
    (TypeMismatchError, "ntile(pay) OVER (ORDER BY id)", "cast it to BIGINT"),
    (BindError, "rank(pay) OVER (ORDER BY id)", "takes no argument"),
    (BindError, "dense_rank(ORDER BY pay) OVER ()", "write it into OVER"),
    (UnsupportedError, "lag(pay ORDER BY id IGNORE NULLS) OVER ()", "write it into OVER"),
    (TypeMismatchError, "lag(pay, 1.5) OVER (ORDER BY id)", "cast it to BIGINT"),
    (BindError, "first_value(DISTINCT pay ORDER BY id) OVER (ORDER BY id)", "without DISTINCT"),
    (UnsupportedError, "list(DISTINCT pay) OVER (ORDER BY id)", "into its parentheses"),
    (UnsupportedError, "json_group_array(name) OVER (ORDER BY id)", "into its parentheses"),
    (UnsupportedError, "upper(name) OVER (ORDER BY id)", "row_number, rank"),
    (UnsupportedError, "row_number() OVER (ORDER BY ALL)", "name the columns"),
    (BindError, "sum(pay) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 PRECEDING)", "lower bound first"),
    (BindError, "sum(row_number() OVER ()) OVER ()", "subquery in FROM"),
    (BindError, "sum(lag(pay) OVER (ORDER BY id))", "subquery in FROM"),
    (BindError, "sum(pay) OVER v", "no window 'v'"),
    (BindError, "rank() OVER (ORDER BY nothing)", "no column 'nothing'"),
]


@pytest.mark.parametrize(("error", "text", "words"), CASES, ids=[text for _, text, _ in CASES])
def test_functions_and_frames(error: type[Error], text: str, words: str) -> None:
    with pytest.raises(error) as raised:
        bound(f"SELECT {text} FROM emp WINDOW w AS (ORDER BY id)")
    assert words in str(raised.value)
    assert "line 1, column" in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM emp WHERE row_number() OVER (ORDER BY id) = 1",
        "SELECT dept FROM emp GROUP BY dept, rank() OVER (ORDER BY id)",
        "SELECT dept FROM emp GROUP BY dept HAVING rank() OVER (ORDER BY dept) = 1",
        "SELECT id, rank() OVER (ORDER BY id) AS r FROM emp WHERE r = 1",
    ],
)
def test_windows_stand_after_groups(text: str) -> None:
    with pytest.raises(BindError, match=r"(?s)cannot stand in .*QUALIFY.*line 1, column"):
        bound(text)


def test_qualify_needs_a_window() -> None:
    with pytest.raises(BindError, match=r"(?s)QUALIFY needs a window function; filter with WHERE.*line 1"):
        bound("SELECT id FROM emp QUALIFY id > 1")


def test_qualify_needs_keys_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"(?s)list the keys.*line 1"):
        bound("SELECT dept, count(*) FROM emp GROUP BY ALL QUALIFY rank() OVER (ORDER BY count(*)) = 1")
