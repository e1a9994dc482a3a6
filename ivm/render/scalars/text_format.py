"""Values as DuckDB prints them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.types import Kind, SqlType
from sql.types.texts import writer


def formatter(type_: SqlType) -> Callable[[Any], str]:
    """The function that prints one value in engine form."""
    if type_.kind is Kind.DOUBLE:
        return lambda value: repr(float(value))
    if type_.kind is Kind.FLOAT:
        return lambda value: str(np.float32(value))
    return writer(type_) or str
