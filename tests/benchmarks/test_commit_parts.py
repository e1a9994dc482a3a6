"""A commit's time by part adds up, and its calls are counted; what was watched is as it was before."""

from __future__ import annotations

from importlib import import_module

import ivm
from ivm.benchmarks.commit_parts import PARTS, calls_of, watched


def _functions() -> list[object]:
    found = []
    for module, name in PARTS.values():
        each: object = import_module(module)
        for attribute in name.split("."):
            each = getattr(each, attribute)
        found.append(each)
    return found


def test_each_part_of_a_commit_takes_time() -> None:
    before = _functions()
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a BIGINT)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a")
    with watched() as watch:
        for number in range(20):
            db.apply({"t": [{"a": number}]})
    assert all(watch.nanoseconds.values())
    assert _functions() == before


def test_calls_are_counted() -> None:
    def work() -> None:
        some.append(abs(-1))
        more()

    def more() -> None:
        len(some)

    some: list[int] = []
    assert calls_of(work) == (1, 3)
