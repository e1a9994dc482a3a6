"""Nothing that is written is dropped: each argument of each kind of node is read by the binder, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp

from ivm.catalog.errors import Error, UnsupportedError
from ivm.sql.arguments import IMPLIED, INSTEAD, read_of, refuse_unread
from ivm.sql.arguments import MORE as LISTED
from ivm.sql.bind import bind
from ivm.sql.bind.aggregates import types as aggregates
from ivm.sql.bind.expressions.handlers import HANDLERS
from ivm.sql.bind.names import columns
from ivm.sql.bind.windows import block as windows
from ivm.sql.parse import parse
from ivm.sql.sql_text import SqlText
from ivm.sql.syntax import query, statements
from tests.sql.test_answers import QUERIES
from tests.sql.world import catalog

_SCALARS = (Path(__file__).parent / "scalars.txt").read_text(encoding="utf-8").splitlines()
_REFUSING: set[type[exp.Expr]] = {
    exp.Rand,
    exp.Uuid,
    exp.CurrentDate,
    exp.CurrentTime,
    exp.CurrentTimestamp,
    exp.Localtime,
}
_REFUSING |= {exp.Localtimestamp, exp.CurrentUser, exp.CurrentVersion, exp.Placeholder, exp.Parameter}
KINDS = sorted({*HANDLERS, *LISTED} - _REFUSING, key=lambda kind: kind.__name__)
READ = {kind: read_of(kind) or frozenset() for kind in KINDS}
MORE = (
    "SELECT * REPLACE (1 AS id) RENAME (pay AS p) FROM emp",
    "SELECT * ILIKE '%a%' FROM emp WHERE name COLLATE NOCASE = 'x'",
    "SELECT ts AT TIME ZONE 'UTC', CAST(i AS uint8) FROM t",
    "SELECT rank(ORDER BY pay) OVER (), percent_rank(ORDER BY pay) OVER (),"
    " cume_dist(ORDER BY pay) OVER (), row_number(ORDER BY pay) OVER () FROM emp",
    "SELECT array_agg(id), count_if(pay > 1), mode(id), median(id), quantile(id, 0.5), quantile_disc(id, 0.5) FROM emp",
    "SELECT first(id), last(id), any_value(id), bool_and(pay > 1), bool_or(pay > 1), min(id), string_agg(name, '-') FROM emp",
    "SELECT arg_min(id, pay), arg_max(id, pay), stddev(id), stddev_samp(id), stddev_pop(id), variance(id), var_pop(id) FROM emp",
    "SELECT first(id), arbitrary(id), mean(pay), arg_min_null(id, pay), arg_max_null(id, pay), product(pay), mad(pay),"
    " arg_min_nulls_last(id, pay), arg_max_nulls_last(id, pay), entropy(id), skewness(pay), kurtosis(pay), kurtosis_pop(pay),"
    " bit_and(id), bit_or(id), bit_xor(id), covar_pop(pay, id), covar_samp(pay, id), corr(pay, id), sem(pay), geomean(pay),"
    " geometric_mean(pay), weighted_avg(pay, id), wavg(pay, id), favg(pay), fsum(pay), kahan_sum(pay), sumkahan(pay),"
    " sum_no_overflow(id), regr_count(pay, id), regr_avgx(pay, id), regr_avgy(pay, id), regr_sxx(pay, id),"
    " regr_syy(pay, id), regr_sxy(pay, id), regr_slope(pay, id), regr_intercept(pay, id), regr_r2(pay, id) FROM emp",
    "SELECT quantile_cont(pay, 0.5), percentile_cont(0.5) WITHIN GROUP (ORDER BY pay) FROM emp",
    "SELECT percent_rank() OVER w, cume_dist() OVER w, first_value(id IGNORE NULLS) OVER w, ntile(2) OVER w,"
    " last_value(id RESPECT NULLS) OVER w, nth_value(id, 2) OVER w, lag(id, 2, 0) OVER w, lead(id, 1, 5) OVER w, rank() OVER w,"
    " dense_rank() OVER w FROM emp WINDOW w AS (PARTITION BY dept ORDER BY pay DESC NULLS FIRST)",
    "SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM emp QUALIFY s > 1",
    "SELECT grouping(dept), grouping_id(dept) FROM emp GROUP BY GROUPING SETS ((dept, name), ROLLUP (dept), CUBE (name))",
    "SELECT * FROM emp, LATERAL (SELECT 1 WHERE id > 1) AS x WHERE main.emp.id > ALL (SELECT 1)",
    "SELECT DISTINCT ON (dept) dept, id FROM emp ORDER BY id LIMIT 1 OFFSET 1",
    "(SELECT id FROM emp UNION ALL BY NAME SELECT id FROM emp) ORDER BY id LIMIT 1 OFFSET 1",
    "WITH c AS (SELECT 1 AS x) (SELECT x FROM c) ORDER BY x LIMIT 1 OFFSET 1",
    "SELECT * FROM ((SELECT 1 AS a) AS x JOIN (SELECT 1 AS a) AS y USING (a)) NATURAL JOIN (SELECT 1 AS a) AS z",
    "SELECT * FROM ((emp AS e JOIN dept AS d ON e.dept = d.id) LEFT JOIN bonus ON e.id = bonus.id)",
    "VALUES (1), (2) ORDER BY col0 LIMIT 1 OFFSET 1",
    "WITH RECURSIVE c AS (SELECT 1 AS x) SELECT x FROM c FETCH FIRST 1 ROWS ONLY",
    "SELECT * EXCLUDE (id) FROM emp",
    "SELECT id FROM emp GROUP BY ALL HAVING id > 1",
    "SELECT dayofweek(born), isodow(born), dayofyear(born), weekofyear(born), date_add(born, INTERVAL 1 DAY) FROM emp",
    "SELECT day(born), factorial(3), id >= 1, name NOT ILIKE 'a', date_trunc('month', DATE '2020-01-01') FROM main.emp",
    "SELECT make_timestamp(2020, 1, 1, 1, 1, 1.5), regexp_full_match('A', 'a', 'i'), count(DISTINCT id) FROM emp",
    "SELECT id FROM emp WHERE id = ANY (SELECT 1) AND EXISTS (SELECT 1) AND id IN (SELECT id FROM emp)",
    "SELECT string_agg(DISTINCT name ORDER BY name) FROM emp",
    *(
        f"WITH c AS (SELECT 1 AS x) SELECT x FROM c {word} SELECT x FROM c {end}"
        for end in ("", "ORDER BY x LIMIT 1 OFFSET 1")
        for word in ("UNION", "UNION BY NAME", "EXCEPT", "INTERSECT")
    ),
    "SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM emp",
    "SELECT (name->'a')->>'b', name->>'$.a' FROM emp",
    "SELECT * FROM range(1, 9, 2), generate_series(3)",
    "SELECT id, unnest([id, 2], max_depth := 1) FROM emp, unnest([id]) WITH ORDINALITY AS u (x, n), range(3) WITH ORDINALITY",
    "SELECT d.id FROM emp, LATERAL range(emp.id) WITH ORDINALITY AS d (id, n), LATERAL unnest([emp.id, d.id]) AS u",
    "SELECT unnest(regexp_extract_all(name, 'a', 1)), unnest(split(name, 'a')), unnest(str_split_regex(name, 'b')) FROM emp",
    "SELECT born + INTERVAL 3 MONTH, born + INTERVAL '3 months' FROM emp",
    "SELECT [id, 2][1], [id][1:2:1], {'a': id}.a, struct_pack(a := id), row(id, name), map {'k': id}['k'], map([name], [id]) FROM emp",
    "SELECT list_transform([id], lambda x: x + pay), list_filter([id], lambda x: x > 1), list_reduce([id], lambda a, b: a + b),"
    " [x + 1 for x in [id] if x > 1] FROM emp",
    "SELECT [id] && [2], [id] @> [2], [pay] <-> [id], [pay] <=> [id], +id, [id] <@ [2], id IN [1, 2], {'a': id}::STRUCT(a BIGINT) FROM emp",
    "SELECT id FROM emp LIMIT 10%",
    "SELECT histogram(id, [1, 2]), histogram_exact(id, [1, 2]) FROM emp",
    "SELECT json_group_array(id), json_group_object(name, id), json_group_structure(to_json(id)), JSON '{}', date('2024-02-29') FROM emp",
    "SELECT q.s.y.z FROM (SELECT {'y': {'z': id}} AS s FROM emp) AS q",
    "SELECT NULL::INTEGER[3], array_value(id, 2), array_distance([pay, 1]::DOUBLE[2], [1, 2]::FLOAT[2]) FROM emp",
    "SELECT max(id, 2), min(id, 2), arg_max(id, pay, 2), arg_min(id, pay, 2) FROM emp",
    "SELECT approx_count_distinct(id), approx_quantile(id, 0.5) FROM emp ORDER BY #1",
    "SELECT name ~* 'a', x'41', [x + i for x, i in [id]] FROM emp",
    "SELECT string_split_regex(name, 'b') FROM emp WHERE name IN string_split(name, 'b')",
)
REFUSED = (
    "SELECT id FROM emp ORDER BY id FETCH FIRST 1 ROWS WITH TIES",
    "SELECT id FROM emp EXCEPT BY NAME SELECT id FROM dept",
    "SELECT id FROM emp INTERSECT BY NAME SELECT id FROM dept",
)
STATEMENTS = (
    "CREATE TABLE x (a VARCHAR COLLATE NOCASE)",
    "CREATE TABLE IF NOT EXISTS x (a INTEGER NOT NULL PRIMARY KEY, b DECIMAL(3, 1) REFERENCES dept (id)) WITH (static = true)",
    "CREATE TABLE x (a INTEGER NULL, b INTEGER, CONSTRAINT k PRIMARY KEY (a, b), FOREIGN KEY (a) REFERENCES dept)",
    "CREATE TABLE x (a INTEGER, b INTEGER) PARTITIONED BY (a, b)",
    "CREATE TEMP TABLE x (a INTEGER REFERENCES dept (id) ON DELETE NO ACTION) ON COMMIT PRESERVE ROWS",
    "CREATE TABLE x (a INTEGER) REPLICATED",
    "CREATE MATERIALIZED VIEW x WITH (change_feed = true) AS SELECT 1 AS y",
    "CREATE MATERIALIZED VIEW IF NOT EXISTS x (a) AS SELECT 1 AS b",
    "CREATE TABLE x (a INTEGER DEFAULT 1 CONSTRAINT p CHECK (a > 0) UNIQUE, CONSTRAINT q UNIQUE (a), CHECK (a < 9))",
    "CREATE OR REPLACE TABLE x (a) AS SELECT 1 WITH NO DATA",
    "CREATE TABLE x (a uint8)",
    "CREATE TABLE x (a INTEGER, b INTEGER AS (a + 1), c INTEGER GENERATED ALWAYS AS (a + 1))",
    "CREATE UNIQUE INDEX i ON dept (id)",
    "CREATE INDEX i ON dept (id) WHERE id > 1",
    "DROP TABLE IF EXISTS x CASCADE",
    "INSERT OR REPLACE INTO dept BY NAME SELECT 1 AS id RETURNING id",
    "INSERT INTO dept DEFAULT VALUES",
    "INSERT INTO dept VALUES (1) ON CONFLICT (id) DO UPDATE SET name = 'x' WHERE dept.id > 1",
    "WITH c AS (SELECT 1 AS k) UPDATE dept SET name = 'x' FROM c WHERE id = k RETURNING id",
    "WITH c AS (SELECT 1 AS k) DELETE FROM dept USING c WHERE id = k RETURNING id",
    "WITH c AS (SELECT 1 AS k) MERGE INTO dept AS d USING c AS e ON d.id = k WHEN MATCHED AND abs(k) = 1 THEN DELETE"
    " WHEN NOT MATCHED BY TARGET THEN INSERT (id) VALUES (abs(k)) RETURNING id",
    "MERGE INTO dept USING (SELECT 1 AS id) USING (id) WHEN NOT MATCHED BY SOURCE THEN DO NOTHING WHEN NOT MATCHED THEN INSERT *",
    "TRUNCATE dept",
    "COPY dept FROM 'x.csv' (HEADER true)",
    "SHOW TABLES",
    "DESCRIBE dept",
    "SUMMARIZE SELECT 1",
    "WITH c AS (SELECT 1) INSERT INTO dept (id) SELECT * FROM c",
    "INSERT INTO dept (id) WITH c AS (SELECT 1) SELECT * FROM c",
    "UPDATE dept SET name = 'x' WHERE id = 1",
    "DELETE FROM dept WHERE id = 1",
)
REFUSED_STATEMENTS = (
    "CREATE TABLE x (a INTEGER, b INTEGER AS (a + 1) STORED)",
    "CREATE TEMP TABLE x (a INTEGER) ON COMMIT DELETE ROWS",
)


class Watched(dict[str, Any]):
    """The arguments of a node, which notes what is asked for by name."""

    def __init__(self, node: exp.Expr, asked: set[tuple[type[exp.Expr], str]]) -> None:
        super().__init__(node.args)
        self.kind, self.asked = type(node), asked

    def _note(self, name: str) -> None:
        if super().get(name):
            self.asked.add((self.kind, name))

    def get(self, name: str, default: Any = None) -> Any:
        self._note(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> Any:
        self._note(name)
        return super().__getitem__(name)


def watched(trees: Iterable[exp.Expr]) -> set[tuple[type[exp.Expr], str]]:
    asked: set[tuple[type[exp.Expr], str]] = set()
    for tree in trees:
        for node in list(tree.walk()):
            node.args = Watched(node, asked)
    return asked


def test_it_is_known_what_is_read_of_all_that_is_handled():
    assert [kind for kind in KINDS if read_of(kind) is None] == []
    assert read_of(exp.Inline) is not None  # a function, which the binder refuses
    assert read_of(exp.Tag) is None


@pytest.mark.parametrize("kind", KINDS, ids=[kind.__name__ for kind in KINDS])
def test_an_argument_is_read_or_refused(kind: type[exp.Expr]):
    for arg in kind.arg_types:
        node = kind()
        node.args[arg] = exp.Literal.string("written")
        if arg not in READ[kind]:
            with pytest.raises(UnsupportedError) as caught:
                refuse_unread([node], SqlText("written"))
            assert str(caught.value).startswith(INSTEAD.get((kind, arg), str(caught.value)))
        else:
            refuse_unread([node], SqlText("written"))


def test_no_kind_claims_what_it_has_not():
    for kind, args in (*READ.items(), *IMPLIED.items()):
        assert args <= set(kind.arg_types), kind
    for kind, args in IMPLIED.items():
        assert not args & READ[kind], kind
    for kind, arg in INSTEAD:
        assert arg in set(kind.arg_types) - READ[kind], kind


def test_what_is_called_read_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    """The binder itself asks for each argument of the table, not only what names columns and writes messages."""
    for module in (aggregates, columns, windows):
        monkeypatch.setattr(module, "column_name", lambda node, source: "plain")
    monkeypatch.setattr(exp.Expr, "sql", lambda self, *_, **__: f"text{id(self)}")
    texts = (*QUERIES, *MORE, *(f"SELECT {line} FROM t" for line in _SCALARS if line and not line.startswith("#")))
    asked: set[tuple[type[exp.Expr], str]] = set()
    for text in texts:
        syntax = query(SqlText(text), "duckdb")
        asked_here = watched([syntax.tree])
        bind(text, catalog(), syntax=syntax)
        asked |= asked_here
    for text in REFUSED:
        syntax = query(SqlText(text), "duckdb")
        asked_here = watched([syntax.tree])
        with pytest.raises(UnsupportedError):
            bind(text, catalog(), syntax=syntax)
        asked |= asked_here
    for text in STATEMENTS:
        asked |= _asked_by_statement(text, monkeypatch, parse)
    for text in REFUSED_STATEMENTS:
        asked |= _asked_by_statement(text, monkeypatch, _refused)
    assert sorted(f"{k.__name__}.{a}" for k, args in READ.items() for a in args if (k, a) not in asked) == []


def _asked_by_statement(
    text: str, monkeypatch: pytest.MonkeyPatch, read: Callable[[str], object]
) -> set[tuple[type[exp.Expr], str]]:
    found = statements(SqlText(text), "duckdb")
    asked = watched([syntax.tree for syntax in found])
    with monkeypatch.context() as patched:
        patched.setattr("ivm.sql.parse.statements", lambda source, dialect: found)
        read(text)
    return asked


def _refused(text: str) -> None:
    with pytest.raises(UnsupportedError):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "max()",
        "date()",
        "mode()",
        "quantile_cont(i)",
        "grouping(" + "i, " * 69 + "i)",
        "1::DECIMAL(1, 2, 3)",
        "count(i, v)",
    ],
)
def test_what_is_not_whole_raises_an_error_of_ours(text: str):
    with pytest.raises(Error):
        bind(f"SELECT {text} FROM t", catalog())
