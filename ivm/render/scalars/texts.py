"""Text over columns of dictionary codes: memos where one argument varies, row by row where several do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.errors import NumericError
from catalog.types import Kind, Physical
from ivm.render.scalars.bodies.texts import TEXTS, native_of
from ivm.render.scalars.columns import Rows, all_valid, dense, objects, pick, spread
from ivm.render.scalars.functions import Apply, Build, Context, Evaluate
from ivm.render.scalars.text_memo import ERROR, NOTHING, NULL, Compute, Failure, TextMemo, known, one_by_one
from ivm.render.scalars.text_natives import learning
from ivm.trace import regex
from ivm.trace.column import DTYPES, Array, Column
from sql.ir.functions import Raises, function_of
from sql.ir.scalar import Call, Literal
from sql.types.texts import reader

REGEXES: dict[str, Callable[..., Array]] = {
    "regexp_matches": regex.found,
    "regexp_full_match": regex.matched,
    "regexp_replace": regex.replaced,
    "regexp_extract": regex.extracted,
}
"""Regular expressions, by the functions' names: of codes of strings. Patterns and what replaces them are literals."""
_ORDERS = frozenset(("lt", "le", "gt", "ge"))
_CASTS = frozenset(("cast", "try_cast"))


def memo_of(call: Call, context: Context) -> tuple[TextMemo, int] | None:
    """The memo that answers a function of text, and the argument whose string it is asked for; None if it has none.

    It has one where just one argument is no literal, and that is text, and no literal is NULL.
    """
    places = [i for i, a in enumerate(call.args) if not isinstance(a, Literal)]
    if call.function in REGEXES or call.function in _CASTS:  # always: their other arguments are literals
        places = [0]
    if call.function in _CASTS and call.type.kind is Kind.VARCHAR:
        return None
    if call.function not in _BY_MEMO or len(places) != 1 or call.args[places[0]].type.kind is not Kind.VARCHAR:
        return None
    (place,) = places
    literals = tuple(a.value if isinstance(a, Literal) and i != place else None for i, a in enumerate(call.args))
    if None in literals[:place] + literals[place + 1 :]:
        return None

    def make() -> TextMemo:
        compute = _computation(call, place, literals, context)
        return TextMemo(context.dictionary, compute, call.type.physical, _failure(call, place, literals))

    key = (call.function, call.type) if call.function in _CASTS else (call.function, place, literals)
    return context.memo(key, make), place


def _computation(call: Call, place: int, literals: tuple[Any, ...], context: Context) -> Compute:
    physical, dictionary = call.type.physical, context.dictionary
    native = native_of(call)
    if native is not None:
        return learning(native, dictionary)
    if call.function in REGEXES:
        rewrite = str(literals[2]) if call.function == "regexp_replace" else ""
        regex.check_pattern(str(literals[1]), rewrite)
        return lambda codes: known(REGEXES[call.function](dictionary, codes, *literals[1:]))
    if call.function in _CASTS:
        read = reader(call.type)
        assert read is not None, "the binder casts no text to other types"
        return one_by_one(read, physical, dictionary, ERROR if call.function == "cast" else NULL)
    before, after, function = literals[:place], literals[place + 1 :], TEXTS[call.function].each
    return one_by_one(lambda text: function(*before, text, *after), physical, dictionary)


def _failure(call: Call, place: int, literals: tuple[Any, ...]) -> Failure | None:
    """The message for a string of which the function has no value; None if it has one of every string."""
    if function_of(call.function).raises is Raises.NEVER:
        return None

    def message(text: str) -> str:
        return _problem(call, [text if i == place else literal for i, literal in enumerate(literals)])

    return message


def _problem(call: Call, values: list[Any]) -> str:
    what = f"cannot compute {call.function}({', '.join(map(repr, values))})"
    if call.function in _CASTS:
        return f"cannot cast {values[0]!r} to {call.type}: it is no such value; correct the text or filter it out first"
    try:
        TEXTS[call.function].each(*values)
    except ValueError as reason:
        return f"{what}: {reason}"
    return what


def text_call(call: Call, context: Context, build: Build) -> Evaluate:
    """A function of text or to text: through its memo if one argument varies and is text, else value by value."""
    found = memo_of(call, context)
    if found is None:
        return _value_by_value(call, context, build)
    memo, argument = found[0], build(call.args[found[1]])

    def evaluate(rows: Rows) -> Column:
        return memo.lookup(argument(rows))

    return evaluate


def by_memo(call: Call, context: Context) -> Apply | None:
    """A comparison with a text, or a cast of one; None for others, and without a memo."""
    found = memo_of(call, context)
    if found is None:
        return None
    memo, place = found
    return lambda *columns: memo.lookup(columns[place])


def compare_columns(dictionary: Any, a: Array, b: Array) -> Array:
    """-1, 0 or 1 for each pair of codes, by the bytes of their strings."""
    length = max(len(a), len(b))
    x, y = (np.repeat(v, length) if len(v) != length else v for v in (a, b))
    ranks = dictionary.now().ranks(np.concatenate([x, y]).astype(np.int32))
    signs: Array = np.sign(ranks[:length] - ranks[length:])
    return signs


def _value_by_value(call: Call, context: Context, build: Build) -> Evaluate:
    """Each distinct value, or each row if several arguments vary. Cost: some microseconds for each."""
    arguments = [build(a) for a in call.args]

    def evaluate(rows: Rows) -> Column:
        columns = tuple(argument(rows) for argument in arguments)
        valid = all_valid(columns)
        if valid is None:
            return _computed(call, context.dictionary, columns)
        # What stands under NULL may be no argument of the function.
        length = max(*(len(c.values) for c in columns), len(valid))
        there = np.flatnonzero(np.resize(valid, length))
        found = _computed(call, context.dictionary, tuple(pick(c, there) for c in columns)) if len(there) else None
        return spread(found, there, length, call.type.physical)

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
        results = [NOTHING.get(physical, 0) if r is None else r for r in results]
    if physical is Physical.CODE:
        return Column(dictionary.codes(results), valid)
    return Column(np.array(results, DTYPES[physical]), valid)


_BY_MEMO = frozenset((*TEXTS, *_ORDERS, *_CASTS, *REGEXES))
