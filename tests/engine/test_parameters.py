"""Parameters in every statement of a database."""

from __future__ import annotations

from datetime import date

import pytest

import ivm


@pytest.fixture
def db() -> ivm.Database:
    made = ivm.connect(compile="off")
    made.sql("CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR, price DECIMAL(9, 2), day DATE)")
    made.sql("INSERT INTO sale VALUES (?, ?, ?, ?), ($2, $3, 2, NULL)".replace("$2", "?").replace("$3", "?"),
             [1, "Bern", 1.5, date(2020, 1, 31), 2, None])  # fmt: skip
    return made


def test_a_view_holds_the_values_it_was_created_with(db: ivm.Database):
    db.sql("CREATE VIEW dear AS SELECT * FROM sale WHERE price >= $least", {"least": 1.5})
    db.sql("CREATE MATERIALIZED VIEW top AS SELECT id, city || $1 AS x FROM dear WHERE day < $2 ORDER BY id LIMIT $3",
           ["!", date(2021, 1, 1), 5])  # fmt: skip
    assert db.view("top").fetchall() == [(1, "Bern!")]
    db.sql("INSERT INTO sale VALUES (3, 'Oslo', 1.49, '2020-01-01'), (4, 'Ulm', 1.5, '2020-12-31')")
    assert db.view("top").fetchall() == [(1, "Bern!"), (4, "Ulm!")]
    assert db.verify()


def test_queries_changes_and_explain_take_them_too(db: ivm.Database):
    assert db.sql("SELECT id FROM sale WHERE city = ? LIMIT ? OFFSET ?", ["Bern", 1, 0]).fetchall() == [(1,)]
    db.sql("UPDATE sale SET city = ?, price = ? WHERE id = ?", ["Oslo", 3, 2])
    db.sql("DELETE FROM sale WHERE city = $city", {"city": "Bern"})
    assert db.sql("SELECT id, city, price FROM sale").fetchall() == [(2, "Oslo", 3)]
    assert "'Ulm'" in db.sql("EXPLAIN SELECT id FROM sale WHERE city = ?", ["Ulm"]).fetchall()[0][0]
    made = db.sql("EXPLAIN CREATE MATERIALIZED VIEW v AS SELECT id FROM sale WHERE city = ?", ["Ulm"])
    assert "'Ulm'" in made.fetchall()[0][0]


def test_a_wrong_parameter_changes_nothing(db: ivm.Database):
    with pytest.raises(ivm.BindError, match="2 parameters, but 1"):
        db.sql("INSERT INTO sale VALUES (?, ?, 1, NULL)", [9])
    with pytest.raises(ivm.TypeMismatchError, match="is a set"):
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT ? AS x FROM sale", [{1}])
    assert db.sql("SELECT count(*) FROM sale").fetchall() == [(2,)]
    with pytest.raises(ivm.BindError):
        db.view("v")


def test_another_dialect_reads_its_own_placeholders(db: ivm.Database):
    text = "CREATE MATERIALIZED VIEW v AS SELECT `id` FROM sale WHERE day >= date_add(?, 1) AND city <> ?"
    db.sql(text, [date(2020, 1, 30), "it's"], dialect="spark")
    assert db.view("v").fetchall() == [(1,)]
    assert db.verify()
