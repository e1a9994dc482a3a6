"""Bad input: each kind has its error class and a message that names the place; nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import ivm
from ivm.session.database import core_of


@pytest.fixture
def db() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE city (id BIGINT PRIMARY KEY, name VARCHAR NOT NULL)")
    db.sql(
        """CREATE TABLE person (id BIGINT PRIMARY KEY, city BIGINT NOT NULL REFERENCES city (id),
        wealth DECIMAL(18,2), age INTEGER NOT NULL) WITH (check_foreign_keys = true)"""
    )
    db.sql("CREATE TABLE note (person BIGINT, body VARCHAR); CREATE TABLE day (d DATE)")
    db.sql(
        "CREATE MATERIALIZED VIEW wealth AS SELECT city, sum(wealth * 2) AS w, count(*) AS n FROM person GROUP BY city"
    )
    db.sql("CREATE MATERIALIZED VIEW notes AS SELECT n.body, p.age FROM note n, person p WHERE n.person = p.id")
    db.apply({"city": [{"id": 1, "name": "Oslo"}, {"id": 2, "name": "Rome"}]})
    db.apply({"person": [{"id": 1, "city": 1, "wealth": Decimal(5), "age": 30}]})
    db.apply({"note": [{"person": 1, "body": "hi"}, {"person": 1, "body": "hi"}, {"person": 7, "body": None}]})
    return db


def state(db: ivm.Database) -> dict[str, Any]:
    """Everything a user can see."""
    names = ["city", "person", "note", "wealth", "notes"]
    rows = {name: sorted(map(repr, db.sql(f"SELECT * FROM {name}").fetchall())) for name in names}
    catalog = (core_of(db).catalog.tables, core_of(db).catalog.views)
    return {**rows, "time": db.time, "catalog": catalog}


def person(**values: Any) -> dict[str, Any]:
    return {"id": 2, "city": 1, "wealth": Decimal(1), "age": 1, **values}


def insert(table: str, *rows: dict[str, Any]) -> Callable[[ivm.Database], object]:
    def run(db: ivm.Database) -> None:
        with db.transaction() as tx:
            tx.insert("city", [{"id": 3, "name": "Lima"}])
            tx.insert(table, list(rows))

    return run


def delete(table: str, *rows: dict[str, Any]) -> Callable[[ivm.Database], object]:
    def run(db: ivm.Database) -> None:
        with db.transaction() as tx:
            tx.insert("city", [{"id": 3, "name": "Lima"}])
            tx.delete(table, list(rows))

    return run


def sql(text: str) -> Callable[[ivm.Database], object]:
    return lambda db: db.sql(text)


ITSELF: list[Any] = []
ITSELF.append(ITSELF)


def later(time: int) -> Callable[[ivm.Database], object]:
    return lambda db: db.apply({"person": [person(_time=time)]})


def changed(*diffs: int) -> Callable[[ivm.Database], object]:
    return lambda db: db.apply({"person": [person(_diff=diff) for diff in diffs]})


CASES: dict[str, tuple[Callable[[ivm.Database], object], type[ivm.Error], list[str]]] = {
    "rows of no table": (lambda db: db.apply(None), ivm.TypeMismatchError, ["apply", "dict", "None"]),  # type: ignore[arg-type]
    "a table that is no name": (lambda db: db.apply({5: []}), ivm.BindError, ["5", "int"]),  # type: ignore[dict-item]
    "no table's name": (lambda db: db.view(None), ivm.BindError, ["None"]),  # type: ignore[arg-type]
    "no rows": (lambda db: db.apply({"note": None}), ivm.TypeMismatchError, ["note", "NoneType"]),  # type: ignore[dict-item]
    "an empty text for rows": (lambda db: db.apply({"note": ""}), ivm.TypeMismatchError, ["note", "str"]),
    "no SQL": (lambda db: db.sql(None), ivm.ParseError, ["str", "None"]),  # type: ignore[arg-type]
    "bytes of SQL": (lambda db: db.sql(b"SELECT 1"), ivm.ParseError, ["str", "bytes"]),  # type: ignore[arg-type]
    "half a character": (sql("SELECT 1,\n '\udc80'"), ivm.ParseError, ["udc80", "line 2, column 3"]),
    "half a character as a parameter": (lambda db: db.sql("SELECT ?", ["\udc80"]), ivm.ParseError, ["udc80"]),
    "half a character in a row": (
        insert("note", {"person": 1, "body": "\udc80"}),
        ivm.TypeMismatchError,
        ["body", "utf-8"],
    ),
    "a dialect that is no name": (lambda db: db.sql("SELECT 1", dialect=5), ivm.BindError, ["5"]),  # type: ignore[arg-type]
    "a parameter that is no name": (lambda db: db.sql("SELECT $a", {1: 2, "a": 3}), ivm.BindError, ["'1'"]),  # type: ignore[dict-item]
    "a view's name for a list of them": (lambda db: db.verify("notes"), ivm.BindError, ["list of names"]),
    "a list that holds itself": (
        lambda db: db.apply({"note": {"person": ITSELF, "body": ["a"]}}),
        ivm.TypeMismatchError,
        ["list"],
    ),
    "a time that is no number": (lambda db: db.view("notes").arrow("x"), ivm.TypeMismatchError, ["as_of"]),  # type: ignore[arg-type]
    "a time after the last": (later(2**62 + 1), ivm.ConstraintError, ["person", "_time", "2^62"]),
    "a diff beyond what is stored": (
        changed(2**40),
        ivm.ConstraintError,
        ["person", "_diff 1099511627776", "several batches"],
    ),
    "a diff below what is stored": (changed(-(2**63)), ivm.ConstraintError, ["person", "_diff -9223372036854775808"]),
    "diffs beyond 64 bits": (changed(2**62, 2**62, -(2**62)), ivm.ConstraintError, ["person", "64 bits"]),
    "infinity": (
        sql("INSERT INTO day VALUES ('infinity')"),
        ivm.TypeMismatchError,
        ["table day", "'d'", "row 0", "years 1 to 9999"],
    ),
    "duplicate key": (insert("person", person(id=1)), ivm.ConstraintError, ["person", "PRIMARY KEY", "1"]),
    "duplicate key in one batch": (insert("person", person(), person()), ivm.ConstraintError, ["person", "2"]),
    "delete of an absent key": (delete("person", {"id": 9}), ivm.ConstraintError, ["person", "9"]),
    "delete of an absent row": (delete("note", {"person": 1, "body": "no"}), ivm.ConstraintError, ["note"]),
    "delete of too many copies": (
        delete("note", *[{"person": 1, "body": "hi"}] * 3),
        ivm.ConstraintError,
        ["note"],
    ),
    "NULL in NOT NULL": (insert("person", person(age=None)), ivm.ConstraintError, ["person", "age"]),
    "NULL in a key": (insert("person", person(id=None)), ivm.ConstraintError, ["person", "id"]),
    "wrong type": (insert("person", person(age="old")), ivm.TypeMismatchError, ["person", "age"]),
    "value that does not fit": (insert("person", person(age=2**40)), ivm.TypeMismatchError, ["person", "age"]),
    "decimal that does not fit": (
        insert("person", person(wealth=Decimal("0.001"))),
        ivm.TypeMismatchError,
        ["person", "wealth"],
    ),
    "unknown column": (insert("person", person(hat=1)), ivm.TypeMismatchError, ["person", "hat"]),
    "missing column": (insert("person", {"id": 4}), ivm.TypeMismatchError, ["person", "city"]),
    "foreign key of an added row": (
        insert("person", person(city=8)),
        ivm.ConstraintError,
        ["person", "FOREIGN KEY", "8"],
    ),
    "foreign key of a removed row": (delete("city", {"id": 1}), ivm.ConstraintError, ["person", "FOREIGN KEY", "1"]),
    "unknown table to change": (insert("persn", person()), ivm.BindError, ["persn", "person"]),
    "unknown table in a view": (
        sql("CREATE MATERIALIZED VIEW v AS SELECT * FROM persn"),
        ivm.BindError,
        ["persn", "person", "line 1"],
    ),
    "unknown column in a view": (
        sql("CREATE MATERIALIZED VIEW v AS SELECT agee FROM person"),
        ivm.BindError,
        ["agee", "age", "line 1"],
    ),
    "SQL that does not parse": (sql("CREATE MATERIALIZED VIEW v AS SELEC 1"), ivm.ParseError, ["line 1"]),
    "second view of one name": (
        sql("CREATE MATERIALIZED VIEW wealth AS SELECT 1 AS x FROM city"),
        ivm.BindError,
        ["wealth"],
    ),
    "second table of one name": (sql("CREATE TABLE city (id BIGINT)"), ivm.BindError, ["city"]),
    "dropping a used table": (sql("DROP TABLE person"), ivm.BindError, ["person", "wealth", "notes"]),
    "dropping an unknown view": (sql("DROP VIEW welth"), ivm.BindError, ["welth", "wealth"]),
    "not maintained yet": (
        sql("CREATE MATERIALIZED VIEW v AS SELECT p.id FROM person p POSITIONAL JOIN city c"),
        ivm.UnsupportedError,
        ["POSITIONAL", "line 1"],
    ),
    "not maintained yet, a window frame": (
        sql(
            "CREATE MATERIALIZED VIEW v AS SELECT sum(id) OVER (ORDER BY id ROWS 2 PRECEDING EXCLUDE TIES) AS n FROM person"
        ),
        ivm.UnsupportedError,
        ["EXCLUDE", "line 1"],
    ),
    "random": (sql("CREATE MATERIALIZED VIEW v AS SELECT random() AS r FROM person"), ivm.UnsupportedError, ["random"]),
    "overflow in an expression": (
        insert("person", person(wealth=Decimal("9999999999999999.99"))),
        ivm.NumericError,
        ["view wealth", "9999999999999999.99 * 2"],
    ),
    "overflow while hydrating": (
        sql("CREATE MATERIALIZED VIEW v AS SELECT age * 2000000000 AS x FROM person"),
        ivm.NumericError,
        ["view v", "30 * 2000000000"],
    ),
    "ad-hoc SELECT of an unknown table": (sql("SELECT * FROM persn"), ivm.BindError, ["persn", "person"]),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_and_changes_nothing(db: ivm.Database, name: str) -> None:
    run, error, words = CASES[name]
    before = state(db)
    arrangements = db.sql("SELECT arrangement, rows FROM ivm_arrangements ORDER BY ALL").fetchall()
    with db.subscribe("wealth") as subscription:
        with pytest.raises(error) as raised:
            run(db)
        assert subscription.fetch().num_rows == 0
    for word in words:
        assert word in str(raised.value), f"{word!r} is not in: {raised.value}"
    assert state(db) == before
    assert db.sql("SELECT arrangement, rows FROM ivm_arrangements ORDER BY ALL").fetchall() == arrangements
    db.verify()
    with db.transaction() as tx:
        tx.insert("person", [person(id=77)])
    db.verify()


def test_a_time_that_is_not_later_is_refused(db: ivm.Database) -> None:
    data = pa.table({"id": pa.array([9]), "name": ["Kyiv"], "_time": pa.array([1])})
    before = state(db)
    with pytest.raises(ivm.ConstraintError, match="_time 1"):
        db.apply({"city": data})
    assert state(db) == before


def test_an_exception_in_a_transaction_commits_nothing(db: ivm.Database) -> None:
    before = state(db)
    with pytest.raises(RuntimeError), db.transaction() as tx:
        tx.insert("city", [{"id": 9, "name": "Kyiv"}])
        raise RuntimeError
    assert state(db) == before


def test_a_view_in_use_is_not_dropped(db: ivm.Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW rich AS SELECT city FROM wealth WHERE n > 0")
    with pytest.raises(ivm.BindError, match="rich"):
        db.sql("DROP VIEW wealth")
    db.sql("DROP VIEW rich")
    db.sql("DROP VIEW wealth")


def test_diffs_of_equal_rows_are_added_up_before_they_are_too_many(db):
    db.apply({"note": [{"person": 8, "body": "x", "_diff": diff} for diff in (2**62, -(2**62), 1)]})
    assert db.sql("SELECT count(*) FROM note WHERE person = 8").fetchall() == [(1,)]
    last = db.apply({"note": [{"person": 8, "body": "x", "_time": 2**62}]})
    assert last == 2**62
    assert db.apply({"note": [{"person": 8, "body": "x", "_diff": -2}]}) == last + 1
    assert len(db.verify()) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"history": -1},
        {"history": 2**63},
        {"history": "x"},
        {"history": True},
        {"memory_limit": 1.5},
        {"compile": "of"},
    ],
)
def test_options_of_a_database(options):
    with pytest.raises(ivm.TypeMismatchError, match=next(iter(options))):
        ivm.connect(**options)


def test_a_file_is_not_named_by_the_beginning_of_its_name(tmp_path):
    (tmp_path / "a").write_text("precious")
    db = ivm.connect(compile="off", external_access=True)
    db.sql("CREATE TABLE t (a BIGINT)")
    for text in ("COPY t TO", "COPY t FROM", "COPY (SELECT 1 AS a) TO"):
        with pytest.raises(ivm.UnsupportedError, match="cannot hold the character NUL"):
            db.sql(f"{text} '{tmp_path}/a\0.csv'")
    assert (tmp_path / "a").read_text() == "precious"
