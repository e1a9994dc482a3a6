"""Covariances are exact whatever has come and gone, and however far values are from each other."""

from __future__ import annotations

import random
from fractions import Fraction

import ivm

Pair = tuple[int, float | None, float | None]
VIEW = """CREATE MATERIALIZED VIEW v AS SELECT k, covar_pop(y, x) AS a, covar_samp(x, y) AS b, covar_pop(x, x) AS c,
    var_pop(x) AS d, covar_pop(x, y) FILTER (WHERE id % 2 = 0) AS e FROM t GROUP BY k"""


def covariance(pairs: list[tuple[float, float]], less: int = 0) -> float | None:
    n = len(pairs)
    if n <= less:
        return None
    one, other = (sum(map(Fraction, each)) / n for each in zip(*pairs, strict=True))
    together = sum((Fraction(x) - one) * (Fraction(y) - other) for x, y in pairs)
    return float(together / (n - less))


def near(found: float | None, wanted: float | None) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return abs(found - wanted) <= 2e-15 * abs(wanted)


def test_they_are_those_of_the_rows_that_there_are():
    rng, rows = random.Random(2), dict[int, Pair]()
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, k INTEGER, x DOUBLE, y DOUBLE)")
    db.sql(VIEW)
    for step in range(40):
        for key in range(4 * step, 4 * step + 4):
            x = rng.choice([None, rng.choice([1, 1e-300, 1e150, 0]) * rng.random(), 1e9 + rng.random()])
            y = rng.choice([None, 10 * rng.random(), 1e-7 * rng.random(), rng.random() - 5e8, 0.0])
            rows[key] = rng.randrange(3), x, y
            db.sql("INSERT INTO t VALUES (?, ?, ?, ?)", [key, *rows[key]])
        if step % 4 == 3:
            for key in [each for each in rows if step % 20 == 19 or rng.random() < 0.5]:
                del rows[key]
                db.sql("DELETE FROM t WHERE id = ?", [key])
        for k, a, b, c, d, e in db.view("v").fetchall():
            pairs = {i: (x, y) for i, (g, x, y) in rows.items() if g == k and x is not None and y is not None}
            assert near(a, covariance(list(pairs.values())))
            assert near(b, covariance(list(pairs.values()), 1))
            assert near(e, covariance([pair for i, pair in pairs.items() if i % 2 == 0]))
            assert c == d
