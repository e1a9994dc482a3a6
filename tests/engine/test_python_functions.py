"""Functions of Python's: called once for what comes, remembered for what goes, whatever they would say by then."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ivm


class Fickle:
    """A function that says another thing each time it is asked, and how often it was asked for what."""

    def __init__(self) -> None:
        self.asked: Counter[int] = Counter()

    def __call__(self, x: int) -> int:
        self.asked[x] += 1
        return 1000 * sum(self.asked.values()) + x


class Wordless:
    """What cannot be written."""

    def __repr__(self) -> str:
        raise ValueError


@pytest.fixture(params=[None, 3], ids=["alone", "shards"])
def db(request: pytest.FixtureRequest) -> Any:
    with ivm.connect(compile="off", shards=request.param) as made:
        made.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER, s VARCHAR, y DOUBLE)")
        yield made


def rows(db: ivm.Database, text: str) -> list[Any]:
    return db.sql(text).fetchall()


def test_what_was_said_is_remembered_until_the_last_row_goes(db: ivm.Database) -> None:
    fickle = Fickle()
    db.create_function("f", fickle, ["BIGINT"], "BIGINT")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT id, f(x) AS fx FROM t")
    db.sql("INSERT INTO t VALUES (1, 7), (2, 7), (3, NULL)".replace("t V", "t (id, x) V"))
    first = rows(db, "SELECT * FROM v ORDER BY id")
    assert fickle.asked == {7: 1}
    assert first == [(1, 1007), (2, 1007), (3, None)]
    # Another view is told the same, and so are a SELECT and the oracle.
    db.sql("CREATE MATERIALIZED VIEW w AS SELECT f(x + 0) AS k, count(*) AS n, sum(f(x)) AS s FROM t GROUP BY f(x + 0)")
    assert rows(db, "SELECT * FROM w ORDER BY k") == [(1007, 2, 2014), (None, 1, None)]
    assert rows(db, "SELECT f(7), f(NULL)") == [(1007, None)]
    assert len(db.verify()) == 2
    assert fickle.asked == {7: 1}
    db.sql("DELETE FROM t WHERE id = 1")
    db.sql("INSERT INTO t (id, x) VALUES (4, 7)")
    assert fickle.asked == {7: 1}
    db.sql("DELETE FROM t")
    db.sql("INSERT INTO t (id, x) VALUES (5, 7)")
    assert fickle.asked == {7: 2}
    assert rows(db, "SELECT * FROM v") == [(5, 2007)]
    assert rows(db, "SELECT k, n FROM w") == [(2007, 1)]
    db.verify()


def test_histories_of_a_fickle_function_are_right(db: ivm.Database) -> None:
    fickle, chance = Fickle(), random.Random(5)
    db.create_function("f", fickle, ["BIGINT"], "BIGINT")
    db.sql("CREATE TABLE u (z INTEGER, n INTEGER)")
    db.sql(
        """CREATE MATERIALIZED VIEW a AS SELECT t.id, u.n, CASE WHEN u.n > 1 THEN f(t.x) END AS c
           FROM t LEFT JOIN u ON f(t.x) % 5 = u.z % 5 WHERE t.x < 6 OR f(t.x) % 2 = 0"""
    )
    db.sql(
        "CREATE MATERIALIZED VIEW b AS SELECT f(x) AS k, max(f(id)) AS m, list(s ORDER BY id) AS l FROM t GROUP BY k"
    )
    db.sql("CREATE MATERIALIZED VIEW c AS SELECT * FROM (SELECT f(z) AS k, n FROM u) ORDER BY k LIMIT 3")
    for step in range(14):
        with_error = step % 7 == 6
        try:
            with db.transaction() as tx:
                gone = rows(db, "SELECT * FROM t ORDER BY id")
                for row in chance.sample(gone, min(len(gone), chance.randrange(4))):
                    tx.delete("t", [dict(zip(("id", "x", "s", "y"), row, strict=True))])
                new = {100 * step + each: chance.randrange(9) for each in range(chance.randrange(4))}
                tx.insert("t", [{"id": key, "x": x, "s": "s", "y": 1.0} for key, x in new.items()])
                tx.insert("u", [{"z": chance.randrange(9), "n": chance.randrange(4)}])
                if with_error:
                    raise LookupError
        except LookupError:
            pass
        if step == 8:
            db.sql("DELETE FROM t")
        if step == 12:
            db.sql("DELETE FROM u")
        if step % 5 == 0:
            db.verify()
    db.verify()


def test_a_commit_that_is_undone_forgets_what_it_asked() -> None:
    with ivm.connect(compile="off") as db:
        fickle = Fickle()
        db.create_function("f", fickle, ["BIGINT"], "BIGINT")
        db.create_function("g", lambda x: 1 // x, ["BIGINT"], "BIGINT")
        db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER)")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT id, f(x) AS fx FROM t")
        db.sql("CREATE MATERIALIZED VIEW w AS SELECT id, g(x) AS gx FROM t")
        with pytest.raises(ivm.NumericError, match=r"cannot compute g\(0\): ZeroDivisionError: .*return_null"):
            db.sql("INSERT INTO t VALUES (1, 5), (2, 0)")
        assert rows(db, "SELECT count(*) FROM v") == [(0,)]
        db.sql("INSERT INTO t VALUES (1, 5)")
        assert fickle.asked[5] == 2
        db.sql("UPDATE t SET x = 6 WHERE id = 1")
        with pytest.raises(ivm.NumericError):
            db.apply({"t": [{"id": 1, "x": 0}]}, mode="upsert")
        assert rows(db, "SELECT * FROM v") == [(1, 1000 * fickle.asked.total() + 6)] or db.verify()
        db.verify()


def test_only_what_is_asked_is_called(db: ivm.Database) -> None:
    asked: list[int] = []

    def f(x: int) -> bool:
        asked.append(x)
        return x > 3

    db.create_function("f", f)
    db.sql("INSERT INTO t (id, x) VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, NULL)")
    text = "SELECT id FROM t WHERE x > 2 AND f(x)"
    db.sql(f"CREATE MATERIALIZED VIEW a AS {text}")
    assert sorted(asked) == [3, 4]
    asked.clear()
    db.sql("""CREATE MATERIALIZED VIEW b AS SELECT id, CASE WHEN x < 2 THEN f(x + 10) WHEN x < 3 THEN f(x + 20) END AS c,
              x = 3 OR f(x + 30) AS o, coalesce(y > 0, f(x + 40)) AS d FROM t""")
    assert sorted(asked) == [11, 22, 31, 32, 34, 41, 42, 43, 44]
    db.verify()


_OF_TYPES: list[tuple[str, str, Callable[[Any], Any], object]] = [
    ("VARCHAR", "'ä'", str.upper, "Ä"),
    ("DOUBLE", "2.5::DOUBLE", lambda x: x * 2, 5.0),
    ("FLOAT", "0.5::FLOAT", lambda x: x, 0.5),
    ("DECIMAL(9,2)", "1.25::DECIMAL(9,2)", lambda x: x + 1, Decimal("2.25")),
    ("HUGEINT", "170000000000000000000", lambda x: x + 1, 170000000000000000001),
    ("DATE", "DATE '2024-02-28'", lambda x: x + timedelta(days=1), date(2024, 2, 29)),
    ("TIMESTAMP", "TIMESTAMP '2024-02-28 12:00:00'", lambda x: x.replace(hour=1), datetime(2024, 2, 28, 1)),
    ("TIMESTAMPTZ", "TIMESTAMPTZ '2024-02-28 12:00:00+00'", lambda x: x, datetime(2024, 2, 28, 12, tzinfo=UTC)),
    ("INTERVAL", "INTERVAL 2 DAY", lambda x: 2 * x, timedelta(days=4)),
    ("BLOB", "'ab'::BLOB", lambda x: x[::-1], b"ba"),
    ("INTEGER[]", "[1, 2]", lambda x: [*x, 3], [1, 2, 3]),
    ("STRUCT(a INTEGER, b VARCHAR)", "{'a': 1, 'b': 'x'}", lambda x: {**x, "a": 2}, {"a": 2, "b": "x"}),
    ("MAP(VARCHAR, INTEGER)", "MAP {'k': 1}", lambda x: {**x, "l": 2}, {"k": 1, "l": 2}),
    ("BOOLEAN", "TRUE", lambda x: not x, False),
]


def test_values_of_all_types(tmp_path: Path) -> None:
    functions = {
        f"f{place}": {"function": function, "parameters": [type_], "return_type": type_}
        for place, (type_, _, function, _) in enumerate(_OF_TYPES)
    }
    columns = ", ".join(f"{value} AS x{place}" for place, (_, value, _, _) in enumerate(_OF_TYPES))
    calls = ", ".join(f"f{place}(x{place}) AS y{place}" for place in range(len(_OF_TYPES)))
    with ivm.connect(tmp_path / "db", compile="off", functions=functions) as db:
        db.sql(f"CREATE TABLE t AS SELECT {columns}")
        db.sql(f"INSERT INTO t SELECT {', '.join(['NULL'] * len(_OF_TYPES))}")
        db.sql(f"CREATE MATERIALIZED VIEW v AS SELECT {calls} FROM t")
        given = tuple(value for *_, value in _OF_TYPES)
        assert rows(db, "SELECT * FROM v WHERE y0 IS NOT NULL") == [given]
        assert rows(db, f"SELECT {calls} FROM t WHERE x0 IS NOT NULL") == [given]
        db.verify()
        db.sql("CHECKPOINT")
    with ivm.connect(tmp_path / "db", compile="off", functions=functions) as db:
        assert rows(db, "SELECT * FROM v WHERE y0 IS NOT NULL") == [given]
        db.sql("INSERT INTO t SELECT * FROM t")
        db.verify()
        db.sql("DELETE FROM t")
        assert db.verify()[0].rows == 0


def test_functions_of_arrow_arrays_and_of_any_number_of_arguments(db: ivm.Database) -> None:
    sizes: list[int] = []

    def twice(x: pa.Array) -> pa.Array:
        sizes.append(len(x))
        return pc.multiply(x, 2)

    db.create_function("twice", twice, ["BIGINT"], "BIGINT", type="arrow")
    db.create_function("joined", lambda *x: "-".join(map(str, x)), None, "VARCHAR", null_handling="special")
    db.create_function("nothing", lambda: 5, [], "INTEGER")
    db.sql("INSERT INTO t (id, x) SELECT i, i % 10 FROM range(1000) r(i)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT id, twice(x) AS d, joined(x, s, 'q') AS j, nothing() AS n FROM t")
    assert max(sizes) <= 10
    assert rows(db, "SELECT d, j, n FROM v WHERE id = 13") == [(6, "3-None-q", 5)]
    assert rows(db, "SELECT twice(x), joined(x, s, 'q'), nothing() FROM t WHERE id = 13") == [(6, "3-None-q", 5)]
    db.verify()
    arguments = {"1": "1", "true": "True", "1.0": "1.0", "1.00": "1.00", "1e0": "1.0"}
    for number, (argument, told) in enumerate(arguments.items()):
        db.sql(f"CREATE MATERIALIZED VIEW v{number} AS SELECT joined({argument}) AS j FROM t WHERE id < 2")
        assert rows(db, f"SELECT DISTINCT j FROM v{number}") == [(told,)], argument


def test_wrong_answers_say_so_and_change_nothing() -> None:
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE t (x INTEGER)")
        answers: dict[int, Any] = {1: "one", 2: 1.5, 3: None, 4: 1 << 70, 5: 5}
        db.create_function("f", answers.__getitem__, ["INTEGER"], "INTEGER")
        db.create_function("n", answers.get, ["INTEGER"], "INTEGER", exception_handling="return_null")
        db.create_function("a", lambda x: x.slice(1), ["INTEGER"], "INTEGER", type="arrow")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT f(x) AS y FROM t")
        for value, words in (
            (1, r"cannot compute f\(1\): the function gave 'one', a str, which is no INTEGER"),
            (2, "gave 1.5, a float, which is no INTEGER"),
            (3, "gave None; return a value, or create it with null_handling"),
            (4, "which is no INTEGER"),
            (6, "KeyError: 6"),
        ):
            with pytest.raises(ivm.NumericError, match=words):
                db.sql(f"INSERT INTO t VALUES ({value})")
            with pytest.raises(ivm.NumericError, match=words):
                db.sql(f"SELECT f({value})")
        with pytest.raises(ivm.NumericError, match="gave 0 values for 1 rows"):
            db.sql("SELECT a(1)")
        answers |= {7: Wordless()}
        for text in ("INSERT INTO t VALUES (7)", "SELECT f(7)"):
            with pytest.raises(
                ivm.NumericError, match=r"f\(7\): the function gave \(what raises ValueError .* a Wordless"
            ):
                db.sql(text)
        assert rows(db, "SELECT n(5), n(6), n(3)") == [(5, None, None)]
        db.sql("INSERT INTO t VALUES (5)")
        assert rows(db, "SELECT * FROM v") == [(5,)]
        with pytest.raises(ivm.TypeMismatchError, match=r"f\(INTEGER\) -> INTEGER takes 1, and 2 arguments"):
            db.sql("CREATE MATERIALIZED VIEW w AS SELECT f(x, 1) FROM t")
        with pytest.raises(ivm.TypeMismatchError, match="takes no DOUBLE here"):
            db.sql("CREATE MATERIALIZED VIEW w AS SELECT f(x::DOUBLE) FROM t")


def test_where_a_function_cannot_stand_it_is_refused() -> None:
    with ivm.connect(compile="off") as db:
        db.create_function("f", lambda x: x, ["BIGINT"], "BIGINT")
        db.create_function("now_and_then", random.random, [], "DOUBLE", side_effects=True)
        db.sql("CREATE TABLE t (x BIGINT)")
        with pytest.raises(ivm.UnsupportedError, match="was created with side_effects"):
            db.sql("CREATE MATERIALIZED VIEW v AS SELECT now_and_then() FROM t")
        db.sql("INSERT INTO t SELECT floor(10 * now_and_then()) FROM range(3)")
        assert rows(db, "SELECT count(*) FROM t") == [(3,)]
        for text, words in (
            ("CREATE TABLE u (x BIGINT CHECK (f(x) > 0))", r"the function f\(\) .* let a materialized view .* call it"),
            (
                "CREATE TABLE u (x BIGINT, y BIGINT AS (f(x)))",
                r"the function f\(\) .* call it in a view over the table",
            ),
            (
                "CREATE TABLE u (x BIGINT DEFAULT f(3))",
                "DEFAULT .* of column 'x' calls a function of the application's",
            ),
            ("ALTER TABLE t ADD COLUMN y BIGINT DEFAULT f(3)", "of column 'y' calls a function of the application's"),
        ):
            with pytest.raises(ivm.UnsupportedError, match=words):
                db.sql(text)
        with pytest.raises(ivm.UnsupportedError, match="within a loop the function f"):
            db.sql("""CREATE MATERIALIZED VIEW v AS WITH RECURSIVE r(n) AS (SELECT 1::BIGINT UNION
                      SELECT f(n) + 1 FROM r WHERE n < 5) SELECT * FROM r""")
        for name, words in (
            ("abs", "DuckDB has a function"), ("sum", "DuckDB has"), ("F", "there is one of that name"),
            ("soundex", "stands for something else"), ("a b", "stands for something else"),
        ):  # fmt: skip
            with pytest.raises(ivm.Error, match=words):
                db.create_function(name, lambda x: x, ["BIGINT"], "BIGINT")
        for arguments, words in (
            ((lambda x: x,), "nothing says what it gives"),
            ((lambda x: x, None, "BIGINT"), "of what type x is"),
            ((lambda x: x, ["BIGINT", "BIGINT"], "BIGINT"), "2 types are given, and it takes 1"),
            ((lambda x: x, ["1 +"], "BIGINT"), "is no type"),
            ((5, ["BIGINT"], "BIGINT"), "cannot be called"),
        ):
            with pytest.raises(ivm.TypeMismatchError, match=words):
                db.create_function("g", *arguments)
        db.sql("CREATE MACRO m(x) AS f(x) + 1")
        with pytest.raises(ivm.BindError, match="there is a macro"):
            db.create_function("m", lambda x: x, ["BIGINT"], "BIGINT")
        db.sql("CREATE VIEW plain AS SELECT m(x) AS y FROM t")
        with pytest.raises(ivm.BindError, match="view 'plain' calls it"):
            db.remove_function("f")
        assert rows(db, "SELECT min(y) > 0 FROM plain") == [(True,)]
        db.sql("DROP VIEW plain")
        db.remove_function("f")
        with pytest.raises(ivm.BindError, match="there is none of that name"):
            db.remove_function("f")
        with pytest.raises(ivm.Error, match="f"):
            db.sql("SELECT f(1)")


def test_a_function_does_not_use_the_database_that_calls_it(db: ivm.Database) -> None:
    uses: dict[str, Callable[[], object]] = {
        "commit": lambda: db.sql("INSERT INTO t (id) VALUES (100)"),
        "read": lambda: db.sql("SELECT * FROM t"),
        "define": lambda: db.sql("CREATE TABLE other (x INTEGER)"),
        "apply": lambda: db.apply({"t": [{"id": 200, "x": 1, "s": "", "y": 0.0}]}),
        "view": lambda: db.view("v").arrow(),
        "begin": lambda: db.sql("BEGIN"),
        "close": db.close,
        "create": lambda: db.create_function("g", lambda x: x, ["BIGINT"], "BIGINT"),
    }

    def f(s: str) -> str:
        return str(uses[s]())

    db.create_function("f", f)
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT f(s) AS y FROM t")
    for place, use in enumerate(uses):
        for text in (f"INSERT INTO t (id, s) VALUES ({place}, '{use}')", f"SELECT f('{use}')"):
            with pytest.raises(ivm.NumericError, match="cannot use this database in a function"):
                db.sql(text)
    assert rows(db, "SELECT count(*) FROM t") == [(0,)]


def test_threads_that_commit_while_a_view_is_filled_and_others_read() -> None:
    with ivm.connect(compile="off") as db:
        db.create_function("f", lambda x: x % 7, ["BIGINT"], "BIGINT")
        db.sql("CREATE TABLE t (x BIGINT)")
        db.sql("INSERT INTO t SELECT * FROM range(5000)")
        ended, errors = threading.Event(), list[BaseException]()

        def work(text: str) -> None:
            try:
                while not ended.is_set():
                    db.sql(text)
            except BaseException as error:  # noqa: BLE001  told below
                errors.append(error)

        texts = ("INSERT INTO t VALUES (1), (5001)", "DELETE FROM t WHERE x % 1000 = 1", "SELECT sum(f(x)) FROM t")
        threads = [threading.Thread(target=work, args=(text,)) for text in texts]
        for each in threads:
            each.start()
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT f(x) AS k, count(*) AS n FROM t GROUP BY k")
        db.sql("CREATE MATERIALIZED VIEW w AS SELECT x, f(x) AS k FROM t")
        ended.set()
        for each in threads:
            each.join()
        assert not errors
        db.verify()


def test_explain_and_the_state_tell_of_it() -> None:
    with ivm.connect(compile="off") as db:
        db.create_function("f", lambda x: x, ["BIGINT"], "BIGINT")
        db.sql("CREATE TABLE t (x BIGINT)")
        db.sql("INSERT INTO t SELECT i % 3 FROM range(10) r(i)")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT f(x) AS y FROM t")
        assert "called f(x)" in db.explain("SELECT f(x) AS y FROM t") or "called f(#" in db.explain(
            "SELECT f(x) FROM t"
        )
        assert rows(db, "SELECT count(*) FROM ivm_operators WHERE operator LIKE 'called%'") == [(1,)]
        assert rows(db, "SELECT function_type FROM duckdb_functions() WHERE function_name = 'f'") == [("scalar",)]
