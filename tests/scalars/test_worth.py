"""A loop is compiled once what was interpreted without it is worth that: told by rows and calls, not by a clock."""

from __future__ import annotations

import numpy as np
import pytest

import ivm
from ivm.catalog.types import INTEGER
from ivm.engine import rehearsal
from ivm.render.scalars import compiler as compiling
from ivm.render.scalars.compiler import CALL, WORTH, Compiler
from ivm.render.scalars.program import MfpProgram
from ivm.sql.ir.scalar import Call, Column, Literal
from ivm.trace.columns.column import Column as Values
from ivm.trace.delta import Delta, delta_of
from ivm.trace.text.dictionary import TextDictionary
from tests.scalars.oracle import program_of


@pytest.fixture(autouse=True)
def orders(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of the loops that are ordered; nothing is compiled."""
    asked: list[str] = []

    class Workshop(compiling._Workshop):
        def order(self, source: str) -> compiling.Ticket:
            asked.append(source)
            ticket = compiling.Ticket(source)
            ticket.done.set()
            return ticket

    monkeypatch.setattr(compiling, "_workshop", Workshop())
    return asked


def program(compiler: Compiler) -> MfpProgram:
    add = Call("add", (Column(0, INTEGER, False), Literal(1, INTEGER)), INTEGER, False)
    return program_of((add,), (), (1,), 1, TextDictionary(), compiler)


def ones(rows: int, valid: np.ndarray | None = None) -> Delta:
    return delta_of([Values(np.ones(rows, np.int32), valid)], 1, None)


def test_many_rows_are_worth_it_at_once(orders: list[str]) -> None:
    program(Compiler()).run(ones(WORTH))
    assert len(orders) == 1


def test_small_batches_are_worth_it_when_they_were_many(orders: list[str]) -> None:
    small = program(Compiler())
    for _ in range(WORTH // CALL - 1):
        small.run(ones(1))
    assert orders == []
    small.run(ones(1))
    small.run(ones(1))
    assert len(orders) == 1


def test_a_batch_of_no_rows_is_worth_nothing(orders: list[str]) -> None:
    empty = program(Compiler())
    for _ in range(WORTH // CALL + 1):
        empty.run(ones(0))
    assert orders == []


def test_rows_that_are_expected_count(orders: list[str]) -> None:
    program(Compiler().expecting(WORTH)).run(ones(1))
    assert len(orders) == 1


def test_who_waits_for_the_compiler_has_everything_compiled_first(orders: list[str]) -> None:
    program(Compiler(wait=True)).run(ones(1))
    assert len(orders) == 1


def test_who_asks_for_all_gets_what_was_missed_and_nothing_else(orders: list[str]) -> None:
    compiler = Compiler()
    met, unmet = program(compiler), program(compiler)
    met.run(ones(1))
    compiler.order_all()
    assert len(orders) == 1
    compiler.order_all()
    met.run(ones(WORTH))
    assert len(orders) == 1
    unmet.run(ones(1))
    compiler.order_all()
    assert len(orders) == 2


def test_programs_that_are_gone_order_nothing(orders: list[str]) -> None:
    compiler = Compiler()
    gone = program(compiler)
    gone.run(ones(1))
    del gone
    compiler.order_all()
    assert orders == []


def test_a_view_over_a_few_rows_orders_nothing_and_one_over_many_does(
    orders: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearsal, "_WORTH", 1000)
    db = ivm.connect()
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, v INTEGER NOT NULL)")
    db.apply({"t": {"id": range(100), "v": range(100)}})
    db.sql("CREATE MATERIALIZED VIEW few AS SELECT id, v * 7 - 3 AS x FROM t WHERE v % 5 <> 2")
    db.sql("INSERT INTO t VALUES (1000, 1000)")
    assert orders == []
    db.apply({"t": {"id": np.arange(2000, 2000 + WORTH), "v": np.arange(WORTH, dtype=np.int32)}})
    assert len(orders) == 1
    db.sql("CREATE MATERIALIZED VIEW many AS SELECT id, v // 2 AS x FROM t")
    assert len(orders) > 1
    db.verify()


def test_waiting_has_everything_compiled_that_was_interpreted(orders: list[str]) -> None:
    db = ivm.connect()
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, v INTEGER NOT NULL)")
    db.sql("CREATE MATERIALIZED VIEW few AS SELECT id, v * 7 AS x FROM t WHERE v <> 2")
    db.sql("INSERT INTO t VALUES (1, 1)")
    db.wait_compiled(0)
    assert orders
