"""Comparisons, IN, and the functions that choose by comparing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.types import Physical, SqlType
from ivm.kernels.numbers import elementwise
from ivm.render.scalars.bodies.body import Body, EmitScalar
from ivm.render.scalars.columns import both, constant, truth
from ivm.render.scalars.functions import Apply, Build, Context, Evaluate
from ivm.render.scalars.rows import Rows
from ivm.render.scalars.texts import compare_columns, compare_memo
from ivm.render.scalars.writer import NotCompiledError, Value, Writer
from ivm.trace.column import Bools, Column
from sql.ir.functions import MIRRORED, NEGATED
from sql.ir.scalar import Call, Literal

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge":
    np.greater_equal, }  # fmt: skip

Test = Callable[[Any, Any], Bools]


def test_of(function: str, type_: SqlType, context: Context) -> Test:
    """The vectorized comparison `function` over two arrays of values of a type (NULLs not considered)."""
    physical = type_.physical
    if physical is Physical.FLOAT64:
        return _float_test(function)
    if physical is Physical.WIDE:
        return lambda a, b: _wide_test(function, a, b)
    if physical is Physical.CODE and function not in ("eq", "ne"):
        return lambda a, b: _OPERATIONS[function](compare_columns(context.dictionary, a, b), 0)
    return _OPERATIONS[function]


def _float_test(function: str) -> Test:
    """NaN equals NaN and is greater than all others."""
    if function in ("eq", "lt"):
        return elementwise.double_eq if function == "eq" else elementwise.double_lt
    if function in ("ne", "ge"):
        opposite = _float_test(NEGATED[function])
        return lambda a, b: ~opposite(a, b)
    mirrored = _float_test(MIRRORED[function])
    return lambda a, b: mirrored(b, a)


def _wide_test(function: str, a: Any, b: Any) -> Bools:
    """By the high words, signed, then the low words, unsigned."""
    equal = (a[:, 1] == b[:, 1]) & (a[:, 0] == b[:, 0])
    if function in ("eq", "ne"):
        return equal if function == "eq" else ~equal
    low_a = np.ascontiguousarray(a[:, 0]).view(np.uint64)
    low_b = np.ascontiguousarray(b[:, 0]).view(np.uint64)
    less = (a[:, 1] < b[:, 1]) | ((a[:, 1] == b[:, 1]) & (low_a < low_b))
    if function == "lt":
        return less
    if function == "le":
        return less | equal
    return ~(less | equal) if function == "gt" else ~less


def _comparison(call: Call, context: Context) -> Apply:
    memo = compare_memo(call, context)
    if memo is not None:
        return memo
    test = test_of(call.function, call.args[0].type, context)
    return lambda a, b: Column(test(a.values, b.values), both(a.valid, b.valid))


def is_null(call: Call, context: Context) -> Apply:
    """is_null(a), never NULL itself."""

    def apply(a: Column) -> Column:
        return Column(np.zeros(1, np.bool_) if a.valid is None else ~a.valid)

    return apply


def is_distinct(call: Call, context: Context) -> Apply:
    """is_distinct(a, b): NULL equals NULL and nothing else."""
    differ = test_of("ne", call.args[0].type, context)

    def apply(a: Column, b: Column) -> Column:
        values = differ(a.values, b.values)
        if a.valid is None and b.valid is None:
            return Column(values)
        x = np.ones(1, np.bool_) if a.valid is None else a.valid
        y = np.ones(1, np.bool_) if b.valid is None else b.valid
        return Column((x != y) | (x & y & values))

    return apply


def in_list(call: Call, context: Context) -> Apply:
    """in(a, literal, ...): TRUE if equal to one, else NULL if the list holds NULL, else FALSE."""
    physical = call.args[0].type.physical
    literals = [item.value for item in call.args[1:] if isinstance(item, Literal) and item.value is not None]
    with_null = len(literals) < len(call.args) - 1
    if physical is Physical.CODE:
        literals = context.dictionary.codes(literals).tolist()
    found = _membership(literals, physical, test_of("eq", call.args[0].type, context))

    def apply(a: Column, *_: Column) -> Column:
        hits = found(a.values)
        return Column(hits, both(a.valid, hits) if with_null else a.valid)

    return apply


def _membership(literals: list[Any], physical: Physical, equal: Test) -> Callable[[Any], Bools]:
    """Few literals are compared one by one; many integers are looked up in order."""
    if len(literals) > 8 and physical in (Physical.INT32, Physical.INT64, Physical.CODE):
        ordered = np.unique(np.array(literals, np.int64))

        def search(values: Any) -> Bools:
            places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
            return ordered[places] == values

        return search
    wanted = [constant(literal, physical).values for literal in literals]

    def one_by_one(values: Any) -> Bools:
        hits = np.zeros(len(values), np.bool_)
        for value in wanted:
            hits |= equal(values, value)
        return hits

    return one_by_one


def nullif(call: Call, context: Context) -> Apply:
    """nullif(a, b): NULL where equal, else a."""
    equal = test_of("eq", call.args[0].type, context)

    def apply(a: Column, b: Column) -> Column:
        same = truth(Column(equal(a.values, b.values), both(a.valid, b.valid)))
        return Column(a.values, both(a.valid, ~same))

    return apply


def extreme(call: Call, context: Context) -> Apply:
    """greatest(a, ...), least(a, ...): NULLs are skipped."""
    better = test_of("gt" if call.function == "greatest" else "lt", call.type, context)

    def choose(a: Column, b: Column) -> Column:
        wins = better(b.values, a.values)
        if b.valid is not None:
            wins = wins & b.valid
        if a.valid is not None:
            # Where a is NULL, b wins, unless it is NULL as well, and then it does not matter.
            wins = wins | ~a.valid
        chosen = wins[:, None] if call.type.physical is Physical.WIDE else wins
        values = np.where(chosen, b.values, a.values)
        valid = None if a.valid is None or b.valid is None else a.valid | b.valid
        return Column(values, valid)

    def apply(*columns: Column) -> Column:
        best = columns[0]
        for column in columns[1:]:
            best = choose(best, column)
        return best

    return apply


def lazy_in(call: Call, context: Context, build: Build) -> Evaluate:
    """Only the first argument is evaluated: the rest are literals."""
    first, apply = build(call.args[0]), in_list(call, context)

    def evaluate(rows: Rows) -> Column:
        return apply(first(rows))

    return evaluate


_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_DOUBLE = {
    "eq": "double_eq({0}, {1})", "ne": "not double_eq({0}, {1})", "lt": "double_lt({0}, {1})",
    "le": "not double_lt({1}, {0})", "gt": "double_lt({1}, {0})", "ge": "not double_lt({0}, {1})",
}  # fmt: skip


def compared(function: str, type_: SqlType, a: Value, b: Value) -> str:
    """The comparison of two values that are not NULL, as an expression."""
    if type_.physical is Physical.FLOAT64:
        return _DOUBLE[function].format(a.word, b.word)
    if type_.physical is Physical.WIDE:
        return f"wide_compare({', '.join((*a.words, *b.words))}) {_SIGNS[function]} 0"
    if type_.physical is Physical.CODE and function not in ("eq", "ne"):
        raise NotCompiledError(function)
    return f"{a.word} {_SIGNS[function]} {b.word}"


def _comparison_in_loop(writer: Writer, call: Call, args: list[Value]) -> Value:
    return Value((writer.let(compared(call.function, call.args[0].type, *args)),), writer.both(*args))


def _null_in_loop(writer: Writer, call: Call, args: list[Value]) -> Value:
    return Value(("False" if args[0].valid is None else writer.let(f"not {args[0].valid}"),))


def _distinct_in_loop(writer: Writer, call: Call, args: list[Value]) -> Value:
    a, b = args
    differ = writer.let(compared("ne", call.args[0].type, a, b))
    if a.valid is None and b.valid is None:
        return Value((differ,))
    x, y = a.valid or "True", b.valid or "True"
    return Value((writer.let(f"({x} != {y}) or ({x} and {y} and {differ})"),))


def _nullif_in_loop(writer: Writer, call: Call, args: list[Value]) -> Value:
    equal = writer.let(compared("eq", call.args[0].type, *args))
    valid = writer.both(*args)
    same = equal if valid is None else writer.let(f"{valid} and {equal}")
    return Value(args[0].words, writer.let(f"{args[0].valid or 'True'} and not {same}"))


def _extreme_in_loop(writer: Writer, call: Call, args: list[Value]) -> Value:
    function, best = ("gt" if call.function == "greatest" else "lt"), args[0]
    for other in args[1:]:
        wins = writer.let(compared(function, call.type, other, best))
        if best.valid is not None:
            wins = writer.let(f"{wins} or not {best.valid}")
        if other.valid is not None:
            wins = writer.let(f"{wins} and {other.valid}")
        words = tuple(writer.let(f"{o} if {wins} else {b}") for o, b in zip(other.words, best.words, strict=True))
        valid = None
        if best.valid is not None and other.valid is not None:
            valid = writer.let(f"{best.valid} or {other.valid}")
        best = Value(words, valid)
    return best


def _in_list_in_loop(writer: Writer, call: Call, emit: EmitScalar) -> Value:
    value, type_ = emit(writer, call.args[0]), call.args[0].type
    items = [item for item in call.args[1:] if isinstance(item, Literal) and item.value is not None]
    if len(items) > 8 and type_.physical in (Physical.INT32, Physical.INT64, Physical.CODE):
        code: Callable[[Any], int] = writer.context.dictionary.code if type_.physical is Physical.CODE else int
        members = np.unique(np.array([code(item.value) for item in items], np.int64))
        hit = writer.let(f"contains({writer.ordered_set(members)}, {value.word})")
    else:
        terms = [f"({compared('eq', type_, value, emit(writer, item))})" for item in items]
        hit = writer.let(" or ".join(terms) or "False")
    if len(items) == len(call.args) - 1:
        return Value((hit,), value.valid)
    return Value((hit,), hit if value.valid is None else writer.let(f"{value.valid} and {hit}"))


BODIES = (
    *(Body(name, strict=_comparison, loop=_comparison_in_loop, by_code=True) for name in ("eq", "ne")),
    *(Body(name, strict=_comparison, loop=_comparison_in_loop) for name in ("lt", "le", "gt", "ge")),
    Body("is_null", strict=is_null, loop=_null_in_loop, by_code=True),
    Body("is_distinct", strict=is_distinct, loop=_distinct_in_loop),
    Body("nullif", strict=nullif, loop=_nullif_in_loop),
    Body("greatest", strict=extreme, loop=_extreme_in_loop),
    Body("least", strict=extreme, loop=_extreme_in_loop),
    Body("in", lazy=lazy_in, lazy_loop=_in_list_in_loop, by_code=True),
)
