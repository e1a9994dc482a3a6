"""Loops that read a column of the query around: of each row they hold what the loop alone holds for its value."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from random import Random
from unittest.mock import patch

import pytest

import ivm
from ivm.session.database import core_of
from ivm.sql.bind.query import bind
from ivm.sql.ir.relation import Relation
from tests.loops.random_loops import MOST_ROUNDS, MOST_ROWS, TABLES, History, Rows, query_of
from tests.model import relation as model
from tests.model.relation import EndlessError, evaluate
from tests.more import with_more

EACH = """SELECT o.a AS o, l.a, l.b FROM f o, LATERAL (
    WITH e AS (SELECT a, b FROM e WHERE a >= o.a OR b = o.b) SELECT a, b FROM ({loop}) l) l"""


class _History(History):
    """The history of a view that has a loop for each row of `f`."""

    loop: Relation

    def meant(self, tables: dict[str, Rows]) -> Rows | None:
        found = Rows()
        for (a, b), count in tables["f"].items():
            read = {row: n for row, n in tables["e"].items() if (row[0] is not None and row[0] >= a) or row[1] == b}
            with patch.object(model, "MOST_ROUNDS", MOST_ROUNDS + 1), suppress(EndlessError, ivm.NumericError):
                rows = Counter(evaluate(self.loop, {**tables, "e": Counter(read)}))
                if sum(rows.values()) > MOST_ROWS:
                    raise ivm.UnsupportedError("too many rows")
                for row, n in rows.items():
                    found[a, *row] += count * n
                continue
            return None
        return found


def _wrong_with(seed: int) -> str:
    random, loop = Random(seed), query_of(seed)
    with ivm.connect(compile="off", recursion_limit=MOST_ROUNDS) as db:
        for text in TABLES.values():
            db.sql(text)
        try:
            each = EACH.format(loop=loop)
            history = _History(db, bind(each, core_of(db).catalog).relation, {name: Counter() for name in TABLES})
            history.loop = bind(loop, core_of(db).catalog).relation
            for _ in range(2 * random.randint(0, 1)):
                history.grow(random)
            if wrong := history.come_in(each):
                return wrong
            found = (history.commit(random, last=number == 5) for number in range(6) if db.views())
            return next(filter(None, found), "")
        except (MemoryError, ivm.UnsupportedError) as error:
            return f"refused: {error}"


@pytest.mark.parametrize("first", with_more([100, 120], [110, 130]))
def test_random_loops_of_each_row(first: int) -> None:
    for seed in range(first, first + 10):
        assert _wrong_with(seed) in ("", "refused: too many rows"), seed
