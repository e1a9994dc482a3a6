"""Functions of text: how Python computes each of single values, and how its native does of bytes, if it has one.

A string without a value raises ValueError, where the function is declared to raise; its message completes "cannot
compute f(...): ".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ivm.catalog.calendar import month_of
from ivm.catalog.types import Kind
from ivm.render.scalars import text_dates, text_functions, text_natives
from ivm.render.scalars.text_functions import SPACES
from ivm.render.scalars.text_natives import FAR, Native, characters, of_parts
from ivm.sql.ir.scalar import Call, Literal


@dataclass(frozen=True, slots=True)
class Text:
    """A function of text.

    Attributes:
        each: its value of one value of each argument; None is NULL.
        native: from the literals behind a text to what computes the function of the text's bytes (see
            `ivm.render.scalars.text_natives`); None where nothing does.
    """

    each: Callable[..., Any]
    native: Callable[..., Native | None] | None = None


TEXTS = {
    "upper": Text(text_functions.upper, text_natives.case_changed(text_functions.upper, "a", "z")),
    "lower": Text(text_functions.lower, text_natives.case_changed(text_functions.lower, "A", "Z")),
    "trim": Text(lambda text, chars=SPACES: text.strip(chars), text_natives.trimmed(True, True)),
    "ltrim": Text(lambda text, chars=SPACES: text.lstrip(chars), text_natives.trimmed(True, False)),
    "rtrim": Text(lambda text, chars=SPACES: text.rstrip(chars), text_natives.trimmed(False, True)),
    "length": Text(len, lambda: text_natives.length),
    "strlen": Text(lambda text: len(text.encode()), lambda: text_natives.byte_length),
    "bit_length": Text(lambda text: 8 * len(text.encode()), lambda: text_natives.bit_length),
    "substring": Text(text_functions.substring, text_natives.substring),
    "left": Text(lambda text, count: text[:count], lambda count: characters(0, False, count, count < 0)),
    "right": Text(text_functions.right, lambda count: characters(-count, count >= 0, FAR, False)),
    "cut": Text(text_functions.cut),
    "concat": Text(lambda *texts: "".join(texts)),
    "replace": Text(lambda text, old, new: text.replace(old, new) if old else text),
    "repeat": Text(text_functions.repeat),
    "lpad": Text(text_functions.lpad),
    "rpad": Text(text_functions.rpad),
    "reverse": Text(text_functions.reverse),
    "translate": Text(text_functions.translate),
    "split_part": Text(text_functions.split_part),
    "strpos": Text(lambda text, part: text.find(part) + 1),
    "starts_with": Text(str.startswith, lambda part: of_parts(part, last="")),
    "ends_with": Text(str.endswith, lambda part: of_parts("", last=part)),
    "contains": Text(lambda text, part: part in text, lambda part: of_parts("", part, last="")),
    "ascii": Text(lambda text: ord(text[0]) if text else 0),
    "unicode": Text(lambda text: ord(text[0]) if text else -1),
    "chr": Text(text_functions.character),
    "levenshtein": Text(text_functions.levenshtein),
    "hex": Text(lambda text: text.encode().hex().upper()),
    "md5": Text(text_functions.digest("md5")),
    "sha1": Text(text_functions.digest("sha1")),
    "sha256": Text(text_functions.digest("sha256")),
    "formatted": Text(text_functions.formatted),
    "like": Text(text_functions.like, text_natives.like),
    "ilike": Text(text_functions.ilike),
    "dayname": Text(lambda days: text_dates.DAYS[(days + 3) % 7]),
    "monthname": Text(lambda days: text_dates.MONTHS[month_of(days) - 1]),
    "strftime": Text(text_dates.strftime),
    "strptime": Text(text_dates.strptime),
    "try_strptime": Text(text_dates.try_strptime),
}
"""By the function's name. Regular expressions stand in `ivm.render.scalars.texts`, comparisons in `comparisons`."""

_COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))


def native_of(call: Call) -> Native | None:
    """What computes the function from its text, if that is its one argument that is no literal; None if nothing does.

    A text that is compared may be on either side; in all other functions it comes first.
    """
    given = [a for a in call.args if not isinstance(a, Literal)]
    if len(given) != 1 or given[0].type.kind is not Kind.VARCHAR:
        return None
    values = tuple(a.value for a in call.args if isinstance(a, Literal))
    if any(value is None for value in values):
        return None
    mirrored = isinstance(call.args[0], Literal)
    if call.function in _COMPARISONS:
        return text_natives.comparison(call.function, str(values[0]), mirrored)
    if mirrored:
        return None
    if call.function == "in":
        return text_natives.one_of(*map(str, values))
    text = TEXTS.get(call.function)
    return None if text is None or text.native is None else text.native(*values)
