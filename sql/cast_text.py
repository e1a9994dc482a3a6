"""Values as the types of columns: texts in DuckDB's dialect, which raise where a cast would hide something."""

from __future__ import annotations

import re

from ivm.catalog.names import as_literal
from ivm.catalog.schema import Field
from ivm.catalog.types import VARCHAR

REFUSED = "cannot put"
"""How errors begin that such a text raises by itself."""
_REMEDY = "write to_json(..), or CAST(.. AS VARCHAR) for DuckDB's own text"
_NESTED = r"^(STRUCT|TUPLE|MAP|UNION|VARIANT)\b|\]$"
_LITERAL = re.compile(r"'(?:[^']|'')*'|[-+.\w]+")


def cast_text(value: str, field: Field) -> str:
    """The text that casts a value to the type of a column.

    What is nested is no text by itself: DuckDB's rendering, such as `{'a': x}`, cannot be read back, so whoever wants
    it says so.
    """
    cast = f"CAST({value} AS {field.type})"
    if field.type != VARCHAR or _LITERAL.fullmatch(value):
        return cast
    before, after = f"{REFUSED} a value of type ", f" into column {field.name}, which is VARCHAR; {_REMEDY}"
    refusal = f"error({as_literal(before)} || typeof({value}) || {as_literal(after)})"
    return f"CASE WHEN regexp_matches(typeof({value}), '{_NESTED}') THEN {refusal} ELSE {cast} END"
