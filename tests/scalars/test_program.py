"""The map-filter-project around the expressions: order of evaluation, laziness, which loop runs when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ivm.catalog.errors import NumericError
from ivm.catalog.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, VARCHAR
from ivm.render.scalars import compiler as compiling
from ivm.render.scalars.compiler import Compiler
from ivm.render.scalars.program import MfpProgram
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar
from ivm.trace.columns.column import Column as Values
from ivm.trace.delta import Delta, Layout, delta_of
from ivm.trace.text.dictionary import TextDictionary
from tests.scalars.oracle import column_of, delta_over, duckdb_rows, is_compiled, program_of, python_of, same, values_of

A, B = Column(0, INTEGER, False), Column(1, INTEGER, False)
COMPILERS = [pytest.param(None, id="interpreted"), pytest.param(Compiler(wait=True), id="compiled")]


def integer(value: int) -> Literal:
    return Literal(value, INTEGER)


def call(function: str, *args: Scalar, type_=INTEGER) -> Call:
    return Call(function, args, type_, False)


def compare(function: str, a: Scalar, b: Scalar) -> Call:
    return Call(function, (a, b), BOOLEAN, False)


def ints(*columns) -> Delta:
    return delta_of(
        [Values(np.array(c, np.int32)) for c in columns], np.arange(len(columns[0])), np.arange(1, len(columns[0]) + 1)
    )


def rows(delta: Delta | None) -> list[tuple[int, ...]]:
    if delta is None:
        return []
    columns = [delta.column(i).values.tolist() for i in range(len(delta.layout))]
    return list(zip(*columns, delta.time_array().tolist(), delta.diff_array().tolist(), strict=True))


@pytest.mark.parametrize("compiler", COMPILERS)
class TestBothForms:
    def test_times_and_diffs_follow_their_rows(self, compiler) -> None:
        program = program_of(
            (call("add", A, B),), (compare("gt", A, integer(1)),), (2, 1), 2, TextDictionary(), compiler
        )
        assert rows(program.run(ints([1, 2, 3], [10, 20, 30]))) == [(22, 20, 1, 2), (33, 30, 2, 3)]

    def test_nothing_passes(self, compiler) -> None:
        program = program_of((), (compare("gt", A, integer(9)),), None, 2, TextDictionary(), compiler)
        assert program.run(ints([1, 2], [1, 2])) is None

    def test_what_is_constant_can_be_negated(self, compiler) -> None:
        there = call("not", call("is_null", A, type_=BOOLEAN), type_=BOOLEAN)
        for predicate, kept in ((there, 2), (call("not", there, type_=BOOLEAN), 0)):
            program = program_of((), (predicate,), None, 2, TextDictionary(), compiler)
            assert len(rows(program.run(ints([1, 2], [1, 2])))) == kept

    def test_no_rows_at_all(self, compiler) -> None:
        program = program_of((), (), None, 1, TextDictionary(), compiler)
        assert program.run(ints([])) is None

    def test_a_filtered_row_does_not_raise(self, compiler) -> None:
        quotient = call("idiv", A, B)
        program = program_of((quotient,), (compare("ne", B, integer(0)),), (2,), 2, TextDictionary(), compiler)
        assert [r[0] for r in rows(program.run(ints([7, 8, 9], [0, 2, 3])))] == [4, 3]

    def test_a_predicate_that_may_raise_sees_only_what_others_let_pass(self, compiler) -> None:
        risky = compare("gt", call("idiv", A, B), integer(3))
        program = program_of((), (risky, compare("ne", B, integer(0))), (0,), 2, TextDictionary(), compiler)
        assert [r[0] for r in rows(program.run(ints([7, 8, 9], [0, 2, 3])))] == [8]

    def test_only_the_taken_branch_raises(self, compiler) -> None:
        guarded = Call("case", (compare("eq", B, integer(0)), integer(-1), call("idiv", A, B)), INTEGER, False)
        program = program_of((guarded,), (), (2,), 2, TextDictionary(), compiler)
        assert [r[0] for r in rows(program.run(ints([7, 8, 9], [0, 2, 3])))] == [-1, 4, 3]

    def test_and_stops_at_false(self, compiler) -> None:
        both = Call(
            "and", (compare("ne", B, integer(0)), compare("gt", call("idiv", A, B), integer(3))), BOOLEAN, False
        )
        program = program_of((both,), (), (2,), 2, TextDictionary(), compiler)
        assert [r[0] for r in rows(program.run(ints([7, 8, 9], [0, 2, 3])))] == [False, True, False]

    def test_an_error_says_what_was_computed(self, compiler) -> None:
        program = program_of((call("add", A, B),), (), None, 2, TextDictionary(), compiler)
        with pytest.raises(NumericError, match=r"2147483647 \+ 5: the result does not fit INTEGER"):
            program.run(ints([1, 2**31 - 1], [1, 5]))
        assert rows(program.run(ints([1], [1])))[0][2] == 2

    def test_predicates_over_maps(self, compiler) -> None:
        total = call("add", A, B)
        over = compare("gt", Column(2, INTEGER, False), integer(20))
        program = program_of(
            (total, call("mul", Column(2, INTEGER, False), integer(2))), (over,), (3,), 2, TextDictionary(), compiler
        )
        assert [r[0] for r in rows(program.run(ints([1, 2, 3], [10, 20, 30])))] == [44, 66]

    def test_a_bare_column_is_passed_on_and_not_copied(self, compiler) -> None:
        program = program_of((B, call("neg", Column(2, INTEGER, False))), (), (2, 3), 2, TextDictionary(), compiler)
        delta = ints([1, 2], [10, 20])
        output = program.run(delta)
        assert output is not None
        assert output.groups[0].source is delta.groups[0].source
        assert output.groups[0].refs is None
        assert [r[:2] for r in rows(output)] == [(10, -10), (20, -20)]

    def test_columns_that_are_not_bound_stay_so(self, compiler) -> None:
        program = program_of(
            (call("neg", A),), (compare("gt", A, integer(1)),), (1, 0, 2), 2, TextDictionary(), compiler
        )
        delta = ints([1, 2], [10, 20])
        delta.layout = Layout([(0, 0), None])
        output = program.run(delta)
        assert output is not None
        assert output.layout.places[0] is None
        assert output.column(2).values.tolist() == [-2]

    def test_groups_that_nobody_reads_are_left_behind(self, compiler) -> None:
        delta = delta_over([Values(np.array([1, 2], np.int32)), Values(np.array([3, 4], np.int32))], 2, True)
        output = program_of((), (), (1,), 2, TextDictionary(), compiler).run(delta)
        assert output is not None
        assert len(output.groups) == 1
        assert output.column(0).values.tolist() == [3, 4]

    def test_constants(self, compiler) -> None:
        maps = (integer(7), Literal(None, DOUBLE), Literal("x", VARCHAR))
        dictionary = TextDictionary()
        output = program_of(maps, (), (1, 2, 3), 1, dictionary, compiler).run(ints([1, 2]))
        assert output is not None
        assert output.column(0).values.tolist() == [7, 7]
        assert python_of(output.column(1), DOUBLE, dictionary) == [None, None]
        assert python_of(output.column(2), VARCHAR, dictionary) == ["x", "x"]

    def test_strings_that_come_later(self, compiler) -> None:
        dictionary = TextDictionary()
        like = Call("like", (Column(0, VARCHAR), Literal("%b", VARCHAR)), BOOLEAN)
        program = program_of((Call("upper", (Column(0, VARCHAR),), VARCHAR),), (like,), (1,), 1, dictionary, compiler)
        for texts in (["ab", "ba", None], ["b", "xb", "ab"], ["ab", "new b", "c"]):
            output = program.run(delta_of([column_of(texts, VARCHAR, dictionary)], 1, None))
            assert output is not None
            expected = [t.upper() for t in texts if t is not None and t.endswith("b")]
            assert python_of(output.column(0), VARCHAR, dictionary) == expected

    def test_a_map_without_a_loop_beside_one_that_has_it(self, compiler) -> None:
        dictionary = TextDictionary()
        t = Column(0, VARCHAR, False)
        joined = Call("concat", (t, t), VARCHAR, False)
        longer = Call("length", (Column(1, VARCHAR, False),), BIGINT, False)
        keep = compare("gt", Call("length", (t,), BIGINT, False), Literal(1, BIGINT))
        program = program_of((joined, longer), (keep,), (1, 2), 1, dictionary, compiler)
        output = program.run(delta_of([column_of(["a", "bc", "def"], VARCHAR, dictionary)], 1, None))
        assert output is not None
        assert python_of(output.column(0), VARCHAR, dictionary) == ["bcbc", "defdef"]
        assert output.column(1).values.tolist() == [4, 6]


def sum_over(constant: int, column: int, width: int, compiler: Compiler) -> MfpProgram:
    read = Column(column, INTEGER, False)
    return program_of((call("add", read, integer(constant)),), (), (width,), width, TextDictionary(), compiler)


def test_one_loop_serves_all_constants_and_positions() -> None:
    compiler = Compiler(wait=True)
    first, second = sum_over(1, 0, 2, compiler), sum_over(99, 1, 3, compiler)
    assert rows(first.run(ints([1], [2])))[0][0] == 2
    before = set(compiling._workshop._tickets)
    assert rows(second.run(ints([1], [2], [3])))[0][0] == 101
    assert set(compiling._workshop._tickets) == before


def test_the_interpreter_answers_until_the_loop_is_ready() -> None:
    compiler = Compiler()
    delta = ints([3, 4], [5, 6])
    maps = (call("sub", call("mul", A, A), call("mul", B, integer(31))),)
    program = program_of(maps, (compare("ne", A, integer(123)),), (2,), 2, TextDictionary(), compiler)
    assert rows(program.run(delta)) == rows(program.run(delta))
    compiler.order_all()
    assert compiler.wait(60)
    assert is_compiled(program)
    assert [r[0] for r in rows(program.run(delta))] == [9 - 155, 16 - 186]


def test_a_loop_that_does_not_compile_leaves_the_interpreter(monkeypatch, caplog) -> None:
    def broken(source: str):
        raise RuntimeError("no compiler here")

    monkeypatch.setattr(compiling, "find", broken)
    monkeypatch.setattr(compiling, "_workshop", compiling._Workshop())
    program = program_of((call("neg", A),), (), (1,), 1, TextDictionary(), Compiler(wait=True))
    assert [r[0] for r in rows(program.run(ints([4])))] == [-4]
    assert not is_compiled(program)
    assert "stay interpreted" in caplog.text


TYPES = (INTEGER, BIGINT, DOUBLE, BOOLEAN, VARCHAR)


def composed(sql: str, function: str, type_, *args: Any) -> Any:
    """The function over strategies of (SQL, Scalar)."""

    def compose(drawn: Any) -> tuple[str, Scalar]:
        return sql.format(*[text for text, _ in drawn]), Call(function, tuple(s for _, s in drawn), type_)

    return st.tuples(*args).map(compose)


def expressions(type_, depth: int) -> Any:
    """(SQL, Scalar) of a type over one column of each of `TYPES`."""
    place = TYPES.index(type_)
    column: Any = st.just((f"c{place}", Column(place, type_)))
    if depth == 0:
        return column
    below: dict[Any, Any] = {t: expressions(t, depth - 1) for t in TYPES}
    options = [
        column,
        composed("CASE WHEN {} THEN {} ELSE {} END", "case", type_, below[BOOLEAN], below[type_], below[type_]),
        composed("coalesce({}, {})", "coalesce", type_, below[type_], below[type_]),
    ]
    if type_ is VARCHAR:
        options.append(composed("upper({})", "upper", VARCHAR, below[VARCHAR]))
    if type_ is BOOLEAN:
        both = (below[BOOLEAN], below[BOOLEAN])
        options += [composed(f"({{}} {f} {{}})", f.lower(), BOOLEAN, *both) for f in ("AND", "OR")]
        options.append(composed("(NOT {})", "not", BOOLEAN, below[BOOLEAN]))
        options += [composed("({} IS NULL)", "is_null", BOOLEAN, below[t]) for t in TYPES]
        for function, sign in (("eq", "="), ("lt", "<"), ("ge", ">=")):
            options += [composed(f"({{}} {sign} {{}})", function, BOOLEAN, below[t], below[t]) for t in TYPES]
    return st.one_of(options)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(data=st.data())
def test_nested_expressions_agree_with_duckdb_in_both_forms(data) -> None:
    sql, scalar = data.draw(st.sampled_from(TYPES).flatmap(lambda t: expressions(t, 3)))
    drawn = data.draw(st.lists(st.tuples(*[st.none() | values_of(t) for t in TYPES]), min_size=1, max_size=8))
    expected = duckdb_rows(sql, TYPES, drawn, scalar.type)
    for compiler in (None, Compiler(wait=True)):
        dictionary = TextDictionary()
        columns = [column_of([r[i] for r in drawn], t, dictionary) for i, t in enumerate(TYPES)]
        program = program_of((scalar,), (), (len(TYPES),), len(TYPES), dictionary, compiler)
        output = program.run(delta_of(columns, 1, None))
        assert output is not None
        actual = python_of(output.column(0), scalar.type, dictionary)
        assert all(same(a, e) for a, e in zip(actual, expected, strict=True)), (sql, actual, expected)
