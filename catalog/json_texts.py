"""Texts that are JSON, as far as that can be told without DuckDB, which decides."""

from __future__ import annotations

import json
import re
from typing import NoReturn

_LENIENT = re.compile(r"nan|inf|,\s*[]}]", re.IGNORECASE)
"""What DuckDB reads beyond the standard: numbers that are none, and a comma before the end."""
_LONE = "\\ud"
"""How half of a character begins, which stands for nothing alone."""


def is_json(text: str) -> bool | None:
    """Whether a text is JSON; None where it takes DuckDB to say so. Cost: a look at the text."""
    try:
        json.loads(text, parse_constant=_refuse, parse_int=str, parse_float=str)
    except RecursionError:
        return None
    except ValueError:
        return None if _LENIENT.search(text) else False
    return None if _LONE in text.lower() else True


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)
