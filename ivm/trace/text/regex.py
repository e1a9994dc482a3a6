"""Regular expressions over the strings of a dictionary, by Arrow's RE2, which is DuckDB's engine too.

Each function takes the dictionary, the codes (int32, distinct) of the strings, and a pattern that `check_pattern` has
accepted. Cost: RE2's linear time over the strings' bytes, and a copy of them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ivm.catalog.errors import UnsupportedError
from ivm.trace.columns.column import Array, Bools
from ivm.trace.text.dictionary import TextDictionary

MOST_CHARACTERS = 20_000
"""Of a pattern: one of 100,000 takes RE2 seconds for the empty text alone."""


def check_pattern(pattern: str, rewrite: str = "") -> None:
    """UnsupportedError if RE2 does not read the pattern, or the rewrite asks for a group that is not there.

    Also for a pattern that is too long.
    """
    if len(pattern) > MOST_CHARACTERS:
        what = f"cannot use a regular expression of {len(pattern)} characters: the limit is {MOST_CHARACTERS}"
        raise UnsupportedError(f"{what}; join with a table of the texts looked for, or write several joined by OR")
    try:
        pc.replace_substring_regex(pa.array([""]), pattern, rewrite)
    except pa.ArrowInvalid as error:
        what = f"cannot use the regular expression {pattern!r}: {error}; write it in the syntax of RE2"
        raise UnsupportedError(what) from error


def found(dictionary: TextDictionary, codes: Array, pattern: str) -> Bools:
    """Where some part of the string matches."""
    hits: Bools = pc.match_substring_regex(dictionary.now().decode(codes), pattern).to_numpy(zero_copy_only=False)
    return hits


def matched(dictionary: TextDictionary, codes: Array, pattern: str) -> Bools:
    """Where the whole string matches."""
    return found(dictionary, codes, rf"\A(?:{pattern})\z")


def replaced(dictionary: TextDictionary, codes: Array, pattern: str, rewrite: str, every: bool) -> Array:
    r"""Codes of the strings with the first match (or every one) rewritten; \1 to \9 stand for groups, \0 for all."""
    most = None if every else 1
    texts = pc.replace_substring_regex(dictionary.now().decode(codes), pattern, rewrite, max_replacements=most)
    return dictionary.encode(texts).values


def extracted(dictionary: TextDictionary, codes: Array, pattern: str, group: int) -> Array:
    """Codes of what group `group` (0: all of it) of the first match holds; of '' where there is none."""
    # The lazy run before the first match and the rest behind it are cut off by rewriting the whole string.
    around, rewrite = rf"\A(?s:.*?)({pattern})(?s:.*)\z", rf"\{group + 1}"
    try:
        texts = pc.replace_substring_regex(dictionary.now().decode(codes), around, rewrite, max_replacements=1)
    except pa.ArrowInvalid:  # the pattern has no such group, whose text is then empty
        return np.zeros(len(codes), np.int32)
    return np.where(found(dictionary, codes, pattern), dictionary.encode(texts).values, np.int32(0))
