"""Programs in pieces: the same answers, and no loop that takes the compiler long."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import ivm
from ivm.plan.mfp import Mfp
from ivm.render.scalars import bound, codegen, shape
from ivm.render.scalars.compiler import Compiler, Ticket
from ivm.render.scalars.shape import Shape
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.sql.ir.scalar import Column, columns_of
from tests.engine import world
from tests.scalars import test_program

LONGEST = 500


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece for about every expression, compiled all the same."""
    monkeypatch.setattr(shape, "MOST", 4)
    monkeypatch.setattr(Shape, "is_too_heavy", False)


@pytest.mark.usefixtures("small_pieces")
class TestInPieces(test_program.TestBothForms):
    pass


@pytest.mark.usefixtures("small_pieces")
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(data=st.data())
def test_views_in_pieces(data: st.DataObject) -> None:
    db, tables = world.connect(compile="off"), world.Tables()
    world.apply_step(db, tables.draw_step(data))
    world.install(db)
    for _ in range(2):
        world.apply_step(db, tables.draw_step(data))
        db.verify()


def test_steps_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape, "MOST", 10)
    a, b = test_program.A, test_program.B
    over = Column(2, a.type, False)
    early = [test_program.compare("gt", x, test_program.integer(k)) for k, x in enumerate((a, b, a, b, a, b))]
    maps = (test_program.call("add", a, b), *(test_program.call("mul", over, b) for _ in range(3)))
    late = test_program.compare("lt", Column(5, a.type, False), over)
    whole = Shape.of(Mfp(2, maps, (*early, late), (5, 0)))
    pieces = whole.cut()
    assert [m for piece in pieces for m in piece.maps] == list(whole.maps)
    assert [p for piece in pieces for p in (*piece.early, *piece.late)] == [*whole.early, *whole.late]
    assert [piece.width for piece in pieces] == sorted(piece.width for piece in pieces)
    assert len(pieces) > 4
    assert pieces[-1].projection == (5, 0)
    assert all(c < piece.width for piece in pieces for p in piece.early for c in columns_of(p))


@pytest.fixture
def lengths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lines each loop has that is written."""
    written: list[int] = []

    def generate(*arguments: object) -> codegen.Loop:
        loop = codegen.generate(*arguments)  # type: ignore[arg-type]
        written.append(loop.source.count("\n"))
        return loop

    monkeypatch.setattr(bound, "generate", generate)
    return written


def _list(text: str, count: int, separator: str = ", ") -> str:
    return separator.join(text.replace("#", str(i)) for i in range(count))


LARGE = {
    "columns": f"SELECT {_list('a + # AS c#', 200)} FROM t",
    "texts": f"SELECT {_list('length(s) + # AS c#', 60)}, {_list('upper(s) AS u#', 40)} FROM t WHERE s LIKE 'x%'",
    "decimals": f"SELECT {_list('d * d / # AS c#', 40)} FROM t WHERE a > 3",
    "branches": f"SELECT CASE {_list('WHEN a = # THEN # + b', 300, ' ')} END AS c, coalesce({_list('b', 200)}) AS e FROM t",
    "members": f"SELECT id FROM t WHERE a IN ({_list('#', 3000)}) AND d IN ({_list('#.5', 500)})",
    "either": f"SELECT id FROM t WHERE {_list('(a = # AND b > #)', 120, ' OR ')}",
    "all": f"SELECT id FROM t WHERE {_list('(a <> # OR b < 1#)', 120, ' AND ')} AND id / a > 1",
}


def test_no_loop_is_long(lengths: list[int]) -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, a INTEGER, b BIGINT NOT NULL, d DECIMAL(12, 2), s VARCHAR)")
    rng = np.random.default_rng(1)

    def rows(first: int) -> list[dict[str, object]]:
        numbers = rng.integers(1, 40, 60).tolist()
        return [
            {"id": first + i, "a": None if n == 7 else n, "b": n * 3 % 11, "d": n * 2, "s": f"x{n}"}
            for i, n in enumerate(numbers)
        ]

    engine_of(core_of(db)).renderer.compiler = _Never(wait=True)
    for name, query in LARGE.items():
        db.sql(f"CREATE MATERIALIZED VIEW v_{name} AS {query}")
    for first in (0, 100):
        db.apply({"t": rows(first)})
        db.verify()
    assert lengths
    assert max(lengths) < LONGEST


class _Never(Compiler):
    """A compiler that is asked for every loop, and never done."""

    def order(self, source: str) -> Ticket:
        return Ticket(source)
