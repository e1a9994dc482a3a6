"""Texts on their way: what functions make of texts, and others read, has codes of a dictionary that is thrown away.

Of what an expression computes, the database's text dictionary gets what comes out of it alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial

from ivm.catalog.types import Physical
from ivm.render.scalars.bodies.table import BODIES
from ivm.render.scalars.columns import Rows, dense
from ivm.render.scalars.functions import Context, Evaluate, Interpreter
from ivm.render.scalars.text_memo import TextMemo
from ivm.render.scalars.texts import by_value, is_by_value
from ivm.sql.ir.functions import is_null_of_null
from ivm.sql.ir.scalar import Call, Scalar, columns_of, rewrite, walk
from ivm.sql.ir.scalar import Column as Reference
from ivm.trace.columns.column import Array, Column
from ivm.trace.delta import delta_of

_PASSED_ON = frozenset(("case", "coalesce", "nullif", "greatest", "least", "raise_if"))
"""Functions that make no text of texts: they give one of those that they are given."""


def passes_texts(scalar: Scalar) -> bool:
    """Whether it reads a text that a function made, or several at a time, so that it is computed over a scratch."""
    if not isinstance(scalar, Call) or any(part.type.is_nested for part in walk(scalar)):
        return False
    given = list(_given(scalar))
    if any(isinstance(each, Call) and each.function not in _PASSED_ON for each in given):
        return True
    if scalar.function in _PASSED_ON or BODIES[scalar.function].by_code:
        return False
    return len({each.index for each in given if isinstance(each, Reference)}) > 1


def _given(call: Call) -> Iterator[Scalar]:
    for arg in call.args:
        if arg.type.physical is Physical.CODE:
            yield arg
            if isinstance(arg, Call) and arg.function in _PASSED_ON:
                yield from _given(arg)


def is_remembered(call: Scalar) -> bool:
    """Whether what it says of each code is remembered: a function of one text and of nothing else, NULL of NULL."""
    if not isinstance(call, Call):
        return False
    calls = [part for part in walk(call) if isinstance(part, Call) and part.function != "in"]
    if not all(map(is_null_of_null, calls)):
        return False
    read = {part for part in walk(call) if isinstance(part, Reference)}
    if len({each.index for each in read}) != 1 or not all(each.type.is_text for each in read):
        return False
    return passes_texts(call) or (is_by_value(call) and any(isinstance(arg, Reference) for arg in call.args))


def over_scratch(call: Call, context: Context, interpreter: Interpreter) -> Evaluate:
    """What computes a call that `passes_texts`."""
    texts = frozenset(
        part.index for part in walk(call) if isinstance(part, Reference) and part.type.physical is Physical.CODE
    )
    built = lru_cache(1)(partial(interpreter, call))
    built(context.scratch())  # what cannot be computed is refused now

    def evaluate(rows: Rows) -> Column:
        scratch = context.scratch()
        assert scratch.texts is not None, "it is a scratch"
        found = built(scratch)(rows.over(scratch.texts, texts))
        if call.type.physical is not Physical.CODE:
            return found
        if found.valid is not None:  # which may be told of all rows at once
            found = dense(found, max(len(found.values), len(found.valid)))
        there = scratch.dictionary.now().packed(found.values, found.valid)
        return Column(context.dictionary.encode_parts(*there, found.valid), found.valid)

    return evaluate


def memo_of(call: Call, context: Context, interpreter: Interpreter) -> tuple[TextMemo, int]:
    """What remembers the values of a call that `is_remembered`, and the column of whose text it is asked."""
    key = rewrite(call, lambda part: Reference(0, part.type) if isinstance(part, Reference) else part)
    assert isinstance(key, Call), "it is the same call, of another column"

    def make() -> TextMemo:
        own, compute_each = Context(context.dictionary), over_scratch if passes_texts(key) else by_value
        evaluate = compute_each(key, own, interpreter)

        def compute(codes: Array) -> Column:
            return dense(evaluate(Rows(delta_of([Column(codes)], 0, None))), len(codes))

        return TextMemo(own.dictionary, compute, key.type.physical)

    (column,) = columns_of(call)
    return context.memo(("text", key), make), column
