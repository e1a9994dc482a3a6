"""Cases of a test that run each time, and more of the same that run on other days, or with the tests that take minutes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any

import pytest

TODAY = date.today().toordinal()
"""Each day tests of which there could be any number take others of them; what is wrong says which, and they find it
again."""


def with_more(cases: Iterable[Any], more: Iterable[Any]) -> list[Any]:
    """For `parametrize`: the cases, and `more` of them, which are marked as slow."""
    return [*cases, *map(_slow, more)]


def by_day(cases: Iterable[Any], days: int) -> list[Any]:
    """For `parametrize`: all of the cases within so many days, each day some; today's others are marked as slow.

    It is for many cases of one kind, any of which would find most of what is wrong. Run them all by `-m "slow or not slow"`.
    """
    return [each if place % days == TODAY % days else _slow(each) for place, each in enumerate(cases)]


def _slow(case: Any) -> Any:
    return pytest.param(case, marks=pytest.mark.slow)
