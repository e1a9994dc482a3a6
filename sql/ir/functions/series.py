"""Lists that are counted out, and those of what stands in a row; UNNEST makes their elements without the lists.

A series of moments takes its step as months, days and microseconds, all of which go one way.
"""

from __future__ import annotations

from ivm.catalog.types import BIGINT, TIMESTAMP, list_of
from ivm.sql.ir.functions.function import Function, Nulls, Raises

_NUMBERS, _MOMENTS = (BIGINT,) * 3, (TIMESTAMP, TIMESTAMP, BIGINT, BIGINT, BIGINT)

FUNCTIONS = (
    # From the first to before the second, or to this one; the third is the step, and 0 gives nothing.
    Function("range", _NUMBERS, list_of(BIGINT), raises=Raises.SOMETIMES),
    Function("generate_series", _NUMBERS, list_of(BIGINT), raises=Raises.SOMETIMES),
    Function("range of moments", _MOMENTS, list_of(TIMESTAMP), raises=Raises.SOMETIMES),
    Function("generate_series of moments", _MOMENTS, list_of(TIMESTAMP), raises=Raises.SOMETIMES),
    Function("generate_subscripts", ("list",), list_of(BIGINT)),
    Function("list_value", ("T", "..."), "list of T", nulls=Nulls.NEVER),
)

COUNTED = frozenset(function.name for function in FUNCTIONS if function.name != "list_value")
"""Those whose elements are never NULL."""

MOST_ELEMENTS = 1 << 26
"""So many elements a series may have, and what one commit makes of lists."""
