"""A database in one piece, spread over shards on Spark, and back."""

from __future__ import annotations

import ivm
import ivm.spark
from tests.cluster.test_recovering import TABLES, recovered, rows


def test_there_and_back(spark, tmp_path):
    with ivm.connect(tmp_path / "one.ivm") as db:
        db.sql(TABLES)
        for n in range(9):
            db.apply({"sale": [{"id": n, "city": "Bern" if n % 3 else "Oslo", "price": n}]}, batch=("sales", n))
    with ivm.connect(tmp_path / "one.ivm", read_only=True) as db:
        expected = db.time, db.batches(), rows(db)
    with ivm.spark.connect(spark, tmp_path / "shop", shards=2) as db:
        db.restore(tmp_path / "one.ivm")
        assert (db.time, db.batches(), rows(db)) == expected
        db.sql("DELETE FROM sale WHERE id = 7")
        db.apply({"sale": spark.createDataFrame([(70, "Oslo", 1)], "id long, city string, price int")})
        assert len(db.verify()) == 2
    with ivm.spark.connect(spark, tmp_path / "shop") as db:
        expected = db.time, db.batches(), rows(db)
    recovered(tmp_path / "shop", tmp_path / "back.ivm")
    with ivm.connect(tmp_path / "back.ivm") as db:
        assert (db.time, db.batches(), rows(db)) == expected
        assert len(db.verify()) == 2
