"""Types of kernels' arguments as text, and back. See `ivm.kernels.compiling.building`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from numba import types

_array: Any = types.Array
_ARRAY = re.compile(r"(const )?(\w+)\[([^\]]+)\]")
_SPLIT = re.compile(r", (?![^\[]*\])")


def as_text(types: Iterable[Any]) -> str | None:
    """These types of numba as a list has them; None for types that no list has, such as literals and tuples."""
    texts = [_type_text(each) for each in types]
    return None if None in texts else ", ".join(str(text) for text in texts)


def as_types(text: str) -> tuple[Any, ...]:
    """The types of numba that a line names. ValueError if it is not such a line."""
    return tuple(_parsed(each) for each in _SPLIT.split(text)) if text else ()


@cache
def _type_text(each: Any) -> str | None:
    if isinstance(each, types.Literal):
        return None
    if isinstance(each, types.Boolean | types.Number):
        return str(each)
    if not isinstance(each, types.Array) or not each.aligned:
        return None
    item = _type_text(each.dtype)
    parts = [":"] * each.ndim
    if each.layout == "C":
        parts[-1] = "::1"
    elif each.layout == "F":
        parts[0] = "::1"
    return None if item is None else f"{'' if each.mutable else 'const '}{item}[{', '.join(parts)}]"


@cache
def _parsed(text: str) -> Any:
    array = _ARRAY.fullmatch(text)
    name = array[2] if array else text
    item = types.boolean if name == "bool" else getattr(types, name, None)
    if not isinstance(item, types.Boolean | types.Number):
        raise ValueError(f"{text!r} is no type of a kernel's argument")
    if array is None:
        return item
    parts = array[3].split(", ")
    layout = "C" if parts[-1] == "::1" else "F" if parts[0] == "::1" else "A"
    return _array(item, len(parts), layout, readonly=array[1] is not None)
