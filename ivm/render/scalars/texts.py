"""Text over columns of dictionary codes: memos where one argument varies, row by row where several do."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.errors import NumericError
from catalog.types import Kind, Physical
from ivm.render.scalars import regexes
from ivm.render.scalars.bodies.texts import TEXTS, native_of
from ivm.render.scalars.columns import all_valid, dense, objects, pick
from ivm.render.scalars.functions import Apply, Build, Context, Evaluate
from ivm.render.scalars.rows import Rows
from ivm.render.scalars.text_memo import ERROR, FALSE, NULL, TRUE, Compute, Failure, TextMemo
from ivm.render.scalars.text_natives import learning
from ivm.trace.column import DTYPES, Array, Column
from sql.ir.functions import Raises, function_of
from sql.ir.scalar import Call, Literal

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def varying(call: Call) -> int | None:
    """The position of the one argument that is not a literal, if that is text and no literal is NULL."""
    places = [i for i, a in enumerate(call.args) if not isinstance(a, Literal)]
    if len(places) != 1 or call.args[places[0]].type.kind is not Kind.VARCHAR:
        return None
    return None if any(isinstance(a, Literal) and a.value is None for a in call.args) else places[0]


def memo_place(call: Call) -> int | None:
    """The argument whose string the function's memo is asked for; None if it has no memo."""
    if call.function in regexes.FUNCTIONS:  # always, since their patterns are literals
        return 0
    return varying(call) if call.function in _BY_MEMO else None


def memo_of(call: Call, context: Context) -> TextMemo | None:
    """The memo that answers a text function or an ordering comparison, if it has one (see `memo_place`)."""
    place = memo_place(call)
    if place is None:
        return None
    literals = tuple(a.value if isinstance(a, Literal) and i != place else None for i, a in enumerate(call.args))

    def make() -> TextMemo:
        compute = _computation(call, place, literals, context)
        return TextMemo(context.dictionary, compute, call.type.physical, _failure(call, place, literals))

    return context.memo((call.function, place, literals), make)


def _computation(call: Call, place: int, literals: tuple[Any, ...], context: Context) -> Compute:
    native = native_of(call)
    if native is not None:
        return learning(native, call.type.physical, context.dictionary)
    if call.function in regexes.FUNCTIONS:
        return regexes.computation(call.function, literals[1:], context.dictionary)
    function = _of_text(call, place, literals)
    physical, dictionary = call.type.physical, context.dictionary

    def compute(codes: Array) -> tuple[Any, Array | None]:
        results: list[Any] = []
        states = np.full(len(codes), TRUE, np.int8)
        for i, text in enumerate(dictionary.now().strings(codes)):
            try:
                result = function(text)
            except ValueError:
                states[i], result = ERROR, _NOTHING[physical]
            if result is None:
                states[i], result = NULL, _NOTHING[physical]
            results.append(result)
        if physical is Physical.BOOL:
            return np.where((states == TRUE) & ~np.array(results, np.bool_), FALSE, states), None
        if physical is Physical.CODE:
            return states, dictionary.codes(results)
        return states, np.array(results, DTYPES[physical])

    return compute


_NOTHING = {Physical.BOOL: False, Physical.CODE: "", Physical.FLOAT64: 0.0, Physical.INT32: 0, Physical.INT64: 0}
"""What stands under NULL."""


def _failure(call: Call, place: int, literals: tuple[Any, ...]) -> Failure | None:
    """The message for a string of which the function has no value; None if it has one of every string."""
    if function_of(call.function).raises is Raises.NEVER:
        return None

    def message(text: str) -> str:
        return _problem(call, [text if i == place else literal for i, literal in enumerate(literals)])

    return message


def _problem(call: Call, values: list[Any]) -> str:
    what = f"cannot compute {call.function}({', '.join(map(repr, values))})"
    try:
        TEXTS[call.function].each(*values)
    except ValueError as reason:
        return f"{what}: {reason}"
    return what


def _of_text(call: Call, place: int, literals: tuple[Any, ...]) -> Callable[[str], Any]:
    """The function as one of its varying argument alone."""
    before, after = literals[:place], literals[place + 1 :]
    if call.function in _ORDER:
        order = _ORDER[call.function]
        # UTF-8 keeps the order of code points, which is Python's order of strings.
        return (lambda text: order(text, after[0])) if place == 0 else (lambda text: order(before[0], text))
    function = TEXTS[call.function].each
    return lambda text: function(*before, text, *after)


def text_call(call: Call, context: Context, build: Build) -> Evaluate:
    """A function of text or to text: through its memo if one argument varies and is text, else value by value."""
    place, memo = memo_place(call), memo_of(call, context)
    if memo is None or place is None:
        return _value_by_value(call, context, build)
    argument = build(call.args[place])

    def evaluate(rows: Rows) -> Column:
        return memo.lookup(argument(rows))

    return evaluate


def compare_memo(call: Call, context: Context) -> Apply | None:
    """lt, le, gt, ge of text and a literal."""
    if call.function not in _ORDER or call.args[0].type.kind is not Kind.VARCHAR:
        return None
    memo, place = memo_of(call, context), memo_place(call)
    return None if memo is None or place is None else lambda *columns: memo.lookup(columns[place])


def compare_columns(dictionary: Any, a: Array, b: Array) -> Array:
    """-1, 0 or 1 for each pair of codes, by the bytes of their strings."""
    length = max(len(a), len(b))
    x, y = (np.repeat(v, length) if len(v) != length else v for v in (a, b))
    ranks = dictionary.now().ranks(np.concatenate([x, y]).astype(np.int32))
    signs: Array = np.sign(ranks[:length] - ranks[length:])
    return signs


def _value_by_value(call: Call, context: Context, build: Build) -> Evaluate:
    """Each distinct value, or each row if several arguments vary. Cost: some microseconds for each."""
    arguments, dtype = [build(a) for a in call.args], DTYPES[call.type.physical]

    def evaluate(rows: Rows) -> Column:
        columns = tuple(argument(rows) for argument in arguments)
        valid = all_valid(columns)
        if valid is None:
            return _computed(call, context.dictionary, columns)
        # What stands under NULL may be no argument of the function.
        length = max(*(len(c.values) for c in columns), len(valid))
        valid = np.resize(valid, length)
        there = np.flatnonzero(valid)
        found = _computed(call, context.dictionary, tuple(pick(c, there) for c in columns)) if len(there) else None
        values, kept = np.zeros(length, dtype), valid.copy()
        if found is not None:
            values[there] = found.values
            kept[there] = True if found.valid is None else found.valid
        return Column(values, kept)

    return evaluate


def _computed(call: Call, dictionary: Any, columns: tuple[Column, ...]) -> Column:
    """The function of columns without NULLs, of which some may be of length one."""
    long = [c for c in columns if len(c.values) > 1]
    if len(long) != 1 or long[0].values.ndim != 1:
        return _results(call, dictionary, columns)
    some, places = np.unique(long[0].values, return_inverse=True)
    found = _results(call, dictionary, tuple(Column(some) if c is long[0] else c for c in columns))
    found = dense(found, len(some))
    return Column(found.values[places], None if found.valid is None else found.valid[places])


def _results(call: Call, dictionary: Any, columns: tuple[Column, ...]) -> Column:
    function, physical = TEXTS[call.function].each, call.type.physical
    length = max(len(c.values) for c in columns)
    spread = [dense(c, length).values for c in columns]
    lists = [
        dictionary.now().strings(values) if arg.type.kind is Kind.VARCHAR else objects(values).tolist()
        for values, arg in zip(spread, call.args, strict=True)
    ]
    results: list[Any] = []
    for row in zip(*lists, strict=True):
        try:
            results.append(function(*row))
        except ValueError:
            raise NumericError(_problem(call, list(row))) from None
    valid = None
    if None in results:
        valid = np.array([r is not None for r in results], np.bool_)
        results = [_NOTHING[physical] if r is None else r for r in results]
    if physical is Physical.CODE:
        return Column(dictionary.codes(results), valid)
    return Column(np.array(results, DTYPES[physical]), valid)


_BY_MEMO = frozenset((*TEXTS, *_ORDER, *regexes.FUNCTIONS))
