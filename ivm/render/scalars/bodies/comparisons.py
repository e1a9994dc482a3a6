"""Comparisons, IN, and the functions that choose by comparing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.types import Physical, SqlType
from ivm.kernels.numbers.elementwise import double_eq
from ivm.render.scalars.bodies.body import Body, EmitScalar
from ivm.render.scalars.columns import both, constant
from ivm.render.scalars.functions import Apply, Build, Context, Evaluate
from ivm.render.scalars.rows import Rows
from ivm.render.scalars.texts import compare_columns, compare_memo
from ivm.render.scalars.writer import NotCompiledError, Script, Value, Writer
from ivm.trace.column import Bools, Column
from sql.ir.scalar import Call, Literal

_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_DOUBLE = {
    "eq": "double_eq({0}, {1})", "ne": "double_eq({0}, {1}) ^ True", "lt": "double_lt({0}, {1})",
    "le": "double_lt({1}, {0}) ^ True", "gt": "double_lt({1}, {0})", "ge": "double_lt({0}, {1}) ^ True",
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


def comparison(script: Script, call: Call, args: list[Value]) -> Value:
    """eq, ne, lt, le, gt, ge."""
    return Value((script.let(compared(call.function, call.args[0].type, *args)),), script.both(*args))


def is_null(script: Script, call: Call, args: list[Value]) -> Value:
    """is_null(a), never NULL itself."""
    return Value(("False" if args[0].valid is None else script.let(f"{args[0].valid} ^ True"),))


def is_distinct(script: Script, call: Call, args: list[Value]) -> Value:
    """is_distinct(a, b): NULL equals NULL and nothing else."""
    a, b = args
    differ = script.let(compared("ne", call.args[0].type, a, b))
    if a.valid is None and b.valid is None:
        return Value((differ,))
    x, y = a.valid or "True", b.valid or "True"
    return Value((script.let(f"({x} != {y}) | ({x} & {y} & {differ})"),))


def nullif(script: Script, call: Call, args: list[Value]) -> Value:
    """nullif(a, b): NULL where equal, else a."""
    same = script.let(compared("eq", call.args[0].type, *args))
    valid = script.both(*args)
    if valid is not None:
        same = script.let(f"{valid} & {same}")
    return Value(args[0].words, script.let(f"{args[0].valid or 'True'} & ({same} ^ True)"))


def extreme(script: Script, call: Call, args: list[Value]) -> Value:
    """greatest(a, ...), least(a, ...): NULLs are skipped."""
    function, best = ("gt" if call.function == "greatest" else "lt"), args[0]
    for other in args[1:]:
        wins = script.let(compared(function, call.type, other, best))
        if best.valid is not None:
            # Where the best is NULL, the other wins, unless it is NULL as well, and then it does not matter.
            wins = script.let(f"{wins} | ({best.valid} ^ True)")
        if other.valid is not None:
            wins = script.let(f"{wins} & {other.valid}")
        words = tuple(script.let(f"where({wins}, {o}, {b})") for o, b in zip(other.words, best.words, strict=True))
        valid = None
        if best.valid is not None and other.valid is not None:
            valid = script.let(f"{best.valid} | {other.valid}")
        best = Value(words, valid)
    return best


def _ordered_texts(call: Call, context: Context) -> Apply | None:
    """lt, le, gt, ge of texts, which have codes in no order."""
    if call.args[0].type.physical is not Physical.CODE:
        return None
    memo = compare_memo(call, context)
    if memo is not None:
        return memo
    holds = _ORDERS[call.function]
    return lambda a, b: Column(
        holds(compare_columns(context.dictionary, a.values, b.values), 0), both(a.valid, b.valid)
    )


_ORDERS: dict[str, Callable[..., Any]] = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}


def _extreme_texts(call: Call, context: Context) -> Apply | None:
    if call.type.physical is not Physical.CODE:
        return None
    sign = 1 if call.function == "greatest" else -1

    def apply(*columns: Column) -> Column:
        best = columns[0]
        for other in columns[1:]:
            wins: Any = compare_columns(context.dictionary, other.values, best.values) == sign
            wins = wins if best.valid is None else wins | ~best.valid
            wins = wins if other.valid is None else wins & other.valid
            valid = None if best.valid is None or other.valid is None else best.valid | other.valid
            best = Column(np.where(wins, other.values, best.values), valid)
        return best

    return apply


def in_list(call: Call, context: Context, build: Build) -> Evaluate:
    """in(a, literal, ...): TRUE if equal to one, else NULL if the list holds NULL, else FALSE."""
    first, physical = build(call.args[0]), call.args[0].type.physical
    literals = _items(call, context)
    with_null = len(literals) < len(call.args) - 1
    found = _membership(literals, physical)

    def evaluate(rows: Rows) -> Column:
        a = first(rows)
        hits = found(a.values)
        return Column(hits, both(a.valid, hits) if with_null else a.valid)

    return evaluate


def _items(call: Call, context: Context) -> list[Any]:
    """The values of the list that are not NULL."""
    literals = [item.value for item in call.args[1:] if isinstance(item, Literal) and item.value is not None]
    coded = call.args[0].type.physical is Physical.CODE
    return context.literals.codes([str(value) for value in literals]) if coded else literals


def _are_searched(literals: list[Any], physical: Physical) -> bool:
    """Few literals are compared one by one; many integers are looked up in order."""
    return len(literals) > 8 and physical in (Physical.INT32, Physical.INT64, Physical.CODE)


def _membership(literals: list[Any], physical: Physical) -> Callable[[Any], Bools]:
    if _are_searched(literals, physical):
        ordered = np.unique(np.array(literals, np.int64))

        def search(values: Any) -> Bools:
            places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
            return ordered[places] == values

        return search
    wanted = [constant(literal, physical).values for literal in literals]
    equal = double_eq if physical is Physical.FLOAT64 else np.equal

    def one_by_one(values: Any) -> Bools:
        hits = np.zeros(len(values), np.bool_)
        for value in wanted:
            same = equal(values, value)
            hits |= same if same.ndim == 1 else same.all(axis=1)
        return hits

    return one_by_one


def _in_list_in_loop(writer: Writer, call: Call, emit: EmitScalar) -> Value:
    value, type_ = emit(writer, call.args[0]), call.args[0].type
    items = [item for item in call.args[1:] if isinstance(item, Literal) and item.value is not None]
    if _are_searched(items, type_.physical):
        members = np.unique(np.array(_items(call, writer.context), np.int64))
        hit = writer.let(f"contains({writer.ordered_set(members)}, {value.word})")
    else:
        terms = [f"({compared('eq', type_, value, emit(writer, item))})" for item in items]
        hit = writer.let(" or ".join(terms) or "False")
    if len(items) == len(call.args) - 1:
        return Value((hit,), value.valid)
    return Value((hit,), hit if value.valid is None else writer.let(f"{value.valid} and {hit}"))


BODIES = (
    *(Body(name, comparison, narrow=True, by_code=True) for name in ("eq", "ne")),
    *(Body(name, comparison, narrow=True, strict=_ordered_texts) for name in _ORDERS),
    Body("is_null", is_null, narrow=True, by_code=True),
    Body("is_distinct", is_distinct, narrow=True),
    Body("nullif", nullif, narrow=True),
    Body("greatest", extreme, narrow=True, strict=_extreme_texts),
    Body("least", extreme, narrow=True, strict=_extreme_texts),
    Body("in", lazy=in_list, lazy_loop=_in_list_in_loop, by_code=True),
)
