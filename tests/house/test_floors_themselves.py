"""The scans catch what they are there to catch: each is shown one module that breaks its rule and one that keeps it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.house.modules import Module
from tests.house.test_floors import floor_breaches, half_breaches, room_breaches, third_party_breaches
from tests.house.test_kernels import careless_compilation

GOOD = "@njit(cache=True, nogil=True, fastmath=False)\ndef f(): ..."


def module(name: str, text: str) -> Module:
    return Module(name, Path("example.py"), text, ast.parse(text))


@pytest.mark.parametrize(
    ("scan", "name", "bad", "good"),
    [
        (floor_breaches, "ivm.catalog.example", "import ivm.sql.ir.scalar", "import ivm.catalog.types"),
        (floor_breaches, "ivm.sql.ir.example", "from ivm.sql import parse", "from ivm.catalog.types import SqlType"),
        (floor_breaches, "ivm.operators.example", "from ivm.plan import nodes", "from ivm.trace import delta"),
        (floor_breaches, "ivm.dataflow.example", "import ivm.render", "import ivm.operators"),
        (floor_breaches, "ivm.example", "import ivm.tpch.cli", "import ivm.render"),
        (floor_breaches, "ivm.plan.example", "def f():\n    import ivm", "def f():\n    import ivm.sql.ir"),
        (third_party_breaches, "ivm.operators.example", "import numba", "import numpy as np"),
        (third_party_breaches, "ivm.plan.example", "import numpy", "import json"),
        (third_party_breaches, "ivm.trace.example", "from duckdb import connect", "from pyarrow import compute"),
        (half_breaches, "ivm.transform.example", "import numpy", "import ivm.sql.ir"),
        (half_breaches, "ivm.sql.example", "import ivm.trace.delta", "import sqlglot"),
        (half_breaches, "ivm.trace.example", "import ivm.sql.ir.scalar", "import numpy"),
        (room_breaches, "ivm.engine.example", "import ivm.session.core", "import ivm.results.result"),
        (room_breaches, "ivm.results.example", "import ivm.engine.view", "import ivm.trace.delta"),
        (careless_compilation, "ivm.kernels.example", "@njit\ndef f(): ...", GOOD),
        (careless_compilation, "ivm.kernels.example", "@numba.njit(cache=True, nogil=True)\ndef f(): ...", GOOD),
        (careless_compilation, "ivm.render.example", "s = '@njit(cache=True)'", f"s = {GOOD!r}"),
        (
            careless_compilation,
            "ivm.render.example",
            "def f():\n    return ['@njit(', 'cache=True, nogil=True)']",
            "def f():\n    return ['@njit(', 'cache=True, nogil=True, ', 'fastmath=False)']",
        ),
    ],
)
def test_scan(scan, name, bad, good):
    assert scan(module(name, bad))
    assert not scan(module(name, good))
