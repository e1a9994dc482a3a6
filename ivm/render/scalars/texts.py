"""Text over columns of dictionary codes: memos where one argument varies, row by row where several do."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.types import Kind, Physical
from ivm.kernels.like import like_codes
from ivm.render.scalars.columns import all_valid, dense
from ivm.render.scalars.functions import Apply, Build, Context, Evaluate
from ivm.render.scalars.rows import Rows
from ivm.render.scalars.text_functions import FUNCTIONS, like_parts
from ivm.render.scalars.text_memo import FALSE, TRUE, Compute, TextMemo
from ivm.trace.column import DTYPES, Array, Column, Ints
from sql.ir.scalar import Call, Literal

ANY_CHAR, ANY_RUN = -1, -2

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def varying(call: Call) -> int | None:
    """The position of the one argument that is not a literal, if that is text and no literal is NULL."""
    places = [i for i, a in enumerate(call.args) if not isinstance(a, Literal)]
    if len(places) != 1 or call.args[places[0]].type.kind is not Kind.VARCHAR:
        return None
    return None if any(isinstance(a, Literal) and a.value is None for a in call.args) else places[0]


def memo_of(call: Call, context: Context) -> TextMemo | None:
    """The memo that answers a text function or an ordering comparison, if it has one varying argument."""
    place = varying(call)
    if place is None or (call.function not in FUNCTIONS and call.function not in _ORDER):
        return None
    literals = tuple(a.value if isinstance(a, Literal) else None for a in call.args)

    def make() -> TextMemo:
        compute = _computation(call, place, literals, context)
        return TextMemo(context.dictionary, compute, call.type.physical)

    return context.memos.get((call.function, place, literals), make)


def _computation(call: Call, place: int, literals: tuple[Any, ...], context: Context) -> Compute:
    tokens = _tokens(call, place, literals)
    if tokens is not None:
        return _matching(context.dictionary, tokens)
    function = _of_text(call, place, literals)
    physical, dictionary = call.type.physical, context.dictionary

    def compute(codes: Array) -> tuple[Any, Array | None]:
        results = [function(text) for text in dictionary.strings(codes)]
        if physical is Physical.BOOL:
            return np.where(results, TRUE, FALSE), None
        states = np.full(len(codes), TRUE, np.int8)
        if physical is Physical.CODE:
            return states, dictionary.codes(results)
        return states, np.array(results, DTYPES[physical])

    return compute


def _of_text(call: Call, place: int, literals: tuple[Any, ...]) -> Callable[[str], Any]:
    """The function as one of its varying argument alone."""
    before, after = literals[:place], literals[place + 1 :]
    if call.function in _ORDER:
        order = _ORDER[call.function]
        # UTF-8 keeps the order of code points, which is Python's order of strings.
        return (lambda text: order(text, after[0])) if place == 0 else (lambda text: order(before[0], text))
    function = FUNCTIONS[call.function]
    return lambda text: function(*before, text, *after)


def _tokens(call: Call, place: int, literals: tuple[Any, ...]) -> Ints | None:
    """What `like_codes` matches, if the function is a match against a constant."""
    if place != 0 or call.function not in ("like", "contains", "starts_with"):
        return None
    if call.function == "like":
        parts = like_parts(literals[1], literals[2] if len(literals) > 2 else None)
    else:
        run = [("%", True)]
        exact = [(char, False) for char in literals[1]]
        parts = (run if call.function == "contains" else []) + exact + run
    tokens: list[int] = []
    for char, wild in parts:
        if wild:
            tokens.append(ANY_RUN if char == "%" else ANY_CHAR)
        else:
            tokens.extend(char.encode())
    return np.array(tokens, np.int64)


def _matching(dictionary: Any, tokens: Ints) -> Compute:
    def compute(codes: Any) -> tuple[Any, None]:
        hits = like_codes(dictionary.heap, dictionary.offsets, codes, tokens)
        return np.where(hits, np.int8(TRUE), np.int8(FALSE)), None

    return compute


def text_call(call: Call, context: Context, build: Build) -> Evaluate:
    """A function of text: through its memo if one argument varies, else row by row."""
    memo = memo_of(call, context)
    if memo is None:
        return _row_by_row(call, context, build)
    place = varying(call)
    assert place is not None
    argument = build(call.args[place])

    def evaluate(rows: Rows) -> Column:
        return memo.lookup(argument(rows))

    return evaluate


def compare_memo(call: Call, context: Context) -> Apply | None:
    """lt, le, gt, ge of text and a literal."""
    if call.function not in _ORDER or call.args[0].type.kind is not Kind.VARCHAR:
        return None
    memo, place = memo_of(call, context), varying(call)
    return None if memo is None or place is None else lambda *columns: memo.lookup(columns[place])


def compare_columns(dictionary: Any, a: Array, b: Array) -> Array:
    """-1, 0 or 1 for each pair of codes, by the bytes of their strings."""
    length = max(len(a), len(b))
    x, y = (np.repeat(v, length) if len(v) != length else v for v in (a, b))
    ranks = dictionary.ranks(np.concatenate([x, y]).astype(np.int32))
    signs: Array = np.sign(ranks[:length] - ranks[length:])
    return signs


def _row_by_row(call: Call, context: Context, build: Build) -> Evaluate:
    function, dictionary, physical = FUNCTIONS[call.function], context.dictionary, call.type.physical
    arguments = [build(a) for a in call.args]
    textual = [a.type.kind is Kind.VARCHAR for a in call.args]

    def evaluate(rows: Rows) -> Column:
        columns = tuple(argument(rows) for argument in arguments)
        valid = all_valid(columns)
        length = max(len(c.values) for c in columns)
        valid = None if valid is None else np.resize(valid, length)
        lists = [
            dictionary.strings(c.values) if text else c.values.tolist()
            for c, text in zip((dense(c, length) for c in columns), textual, strict=True)
        ]
        fallback = "" if physical is Physical.CODE else 0
        results = [
            function(*row) if valid is None or valid[i] else fallback for i, row in enumerate(zip(*lists, strict=True))
        ]
        if physical is Physical.CODE:
            results = [dictionary.code(text) for text in results]
        return Column(np.array(results, DTYPES[physical]), valid)

    return evaluate


LAZY = dict.fromkeys(FUNCTIONS, text_call)
