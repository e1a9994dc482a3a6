"""Views over views, with names of their own, used many times."""

from __future__ import annotations

import pytest

import ivm
from tests.joins.changes import Rows, commit, connect


def test_a_view_names_its_columns():
    db = connect(compile="off")
    db.sql("CREATE VIEW registered (key, total) AS SELECT k, sum(u) AS s FROM a GROUP BY k")
    db.sql('CREATE MATERIALIZED VIEW maintained ("the key", n) AS SELECT k, count(*) FROM b GROUP BY k ORDER BY k DESC')
    db.sql("CREATE VIEW pairs (x) AS SELECT k, u FROM a UNION SELECT k, w FROM b")
    db.sql(
        """CREATE MATERIALIZED VIEW all_of_it AS SELECT r.key, r.total, m.n, s.u FROM registered r
        LEFT JOIN maintained m ON r.key = m."the key" FULL JOIN pairs s ON s.x = r.key"""
    )
    assert db.view("maintained").schema.names == ["the key", "n"]
    rows = Rows(7)
    for _ in range(4):
        commit(db, [rows.step()])
        db.verify()
    found = [row[0] for row in db.view("maintained").fetchall()]
    known = [key for key in found if key is not None]
    assert known == sorted(known, reverse=True)
    assert db.sql("SELECT total FROM registered LIMIT 1").fetchall()


def test_views_over_views_over_views():
    db, rows = connect(compile="off"), Rows(8)
    db.sql("CREATE VIEW one AS SELECT k, u FROM a EXCEPT SELECT k, w FROM b")
    db.sql("CREATE VIEW two (k, n) AS SELECT k, count(*) FROM one GROUP BY k")
    db.sql("CREATE MATERIALIZED VIEW three AS SELECT DISTINCT x.n, y.k FROM two x LEFT JOIN two y ON x.k = y.n")
    db.sql("CREATE MATERIALIZED VIEW four AS SELECT * FROM three UNION ALL SELECT n, k FROM two")
    for _ in range(6):
        commit(db, [rows.step()])
        db.verify()


@pytest.mark.parametrize(
    ("names", "message"),
    [("(x, y, z)", "has 2 columns, but 3 names"), ("(x, x)", "two columns would be called 'x'"), ("(u)", "called 'u'")],
)
def test_names_that_do_not_fit(names, message):
    db = connect(compile="off")
    with pytest.raises(ivm.BindError, match=message):
        db.sql(f"CREATE MATERIALIZED VIEW v {names} AS SELECT k, u FROM a")
    with pytest.raises(ivm.BindError):
        db.sql("SELECT * FROM v")


def test_a_second_row_of_a_subquery_that_is_a_value_undoes_the_commit():
    db = connect(compile="off")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT a.k, (SELECT d.v FROM d WHERE d.k = a.k) AS v FROM a")
    commit(db, [{"a": [((1, 1, "x"), 1)], "b": [], "d": [((0, 1, None), 1), ((1, 2, None), 1), ((2, 2, None), 1)]}])
    db.verify()  # nobody asks for the two rows of 2
    with pytest.raises(ivm.NumericError, match=r"view v.*more than one row"):
        commit(db, [{"a": [((2, 1, "x"), 1)], "b": [], "d": []}])
    db.verify()
    commit(db, [{"a": [((2, 1, "x"), 1)], "b": [], "d": [((1, 2, None), -1)]}])
    db.verify()
    assert len(db.view("v").fetchall()) == 2
