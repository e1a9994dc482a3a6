"""Few rows that go are read where they are stored, whatever the types of their columns and the forms they came in."""

from __future__ import annotations

import random

import pyarrow as pa

import ivm

_LABELS = ("sad", "ok", "glad")


def _batch(numbers: list[int], chance: random.Random) -> pa.Table:
    """Rows of these numbers; texts and labels as they are, or as codes of dictionaries, and some batches with NULLs."""
    texts = [None if chance.random() < 0.1 else chance.choice(["", "a", "ab", "é"]) for _ in numbers]
    labels = pa.array([chance.choice(_LABELS) for _ in numbers])
    columns = {
        "id": pa.array(numbers, pa.int32()),
        "s": pa.array(texts, pa.string()),
        "e": labels,
        "d": pa.array([number * 3 for number in numbers], pa.int32()).cast(pa.date32()),
        "b": pa.array([chance.random() < 0.5 for _ in numbers]),
        "w": pa.array([number << 70 for number in numbers], pa.decimal128(38, 0)),
    }
    if chance.random() < 0.5:
        columns["s"] = columns["s"].dictionary_encode()
        columns["e"] = labels.dictionary_encode()
    return pa.table(columns)


def test_rows_of_all_forms() -> None:
    chance = random.Random(7)
    db = ivm.connect()
    for key in ("", ", PRIMARY KEY (id)"):
        name = "keyed" if key else "plain"
        db.sql(
            f"CREATE TABLE {name} (id INTEGER, s VARCHAR, e ENUM('sad', 'ok', 'glad') NOT NULL, d DATE, b BOOLEAN,"
            f" w HUGEINT{key})"
        )
        db.sql(f"CREATE MATERIALIZED VIEW v_{name} AS SELECT * FROM {name} WHERE e > 'sad' AND s <> 'a'")
        db.sql(f"CREATE MATERIALIZED VIEW g_{name} AS SELECT e, s, count(*) AS n, sum(w) AS w FROM {name} GROUP BY ALL")
    there: list[pa.Table] = []
    for step in range(40):
        come = _batch([step * 100 + each for each in range(chance.choice([1, 3, 20]))], chance)
        gone = there[0].slice(0, chance.choice([1, 2, 20])) if there and step % 3 else None
        with db.transaction() as made:
            for name in ("plain", "keyed"):
                if gone is not None:
                    made.delete(name, gone)
                made.insert(name, come)
        if gone is not None:
            first = there.pop(0).slice(gone.num_rows)
            there += [first] * bool(first.num_rows)
        there.append(come)
    db.verify()
