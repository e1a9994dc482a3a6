"""Cases of a test that run each time, and more of the same that run with the tests that take minutes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def with_more(cases: Iterable[Any], more: Iterable[Any]) -> list[Any]:
    """For `parametrize`: the cases, and `more` of them, which are marked as slow."""
    return [*cases, *(pytest.param(each, marks=pytest.mark.slow) for each in more)]
