"""Functions and aggregates are declared once, and one that is missing anywhere is an error, not a default."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ivm.analysis.ranges import can_raise, value_range
from ivm.analysis.selectivity import selectivity
from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import UnsupportedError
from ivm.catalog.types import BIGINT, BOOLEAN, HUGEINT, INTEGER, Kind, SqlType
from ivm.operators import accumulable
from ivm.render import reduce
from ivm.render.scalars.bodies import table
from ivm.render.scalars.bodies.texts import TEXTS
from ivm.render.scalars.functions import Context
from ivm.render.scalars.interpret import interpreter
from ivm.render.scalars.shape import cost_rank
from ivm.render.scalars.texts import REGEXES
from ivm.sql import folded as folding
from ivm.sql.aggregate_nodes import FUNCTIONS as CALLED
from ivm.sql.arguments import PLAIN
from ivm.sql.bind import bind
from ivm.sql.bind.aggregates.types import RULES
from ivm.sql.decorrelate.expand_joins import null_with
from ivm.sql.folded import folded
from ivm.sql.ir import text as sql_text
from ivm.sql.ir.aggregates import AGGREGATES, aggregate_of
from ivm.sql.ir.functions import FUNCTIONS, Function, function_of, series
from ivm.sql.ir.relation import Map, inputs_of
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar, walk
from ivm.sql.ir.text import scalar_text
from ivm.trace.text.dictionary import TextDictionary
from tests.scalars.cases import all_cases
from tests.scalars.functions import function_cases

UNKNOWN = Call("frobnicate", (Column(0, BIGINT),), BIGINT)
CONTEXT = Context(TextDictionary())


@pytest.mark.parametrize(
    "ask",
    [
        lambda call: function_of(call.function),
        can_raise,
        lambda call: value_range(Call("neg", (call,), BIGINT)),
        lambda call: selectivity(replace(call, type=BOOLEAN)),
        lambda call: folded(replace(call, args=(Literal(1, BIGINT),))),
        lambda call: null_with(call, 0),
        scalar_text,
        cost_rank,
        lambda call: interpreter(call, CONTEXT),
    ],
)
def test_what_nobody_declared_is_unknown_to_all(ask: Callable[[Scalar], Any]) -> None:
    with pytest.raises(UnsupportedError, match="cannot evaluate frobnicate: the engine has no such function"):
        ask(UNKNOWN)


def test_each_function_has_a_body() -> None:
    assert table.BODIES.keys() == FUNCTIONS.keys()
    for name, body in table.BODIES.items():
        assert body.name == name
        by_value = name in TEXTS or name in REGEXES or FUNCTIONS[name].asked is not None
        assert by_value or body.steps or body.strict, f"the interpreter has no form of {name}"
        assert not (by_value and body.steps), f"{name} has two forms for the interpreter"


@pytest.mark.parametrize("missing", ["body", "declaration"])
def test_a_half_that_is_missing_is_an_error_when_the_other_is_imported(monkeypatch, missing: str) -> None:
    if missing == "body":
        monkeypatch.setitem(FUNCTIONS, "frobnicate", Function("frobnicate", (BIGINT,), BIGINT))
    else:
        monkeypatch.delitem(FUNCTIONS, "substring")
    with pytest.raises(ImportError, match="'frobnicate'" if missing == "body" else "'substring'"):
        importlib.reload(table)


def test_what_is_special_about_a_function_is_said_of_one_that_there_is() -> None:
    for special in (folding._SPECIAL, sql_text._FORMS):
        assert special.keys() <= FUNCTIONS.keys()


def calls(text: str) -> list[Call]:
    waiting = [bind(f"SELECT {text}", Catalog()).relation]
    found: list[Call] = []
    for relation in waiting:  # which grows meanwhile
        waiting += inputs_of(relation)
        if isinstance(relation, Map):
            found += [each for scalar in relation.scalars for each in walk(scalar) if isinstance(each, Call)]
    return found


@pytest.mark.parametrize(("name", "function"), [(name, function) for name in PLAIN for function in PLAIN[name]])
def test_sql_calls_it_by_each_of_its_names(name: str, function: Function) -> None:
    takes = [_concrete(type_) for type_ in function.takes if isinstance(type_, SqlType)]
    written = [f"CAST(NULL AS {type_})" for type_ in takes]
    for left_out in range(function.optional + 1):
        args = ", ".join(written[: len(written) - left_out])
        text = f"position({args.replace(', ', ' IN ')})" if name == "position" else f"{name}({args})"
        (found,) = [call for call in calls(text) if call.function == function.name]
        assert found.type == (HUGEINT if function.gives == _SUM else _concrete(function.gives))
        assert [arg.type for arg in found.args] == takes[: len(written) - left_out]


_SUM = "the sum of T"


def _concrete(type_: SqlType | str) -> SqlType:
    """A type in which INTEGER stands for each variable."""
    assert isinstance(type_, SqlType), type_
    if type_.kind is Kind.NULL:
        return INTEGER
    element = None if type_.element is None else _concrete(type_.element)
    return replace(type_, element=element, fields=tuple((name, _concrete(field)) for name, field in type_.fields))


def test_types_are_told_of_what_is_called_by_name() -> None:
    for function in itertools.chain.from_iterable(PLAIN.values()):
        types = [type_ for type_ in (*function.takes, function.gives) if type_ not in ("...", _SUM)]
        assert all(isinstance(type_, SqlType) for type_ in types), function.name


# In tests/scalars, those of which DuckDB is asked in test_asked.py; these are compared by whole queries alone, in
# tests/sql/scalars.txt.
UNCOMPARED = {
    *("formatted", "from_micros", "make_timestamp", "now"),
    *("called", "collate", "struct_pack", "field", "element", "list_length"),
    *(each.name for each in series.FUNCTIONS),
}
"""Those that other functions stand for, `called`, which no program has, `collate`, which is gone when it is planned, and those that `tests/slt/unnest.slt` and `nested.slt` compare."""


def test_each_function_is_compared_with_duckdb() -> None:
    compared = {s.function for c in (*all_cases(), *function_cases()) for s in walk(c.scalar) if isinstance(s, Call)}
    asked = {name for name, function in FUNCTIONS.items() if function.asked is not None}
    assert FUNCTIONS.keys() - compared - asked == UNCOMPARED


def test_each_aggregate_is_bound_and_kept() -> None:
    written = {name for name, each in AGGREGATES.items() if each.written is not None}
    assert RULES.keys() == AGGREGATES.keys() - {"count_star"} - written
    assert set(CALLED.values()) == RULES.keys() | written
    with pytest.raises(UnsupportedError, match="cannot aggregate by frobnicate"):
        aggregate_of("frobnicate")


def test_an_aggregate_that_no_operator_keeps_is_an_error(monkeypatch) -> None:
    monkeypatch.delitem(accumulable.FUNCTIONS, "avg")
    with pytest.raises(ImportError, match="'avg'"):
        importlib.reload(reduce)
