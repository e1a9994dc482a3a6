"""The clocks of time zones as they were learnt, against DuckDB, moment by moment."""

from __future__ import annotations

from random import Random
from zoneinfo import available_timezones

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import ivm

_ODD = ("Europe/Zurich", "Europe/Dublin", "Africa/Casablanca", "Antarctica/Troll", "Asia/Manila", "Pacific/Apia",
        "America/Godthab", "Asia/Tehran", "Pacific/Kwajalein", "Australia/Lord_Howe", "America/St_Johns")  # fmt: skip
"""Clocks that go back in summer, by half an hour, by a day, at midnight, at other times each year."""


@pytest.mark.parametrize("zones", [_ODD, tuple(Random(1).sample(sorted(available_timezones() - {"localtime"}), 11))])
def test_clocks_are_duckdbs(zones: tuple[str, ...]):
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE m (id INTEGER PRIMARY KEY, moment TIMESTAMPTZ, clock TIMESTAMP, zone VARCHAR)")
    db.sql(
        "CREATE MATERIALIZED VIEW v AS SELECT id, moment AT TIME ZONE zone AS a, clock AT TIME ZONE zone AS b FROM m"
    )
    random, hour = np.random.default_rng(1), 3_600_000_000
    moments = random.integers(-2_300_000_000, 4_300_000_000, 3000) * 1_000_000 + random.integers(0, 10**6, 3000)
    moments = np.concatenate([moments, (np.arange(2000 * 365) * 12 * hour)[::97] + 1, np.arange(0, 366 * 24) * hour])
    db.apply({"m": pa.table({
        "id": pa.array(range(len(moments)), pa.int32()), "moment": pa.array(moments, pa.timestamp("us", "UTC")),
        "clock": pa.array(moments, pa.timestamp("us")), "zone": [zones[i % len(zones)] for i in range(len(moments))],
    })})  # fmt: skip
    assert db.verify()
    db.sql("DELETE FROM m WHERE id % 3 = 0")
    assert db.verify()


def test_more_zones_than_are_learnt_at_once():
    names = sorted(available_timezones() - {"localtime"})[:100]
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE m (zone VARCHAR PRIMARY KEY)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT zone, TIMESTAMPTZ '2024-07-01 12:00Z' AT TIME ZONE zone AS t FROM m")
    db.apply({"m": [{"zone": name} for name in names]})
    query = f"SELECT zone, timezone(zone, TIMESTAMPTZ '2024-07-01 12:00Z') FROM (SELECT unnest({names}) AS zone)"
    assert sorted(db.view("v").fetchall()) == sorted(duckdb.connect().execute(query).fetchall())
    with pytest.raises(ivm.NumericError, match="Mars/Olympus"):
        db.sql("INSERT INTO m VALUES ('Mars/Olympus')")
    assert len(db.view("v").fetchall()) == len(names)
