"""JSON comes in every form that data has, is checked there, and is what it was on disk and over shards."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ivm

VIEW = (
    "CREATE MATERIALIZED VIEW v AS SELECT j->>'kind' AS kind, count(*) AS n, json_group_array(j->'a') AS a, min(s.x) AS x "
    "FROM t GROUP BY j->>'kind'"
)
EVENT = '{"kind": "k", "a": [1, "é"]}'
BAD = ("{", "", "nope", "[1 2]", '"\\ud800"', "01")


def _table(db: ivm.Database) -> None:
    db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, j JSON NOT NULL, s STRUCT(x JSON, l JSON[]))")
    db.sql(VIEW)


@pytest.mark.parametrize("shards", [None, 2])
def test_every_form_is_taken_and_checked(shards):
    texts = pa.array([EVENT, "[1,]", "null"])
    many = [f'{{"kind": "{n}"}}' for n in range(100)]
    with ivm.connect(compile="off", shards=shards) as db:
        _table(db)
        given = pa.table({"id": [1, 2, 3], "j": texts})
        for rows in (
            given.append_column("s", pa.nulls(3)),
            pa.table({"id": [4, 5], "j": texts[:2].dictionary_encode(), "s": pa.nulls(2)}),
            pa.table({"id": [6], "j": pa.ExtensionArray.from_storage(pa.json_(), texts[:1]), "s": pa.nulls(1)}),
            pd.DataFrame({"id": [7], "j": [EVENT], "s": [None]}),
            pl.DataFrame({"id": [8], "j": [EVENT], "s": [{"x": "1", "l": ["{}", None]}]}),
            [{"id": 9, "j": {"kind": None, "a": [1.5, True]}, "s": {"x": {"y": 1}, "l": [[], "2"]}}],
            {"id": [10], "j": [[1, {"k": "v"}]], "s": [None]},
            pa.table({"id": range(100, 200), "j": many, "s": pa.nulls(100)}),
        ):
            db.apply({"t": rows})
        before = sorted(db.sql("SELECT id, j, s FROM t").fetchall())
        assert [j for _, j, _ in before[:4]] == [EVENT, "[1,]", "null", EVENT]
        assert [before[8][1], before[9][1]] == ['{"kind":null,"a":[1.5,true]}', '[1,{"k":"v"}]']
        assert before[8][2] == {"x": '{"y":1}', "l": ["[]", "2"]}
        for bad in BAD:
            for rows in (
                [{"id": 11, "j": "{}", "s": None}, {"id": 12, "j": bad, "s": None}],
                pa.table({"id": range(300, 401), "j": [*many, bad], "s": pa.nulls(101)}),
                [{"id": 11, "j": "{}", "s": {"x": bad, "l": None}}],
            ):
                with pytest.raises(ivm.TypeMismatchError, match=r"row (0|1|100) counted from 0: .* is no JSON"):
                    db.apply({"t": rows})
        for odd, words in ((float("nan"), "not JSON compliant"), ({1, 2}, "set"), (b"{}", "bytes")):
            with pytest.raises(ivm.TypeMismatchError, match=words):
                db.apply({"t": [{"id": 11, "j": [odd], "s": None}]})
        with pytest.raises(ivm.TypeMismatchError, match="column 'j' is JSON"):
            db.apply({"t": pa.table({"id": [11], "j": [1], "s": pa.nulls(1)})})
        assert sorted(db.sql("SELECT id, j, s FROM t").fetchall()) == before
        db.verify()


def test_it_is_the_same_after_opening_again(tmp_path):
    with ivm.connect(tmp_path / "log", compile="off") as db:
        _table(db)
        db.sql(f"INSERT INTO t VALUES (1, '{EVENT}', {{'x': '1', 'l': ['2']}}), (2, '[1,]', NULL)")
        db.sql("CHECKPOINT")
        db.sql("INSERT INTO t VALUES (3, 'NaN', NULL); UPDATE t SET j = '{\"kind\": 1}' WHERE id = 2")
        found = db.view("v").arrow()
    with ivm.connect(tmp_path / "log", compile="off") as db:
        db.verify()
        assert db.view("v").arrow().schema.equals(found.schema, check_metadata=True)
        assert db.view("v").arrow().sort_by("kind").equals(found.sort_by("kind"))
        assert db.sql("SELECT typeof(j), typeof(s), j FROM t ORDER BY id").fetchall() == [
            ("JSON", "STRUCT(x JSON, l JSON[])", text) for text in (EVENT, '{"kind": 1}', "NaN")
        ]
        with db.subscribe("v") as changes:
            db.sql("DELETE FROM t WHERE id = 1")
            (change,) = [each for each in changes.fetch().to_pylist() if each["kind"] == "k"]
            assert (change["a"], change["_diff"]) == ('[[1,"é"]]', -1)
