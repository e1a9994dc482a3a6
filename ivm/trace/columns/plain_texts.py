"""Casts of texts that are written plainly, as programs write numbers, days and moments: Arrow reads columns of them.

What it would read otherwise than DuckDB, or not at all, is not plain: spaces, signs of plus, underscores, digits that a
type has no room for.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ivm.catalog.types import Kind, SqlType, integer_range
from ivm.trace.columns.arrow import NO_TEXTS, arrow_type, to_column
from ivm.trace.columns.column import Column, concat, every
from ivm.trace.text.texts import text_buffers

_MANY = 64
"""Of fewer texts each is read by itself, which takes no longer."""
_DAY = r"[1-9]\d{3}-\d\d-\d\d"
_FORMS = {
    Kind.DOUBLE: r"-?\d{1,200}(\.\d{1,200})?([eE][+-]?\d{1,2})?",
    Kind.DATE: _DAY,
    Kind.TIMESTAMP: rf"{_DAY}[ T]\d\d:\d\d:\d\d(\.\d{{1,6}})?",
}


_NUMERALS = np.zeros(256, np.bool_)
_NUMERALS[list(b"0123456789.-")] = True
_MOST_NUMERALS, _MOST_DIGITS = 200, 38
"""So long may the text of a DOUBLE be; with the digits that a DECIMAL has behind the point, that of any other number:
of longer ones Arrow does not always see that they do not fit.
"""


def is_of_numerals(type: SqlType) -> bool:
    """Whether Arrow reads what is made of digits, points and minus signs alone as DuckDB does, or not at all."""
    return (type.is_integer or type.kind in (Kind.DECIMAL, Kind.DOUBLE)) and _form(type) is not None


def gains(count: int, type: SqlType) -> bool:
    """Whether it may be worth a try to cast so many texts to a type."""
    return count >= _MANY and _form(type) is not None


def cast_numerals(texts: pa.Array | pa.ChunkedArray, type: SqlType) -> Column | None:
    """What the texts, none of which is NULL, are as values of `type`; None if some are no numerals, or do not fit.

    Cost: some 20 ns a text.
    """
    most = _MOST_NUMERALS if type.kind is Kind.DOUBLE else _MOST_DIGITS - type.scale
    if is_of_numerals(type) and _are_numerals(texts, most):
        with suppress(pa.ArrowInvalid):
            return to_column(pc.cast(texts, arrow_type(type)), type, NO_TEXTS)
    return None


def cast_plainly(
    texts: pa.Array | pa.ChunkedArray, type: SqlType, others: Callable[[pa.Array], Column]
) -> Column | None:
    """What the texts, none of which is NULL, are as values of `type`; those that are not plain as `others` reads them.

    None where nothing is gained, see `gains`, or of days that there are not. Cost: some 20 ns a number, 0.2 us a day.
    """
    if not gains(len(texts), type):
        return None
    found = cast_numerals(texts, type)
    if found is not None:
        return found
    is_plain = pc.match_substring_regex(texts, f"^{_form(type)}$")
    try:
        plain = to_column(pc.cast(texts.filter(is_plain), arrow_type(type)), type, NO_TEXTS)
    except pa.ArrowInvalid:
        return None
    mask = is_plain.to_numpy(zero_copy_only=False)
    if every(mask):
        return plain
    odd = np.flatnonzero(~mask)
    order = np.concatenate([np.flatnonzero(mask), odd])
    return concat([plain, others(texts.take(odd))]).take(np.argsort(order))


def _are_numerals(texts: pa.Array | pa.ChunkedArray, most: int) -> bool:
    """Whether texts are made of digits, points and minus signs alone, at most so many."""
    for chunk in texts.chunks if isinstance(texts, pa.ChunkedArray) else (texts,):
        data, places, _ = text_buffers(chunk)
        if np.diff(places).max(initial=0) > most or not _NUMERALS[data[places[0] : places[-1]]].all():
            return False
    return True


def _form(type: SqlType) -> str | None:
    """How the values of a type are plainly written, as a regular expression; None where Arrow does not read them."""
    if type.kind is Kind.DECIMAL:
        whole, scale = type.precision - type.scale, type.scale
        fraction = rf"(\.\d{{1,{scale}}})?" if scale else ""
        return rf"-?\d{{1,{whole}}}{fraction}" if whole else None
    if not type.is_integer:
        return _FORMS.get(type.kind)
    low, high = integer_range(type.kind)
    sign = "-?" if low < 0 else ""
    return rf"{sign}\d{{1,{len(str(high)) - 1}}}"
