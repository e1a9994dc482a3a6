"""Time zones: a text tells moments, values of TIMESTAMP WITH TIME ZONE, by the clocks of one wherever it names none."""

from __future__ import annotations

from ivm.catalog.types import TIMESTAMPTZ, SqlType, holds

UTC = "UTC"
"""The zone of who has set none."""


def is_zoned(*types: SqlType) -> bool:
    """Whether one of the types is that of moments, or is made of it."""
    return any(holds(type_, TIMESTAMPTZ) for type_ in types)
