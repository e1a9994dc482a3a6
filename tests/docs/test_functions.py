"""The page of functions says of each of DuckDB's what is true of it."""

from __future__ import annotations

import pytest

import ivm
from tests.docs.functions import PAGE, declared, example_calls, page


def test_the_page_is_what_binding_says():
    assert PAGE.read_text(encoding="utf-8") == page(), "write it anew: python -m tests.docs.functions"


def test_each_function_is_on_it_once():
    text = page()
    for name in declared():
        if not name.startswith(("collate_", "icu_collate_", "__internal_")):
            shown = f"`{name}`" if name.isidentifier() else f"`` {name.replace('|', chr(92) + '|')} ``"
            assert text.count(f" {shown}") == 1, name


@pytest.mark.parametrize("call", ["nextval('s')", "currval('s')", "setval('s', 1)"])
def test_what_is_nowhere_is_refused_in_a_select(call: str):
    with pytest.raises(ivm.Error):
        ivm.connect().sql(f"SELECT {call}").fetchall()


def test_what_is_for_a_select_alone_is_answered():
    db = ivm.connect()
    for name in ("alias", "enum_first", "hash", "gen_random_uuid", "timezone_hour", "json_valid", "list_sum"):
        calls = {
            "enum_first": "enum_first(NULL::ENUM('a'))",
            "timezone_hour": "timezone_hour(TIMESTAMPTZ '2020-01-01')",
        }
        calls |= {"json_valid": "json_valid('{}')", "list_sum": "list_sum([1, 2])"}
        call = calls.get(name) or next(example_calls(name, declared()[name][1]))
        assert len(db.sql(f"SELECT {call}").fetchall()) == 1
