"""A few plain values become the array that pyarrow makes of them, without pandas."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ivm.trace.columns import arrow
from ivm.trace.columns.arrow import array_from, numbers_from

ROOT = Path(__file__).resolve().parents[2]


class Text(str):
    __slots__ = ()


CASES = [
    [], [None, None], [1, None, -(2**63), 2**63 - 1], [2**63], [1.5, None, float("inf"), -0.0], [True, None, False] * 7,
    ["", None, "äöü", "\0", "x" * 1000], [Text("a"), "b"], [Text("a")], [1, 2.5], [1, True], [np.int32(3)],
    [Decimal("1.5"), None], np.arange(3), (1, 2), list(range(5000)),
]  # fmt: skip


@pytest.fixture(autouse=True)
def no_pandas(monkeypatch):
    monkeypatch.delitem(sys.modules, "pandas", raising=False)


def outcome(make, values):
    try:
        array = make(values)
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)
    array.validate(full=True)
    return array.type, array.to_pylist()


@pytest.mark.parametrize("values", CASES)
def test_it_is_what_pyarrow_makes(values):
    assert outcome(array_from, values) == outcome(pa.array, values)


@pytest.mark.parametrize("values", [["\ud800"], ["a", 1]])
def test_what_pyarrow_refuses_is_refused(values):
    assert isinstance(outcome(array_from, values), type)
    assert isinstance(outcome(pa.array, values), type)


@pytest.mark.parametrize("numbers", [np.arange(4, dtype=np.int32), np.arange(8)[::2], np.empty(0, np.int64)])
def test_numbers(numbers):
    assert numbers_from(numbers).equals(pa.array(numbers))


def test_who_uses_pandas_gets_what_pandas_means(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", object())
    monkeypatch.setattr(arrow, "_plain", None)
    assert array_from([1]).to_pylist() == [1]


def test_pandas_is_not_imported():
    code = (
        "import sys, numpy as np; from ivm.trace.columns.arrow import *;"
        "array_from([1, None]); array_from(['a']); array_from([None]); numbers_from(np.arange(3));"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=120)
