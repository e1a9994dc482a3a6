"""Regular expressions: memos over the dictionary's strings. Patterns and what replaces them are literals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ivm.render.scalars.text_memo import FALSE, TRUE, Compute
from ivm.trace import regex
from ivm.trace.column import Array

_TESTS: dict[str, Callable[[Any, Array, str], Any]] = {
    "regexp_matches": regex.found,
    "regexp_full_match": regex.matched,
}
_REWRITES: dict[str, Callable[..., Array]] = {
    "regexp_replace": regex.replaced,
    "regexp_extract": regex.extracted,
}
FUNCTIONS = frozenset((*_TESTS, *_REWRITES))


def computation(function: str, literals: tuple[Any, ...], dictionary: Any) -> Compute:
    """What the function answers for codes of strings; UnsupportedError if RE2 cannot read the pattern."""
    pattern = str(literals[0])
    regex.check_pattern(pattern, str(literals[1]) if function == "regexp_replace" else "")
    if function in _TESTS:
        test = _TESTS[function]
        return lambda codes: (np.where(test(dictionary, codes, pattern), np.int8(TRUE), np.int8(FALSE)), None)
    rewrite = _REWRITES[function]

    def compute(codes: Array) -> tuple[Any, Array]:
        return np.full(len(codes), TRUE, np.int8), rewrite(dictionary, codes, *literals)

    return compute
