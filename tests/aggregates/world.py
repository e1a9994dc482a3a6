"""One table of every type and the views over it that the tests of aggregates compare with DuckDB."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

TABLE = """CREATE TABLE t (id INTEGER PRIMARY KEY, g INTEGER, h VARCHAR, n BIGINT NOT NULL, i INTEGER, w DECIMAL(30,4),
    d DECIMAL(9,2), f DOUBLE, dt DATE, ts TIMESTAMP, v VARCHAR, b BOOLEAN)"""

Row = dict[str, Any]

_DAYS = st.dates(datetime.date(1960, 1, 1), datetime.date(1960, 1, 6))
_TIMES = st.sampled_from(
    [datetime.datetime(1960, 1, 1, 0, 0, 0, 1), datetime.datetime(2020, 2, 29, 23, 59, 59, 999999)]
)

ROWS: st.SearchStrategy[Row] = st.fixed_dictionaries(
    {
        "id": st.integers(1, 12),
        "g": st.none() | st.integers(1, 3),
        "h": st.none() | st.sampled_from(["x", "y"]),
        "n": st.integers(-3, 3),
        "i": st.none() | st.integers(-3, 3),
        "w": st.none() | st.sampled_from([Decimal("0.0001"), Decimal("-2.5"), Decimal("123456789012345678.9")]),
        "d": st.none() | st.integers(-300, 300).map(lambda v: Decimal(v) / 100),
        "f": st.none() | st.sampled_from([0.1, -0.5, 3.25, 1e10]),
        "dt": st.none() | _DAYS,
        "ts": st.none() | _TIMES,
        "v": st.none() | st.sampled_from(["", "a", "b", "ab", "é", "longer than eight"]),
        "b": st.none() | st.booleans(),
    }
)

VIEWS = {
    "distinct_alone": "SELECT g, count(DISTINCT i) AS n FROM t GROUP BY g",
    "distinct_beside": """SELECT g, count(*) AS n, sum(n) AS s, avg(f) AS a, count(DISTINCT i) AS di, sum(DISTINCT d) AS sd,
        avg(DISTINCT f) AS af, min(v) AS low, count(DISTINCT (i, b)) AS pairs FROM t GROUP BY g""",
    "distinct_global": """SELECT count(DISTINCT v) AS n, sum(DISTINCT i) AS s, count(DISTINCT g) FILTER (WHERE b) AS k,
        stddev(DISTINCT d) AS sd FROM t""",
    "distinct_having": "SELECT h, count(DISTINCT g) AS n FROM t GROUP BY h HAVING count(DISTINCT g) > 1 AND max(i) > 0",
    "filters": """SELECT g, count(*) FILTER (WHERE b) AS n, sum(i) FILTER (WHERE d > 0) AS s, list(i) FILTER (WHERE b) AS l,
        arg_min(v, d) FILTER (WHERE i > 0) AS m, string_agg(v, '+') FILTER (WHERE n > 0) AS c,
        median(d) FILTER (WHERE b) AS q, count(DISTINCT v) FILTER (WHERE i IS NOT NULL) AS dv FROM t GROUP BY g""",
    "arguments": """SELECT g, arg_min(v, i) AS a, arg_max(v, d) AS b, min_by(f, dt) AS c, max_by(w, v) AS d,
        arg_max(dt, b) AS e, any_value(v) AS f, first(i) AS g1, last(d) AS h, any_value(w ORDER BY i DESC) AS i
        FROM t GROUP BY g""",
    "ordered_rows": """SELECT g, first(v ORDER BY i) AS a, last(v ORDER BY i DESC, d) AS b, first(i ORDER BY dt DESC NULLS LAST) AS c,
        arg_min_null(v, i) AS d, arg_max_null(d, n) AS e, arg_min_nulls_last(v, d) AS f, arg_max_nulls_last(i, v) AS g1,
        first(d ORDER BY v) FILTER (WHERE b) AS h, arbitrary(i) AS j FROM t GROUP BY g""",
    "bits": """SELECT g, bit_and(i) AS a, bit_or(i) AS o, bit_xor(n) AS x, bit_or(i) FILTER (WHERE b) AS f,
        bit_xor(DISTINCT i) AS d FROM t GROUP BY g""",
    "statistics": """SELECT g, mad(d) AS a, mad(i) AS b, entropy(v) AS c, entropy(DISTINCT i) AS d, regr_count(d, i) AS e,
        covar_pop(d, n) AS f, covar_samp(i % 8, d) AS g1, regr_avgx(d, n) AS h, regr_syy(n, d) AS j, mean(d) AS k,
        weighted_avg(d, n) AS l, product(n % 4 + 0.5) AS m, sem(d) AS o FROM t GROUP BY g""",
    "statistics_of_all": """SELECT entropy(h) AS a, corr(d, n) AS b, product(n % 3 + 1) AS c, count(DISTINCT h) AS d,
        regr_slope(d, n) FILTER (WHERE b) AS e, first(v ORDER BY i) AS f FROM t""",
    "truths": "SELECT h, bool_and(b) AS a, bool_or(b) AS o, bool_and(i > 0) AS c, count_if(n > 0) AS k FROM t GROUP BY h",
    "texts": """SELECT g, string_agg(v) AS a, string_agg(v, ' - ' ORDER BY i DESC, id) AS b, string_agg(DISTINCT v, '') AS c,
        string_agg(h, ',' ORDER BY h DESC NULLS LAST) AS d, group_concat(n) AS e,
        string_agg(DISTINCT i, ' ' ORDER BY i DESC) AS f FROM t GROUP BY g""",
    "lists": """SELECT g, list(i) AS a, array_agg(v ORDER BY id DESC) AS b, list(DISTINCT d) AS c, list(w ORDER BY n, id) AS w,
        list(dt) AS dt, list(ts ORDER BY i NULLS FIRST) AS ts, list(b) AS bo, list(f ORDER BY f DESC) AS f
        FROM t GROUP BY g""",
    "list_global": "SELECT list(v ORDER BY v) AS l, string_agg(v, '/') AS s FROM t",
    "quantiles": """SELECT g, median(i) AS a, median(d) AS b, median(w) AS c, median(f) AS d, median(dt) AS e,
        median(ts) AS f, median(v) AS g1, median(b) AS h, quantile_cont(n + 10, 0.3) AS i, quantile_disc(d, 0.9) AS j,
        percentile_cont(0.25) WITHIN GROUP (ORDER BY dt DESC) AS k, quantile_cont(ts, -0.1) AS l,
        percentile_disc(0.75) WITHIN GROUP (ORDER BY v) AS m, quantile(w, 0.5) AS n, quantile_cont(d, 1) AS o,
        median(DISTINCT n) AS p FROM t GROUP BY g""",
    "modes": "SELECT h, mode(i) AS a, mode(v) AS b, count(*) AS n, mode(d) AS c FROM t GROUP BY h",
    "mode_global": "SELECT mode(f) AS a, mode() WITHIN GROUP (ORDER BY dt) AS b FROM t",
    "rolled": """SELECT g, h, count(*) AS n, sum(d) AS s, min(v) AS low, grouping(g) AS gg, grouping(g, h) AS gh
        FROM t GROUP BY ROLLUP (g, h)""",
    "rolled_plainly": """SELECT g, v, b, count(*) AS n, count(i) AS c, sum(n) AS s, sum(d) AS d, max(dt) AS m, grouping(b) AS k
        FROM t WHERE n < 3 GROUP BY ROLLUP (g, b, v) HAVING count(*) > 0 OR grouping(g) = 1""",
    "cubed": "SELECT g, h, b, count(DISTINCT i) AS n, max(d) AS m, avg(n) AS a FROM t GROUP BY CUBE (g, (h, b))",
    "sets": """SELECT g + 1 AS k, h, sum(n) AS s, list(n) AS l, grouping_id(g + 1, h) AS gi FROM t
        GROUP BY GROUPING SETS ((k, h), (h), (), ()) HAVING grouping(h) = 0 OR count(*) > 2""",
    "sets_beside": "SELECT b, g, count(*) AS n FROM t GROUP BY b, ROLLUP (g)",
    "by_positions": "SELECT g % 2 AS odd, upper(v) AS u, median(n) AS m FROM t GROUP BY 1, u",
    "correlated": """SELECT o.id, (SELECT string_agg(v, ',' ORDER BY id) FROM t x WHERE x.g = o.g AND x.n > o.n) AS s,
        (SELECT count(DISTINCT i) FROM t x WHERE x.h = o.h) AS n, (SELECT median(d) FROM t x WHERE x.g = o.g) AS m,
        (SELECT arg_max(v, d) FROM t x WHERE x.h IS NOT DISTINCT FROM o.h) AS a FROM t o
        WHERE o.n >= (SELECT quantile_disc(n, 0.25) FROM t x WHERE x.g = o.g)""",
    "grouped_inside": """SELECT o.g, o.id FROM t o WHERE EXISTS (SELECT h, mode(i) FROM t x WHERE x.g = o.g
        GROUP BY GROUPING SETS ((h), ()) HAVING mode(i) > o.n)""",
    "list_scalars": """SELECT s.g, CASE WHEN s.g > 1 THEN s.l END AS c, coalesce(s.l, s.m) AS o, nullif(s.l, s.m) AS n,
        s.l = s.m AS e, s.l IS NULL AS i, r.k FROM (SELECT g, list(b) FILTER (WHERE n > 0) AS l, list(b) AS m FROM t
        GROUP BY g) s LEFT JOIN (SELECT list(b) AS l, max(g) AS k FROM t GROUP BY g) r ON s.l = r.l""",
    "over_aggregates": """SELECT s.l, count(*) AS n, count(DISTINCT s.m) AS d FROM
        (SELECT g, list(b ORDER BY id) AS l, mode(h) AS m FROM t GROUP BY g) s GROUP BY s.l""",
}
