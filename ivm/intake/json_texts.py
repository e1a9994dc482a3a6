"""JSON as a column takes it: texts that DuckDB reads as JSON, and values of Python's that JSON writes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ivm.catalog.json_texts import is_json
from ivm.catalog.types import BOOLEAN, VARCHAR
from ivm.trace.columns.arrow import to_column
from ivm.trace.text.dictionary import TextDictionary

_FEW = 64
"""So many texts are read here sooner than DuckDB is asked."""
_SHOWN = 80


def check_json(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The texts, if all are JSON; else ValueError for the first that is none, with its row. Cost: reads them all."""
    if len(texts) <= _FEW and all(text is None or is_json(text) for text in texts.to_pylist()):
        return texts
    row = _first_wrong(texts)
    if row is not None:
        shown = texts[row].as_py()
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}.."
        raise ValueError(f"row {row} counted from 0: {shown!r} is no JSON; write a text with quotes of its own")
    return texts


def _first_wrong(texts: pa.ChunkedArray) -> int | None:
    from ivm.asked import answer_to  # noqa: PLC0415  DuckDB, which takes a while to import

    dictionary = TextDictionary()
    codes = to_column(texts.drop_null(), VARCHAR, dictionary)
    valid = answer_to("json_valid", [(codes, VARCHAR)], BOOLEAN, dictionary)
    wrong = pc.index(valid, pa.scalar(False)).as_py()
    if wrong < 0:
        return None
    there = pc.indices_nonzero(texts.is_valid())
    return int(there[wrong].as_py())


def json_of(values: Iterable[Any]) -> pa.Array:
    """Values of Python's as JSON; a str is JSON itself. TypeError for what JSON does not write, ValueError for NaN."""
    return pa.array([each if each is None or isinstance(each, str) else _written(each) for each in values], pa.string())


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
