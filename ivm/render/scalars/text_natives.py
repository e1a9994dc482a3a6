"""Functions of one text that read its bytes where they lie, so that nobody has to put the text into a dictionary.

A native takes `Texts` and gives a value for each: an array of BOOLEANs or BIGINTs, or `Texts` again, which another
native may take. It has a value of every string, and gives some value where the text is NULL.

A native costs about as much as to put the string into a dictionary. Functions without one (regular expressions, and
what Python computes) cost tens of times that, so their arguments keep their codes: a memo then asks for each distinct
string once in all time, and only on rows that other predicates let pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ivm.kernels.texts.dictionary import PADDING
from ivm.kernels.texts.parts import (
    ANY_CHAR,
    ANY_RUN,
    compare_texts,
    copy_case,
    count_characters,
    cut_texts,
    find_equal,
    match_parts,
    match_tokens,
    trim_bytes,
    trim_spaces,
)
from ivm.render.scalars.text_functions import like_parts
from ivm.sql.ir.functions import MIRRORED
from ivm.trace.columns.column import Array, Bools, Column, Ints, readonly
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.texts import Texts

Native = Callable[[Texts], Any]

FAR = 1 << 40
_MOST_ITEMS = 16
Bytes = npt.NDArray[np.uint8]
_SIGNS: dict[str, Callable[[npt.NDArray[np.int8]], Bools]] = {
    "lt": lambda signs: signs < 0,
    "le": lambda signs: signs <= 0,
    "gt": lambda signs: signs > 0,
    "ge": lambda signs: signs >= 0,
}


def column_of(native: Native, texts: Texts, dictionary: TextDictionary) -> Column:
    """A native's values; of texts, their codes."""
    found = native(texts)
    return dictionary.encode_texts(found) if isinstance(found, Texts) else Column(found, texts.valid)


def comparison(function: str, text: str, mirrored: bool) -> Native:
    """A comparison with a text, which stands on the left if `mirrored`."""
    if function == "eq":
        return _member(text)
    if function == "ne":
        equal = _member(text)
        return lambda texts: ~equal(texts)
    signs = _told(compare_texts, np.int8, readonly(np.frombuffer(text.encode(), np.uint8)))
    holds = _SIGNS[MIRRORED[function] if mirrored else function]
    return lambda texts: holds(signs(texts))


def _told(kernel: Callable[..., None], dtype: Any, *given: Any) -> Native:
    """What a kernel says of each text, given these."""

    def run(texts: Texts) -> Array:
        out = np.empty(len(texts), dtype)
        kernel(texts.data, texts.starts, texts.ends, *given, out)
        return out

    return run


def _moved(kernel: Callable[..., None], *given: Any) -> Native:
    """The part of each text that a kernel finds, given these."""

    def run(texts: Texts) -> Texts:
        begins, stops = np.empty(len(texts), np.int64), np.empty(len(texts), np.int64)
        kernel(texts.data, texts.starts, texts.ends, *given, begins, stops)
        return texts.moved(begins, stops)

    return run


def _member(*items: str) -> Native:
    return _told(find_equal, np.bool_, *_joined([item.encode() for item in items]))


def one_of(*items: str) -> Native | None:
    """Whether it is one of few texts."""
    return _member(*items) if len(items) <= _MOST_ITEMS else None


def _joined(parts: list[bytes]) -> tuple[Bytes, Ints]:
    bounds = np.cumsum([0, *map(len, parts)])
    return readonly(np.frombuffer(b"".join(parts) + bytes(PADDING), np.uint8)), readonly(bounds.astype(np.int64))


def like(pattern: str, escape: str | None = None) -> Native:
    """LIKE with a pattern."""
    parts = like_parts(pattern, escape)
    if any(wild and char == "_" for char, wild in parts):
        return _by_tokens(parts)
    runs: list[str] = [""]
    for char, wild in parts:
        if wild:
            runs.append("")
        else:
            runs[-1] += char
    return _member(*runs) if len(runs) == 1 else of_parts(*runs[:-1], last=runs[-1])


def _by_tokens(parts: list[tuple[str, bool]]) -> Native:
    tokens: list[int] = []
    for char, wild in parts:
        if wild:
            tokens.append(ANY_RUN if char == "%" else ANY_CHAR)
        else:
            tokens.extend(char.encode())
    return _told(match_tokens, np.bool_, readonly(np.array(tokens, np.int64)))


def of_parts(first: str, *between: str, last: str) -> Native:
    """Whether it begins with the first and ends with the last of these, with the others one after the other between."""
    parts = first, *filter(None, between), last
    return _told(match_parts, np.bool_, *_joined([part.encode() for part in parts]))


def characters(first: int, first_back: bool, last: int, last_back: bool) -> Native | None:
    """The characters from place `first` to before `last`, each counted from the end if it is so; not of places far."""
    if not -FAR < first < FAR or not -FAR < last <= FAR:
        return None
    return _moved(cut_texts, first, first_back, last, last_back)


def substring(offset: int, length: int | None = None) -> Native | None:
    """`text_functions.substring` at a place."""
    start, back = (offset - 1, False) if offset >= 0 else (offset, True)
    if length is None:
        return characters(start, back, FAR, False)
    return characters(start + min(length, 0), back, start + max(length, 0), back)


length: Native = _told(count_characters, np.int64)
"""Its characters."""


def byte_length(texts: Texts) -> Ints:
    """Its bytes."""
    return (texts.ends - texts.starts).astype(np.int64)


def bit_length(texts: Texts) -> Ints:
    """Its bits."""
    return 8 * byte_length(texts)


def case_changed(one_by_one: Callable[[str], str], first: str, last: str) -> Callable[[], Native]:
    """The other case of the ASCII letters from `first` to `last`; what is not all ASCII goes through Python."""

    def run(texts: Texts) -> Texts:
        begins, stops = np.empty(len(texts), np.int64), np.empty(len(texts), np.int64)
        out = np.empty(int((texts.ends - texts.starts).sum()), np.uint8)
        ascii_ = copy_case(texts.data, texts.starts, texts.ends, ord(first), ord(last), begins, stops, out)
        if not ascii_:
            data, bounds = _joined([one_by_one(text).encode() for text in texts.strings()])
            return Texts(data, bounds[:-1], bounds[1:], texts.valid)
        return Texts(readonly(out), readonly(begins), readonly(stops), texts.valid)

    return lambda: run


def trimmed(left: bool, right: bool) -> Callable[..., Native | None]:
    """Without spaces, or others than these, at either end."""

    def make(chars: str | None = None) -> Native | None:
        if chars is not None and not chars.isascii():
            return None
        if chars is None:
            return _moved(trim_spaces, left, right)
        unwanted = np.zeros(256, np.bool_)
        unwanted[list(chars.encode())] = True
        return _moved(trim_bytes, readonly(unwanted), left, right)

    return make
