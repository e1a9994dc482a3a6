"""Databases on disk whose views call functions of Python's, opened with these, without them, and with others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ivm
from ivm.catalog.function import Signature
from ivm.catalog.plain import plain_view, view_of
from ivm.catalog.schema import View
from ivm.session.database import core_of
from tests.engine.test_python_functions import Fickle, rows


def test_a_database_on_disk_remembers_what_its_checkpoint_has(tmp_path: Path) -> None:
    fickle = Fickle()
    functions = {"f": {"function": fickle, "parameters": ["BIGINT"], "return_type": "BIGINT"}}
    with ivm.connect(tmp_path / "db", compile="off", functions=functions) as db:
        db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER)")
        db.sql("INSERT INTO t SELECT i, i % 5 FROM range(20) r(i)")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT f(x) AS k, count(*) AS n FROM t GROUP BY k")
        before = rows(db, "SELECT * FROM v ORDER BY ALL")
        db.sql("CHECKPOINT")
        db.sql("INSERT INTO t VALUES (100, 3), (101, 77)")
    with ivm.connect(tmp_path / "db", compile="off", functions=functions) as db:
        assert all(fickle.asked[x] == 1 for x in range(5))
        assert {k for k, _ in before} < {k for k, _ in rows(db, "SELECT * FROM v")}
        db.verify()
        db.sql("DELETE FROM t WHERE x = 3")
        db.sql("INSERT INTO t VALUES (102, 3)")
        assert fickle.asked[3] == 2
        db.verify()
    with ivm.connect(tmp_path / "db", read_only=True, functions=functions) as db:
        db.verify()


def test_a_database_goes_on_without_its_functions_until_one_is_needed(tmp_path: Path) -> None:
    given: dict[str, Any] = {"function": lambda x: x * 2, "parameters": ["BIGINT"], "return_type": "BIGINT"}
    with ivm.connect(tmp_path / "db", compile="off", functions={"f": given}) as db:
        db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER)")
        db.sql("INSERT INTO t SELECT i, i % 3 FROM range(9) r(i)")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT f(x) AS k, count(*) AS n FROM t GROUP BY k")
        db.sql("CREATE MATERIALIZED VIEW above AS SELECT max(k) AS k FROM v")
        db.sql("CREATE VIEW plain AS SELECT f(x + 1) AS k FROM t")
    words = r"views 'v', 'plain' call f\(\), and the function was not .* db.create_function\('f', .., \['BIGINT'\], 'BIGINT'\)"
    with ivm.connect(tmp_path / "db", compile="off") as db, ivm.connect(tmp_path / "db", read_only=True) as reader:
        for each in (reader, db):
            assert rows(each, "SELECT * FROM v ORDER BY k") == [(0, 3), (2, 3), (4, 3)]
            assert not any(verified.unchecked for verified in each.verify())
            with pytest.raises(ivm.NumericError, match=words):
                each.sql("SELECT * FROM plain")
        with pytest.raises(ivm.BindError, match=r"as it was declared before; give it so, db.create_function\('f'"):
            db.create_function("f", lambda x: x * 2, ["INTEGER"], "BIGINT")
        db.sql("INSERT INTO t VALUES (20, 1), (21, NULL)")
        db.sql("DELETE FROM t WHERE x = 0")
        for text in (
            "UPDATE t SET x = 7",
            "INSERT INTO t VALUES (30, 0)",
            "CREATE MATERIALIZED VIEW w AS SELECT f(5) AS y",
        ):
            with pytest.raises(ivm.MissingFunctionError, match=words):
                db.sql(text)
        with pytest.raises(ivm.BindError, match="views 'v', 'plain' call it"):
            db.remove_function("f")
        db.create_function("f", given["function"], ["BIGINT"], "BIGINT")
        db.sql("INSERT INTO t VALUES (30, 0), (31, 7)")
        assert rows(db, "SELECT * FROM above") == [(14,)]
        db.verify()
        with pytest.raises(
            ivm.MissingFunctionError, match=r"cannot open database .* since its last checkpoint .*functions="
        ):
            ivm.connect(tmp_path / "db", read_only=True)
    with ivm.connect(tmp_path / "db", compile="off") as db:
        for name in ("above", "v", "plain"):
            db.sql(f"DROP VIEW {name}")
        db.create_function("f", str.upper, ["VARCHAR"], "VARCHAR")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT f('a' || x) AS k FROM t")
    with pytest.raises(ivm.BindError, match="view 'v' calls f"):
        ivm.connect(tmp_path / "db", functions={"f": given})


def test_views_that_earlier_releases_wrote_down_need_their_functions() -> None:
    with ivm.connect(compile="off") as db:
        db.create_function("f", lambda x, y: x, ["BIGINT", "DECIMAL(9,2)[]"], "BIGINT", null_handling="special")
        view = View("v", "SELECT f(1, [2]) AS y", (), (), True, calls=(core_of(db).functions.declared["f"].signature,))
        plain = plain_view(view)
        assert view_of(plain) == view
        del plain["signatures"]
        old = view_of(plain)
        assert [each.name for each in old.calls] == ["f"]
        core_of(db).functions.expect(old.calls[0], "v")
        with pytest.raises(ivm.BindError, match=r"view 'v' calls g\(\), .*functions="):
            core_of(db).functions.expect(Signature("g"), "v")
