"""What is shown of rows: data as data, as DuckDB prints it, within a width, and how much is left out."""

from __future__ import annotations

import io
import sys
from decimal import Decimal
from html.parser import HTMLParser

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from rich.cells import cell_len

import ivm
from ivm.engine.view import Contents
from ivm.results.boxes import box
from ivm.results.cells import MOST_CHARACTERS, head_of, type_names, visible
from ivm.results.result import Result


def shown(table: pa.Table, width: int | None = None) -> list[str]:
    return box(head_of(table, table.num_rows), width).splitlines()


def cells(table: pa.Table) -> list[list[str]]:
    """What stands between the lines of the table, below its head."""
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown(table)[4:-2]]


def answered(text: str) -> duckdb.DuckDBPyRelation:
    relation = duckdb.sql(text)
    assert relation is not None
    return relation


OF_ALL_TYPES = """
SELECT * FROM (VALUES
  (1::HUGEINT, 2.50::DECIMAL(9,2), -1e20::DOUBLE, 0.1::FLOAT, DATE '0001-02-03', TIMESTAMP '2024-01-31 12:30:00.5',
   [1.5::DECIMAL(4,2), NULL], {'a': 1, 'b': 'x, y'}, INTERVAL 3 DAYS, '\\x00a'::BLOB, TIME '12:00:01', true, 7::UTINYINT),
  (-170141183460469231731687303715884105::HUGEINT, 0::DECIMAL(9,2), 'nan'::DOUBLE, 'inf'::FLOAT, DATE '9999-12-31',
   TIMESTAMP '1970-01-01', [], {'a': NULL, 'b': 'NULL'}, INTERVAL '1 month -2 days', ''::BLOB, TIME '00:00:00', false, 0)
) AS t (a, b, c, d, e, f, g, h, i, j, k, l, m)"""


def test_values_and_types_look_as_in_duckdb():
    relation = answered(OF_ALL_TYPES)
    table = relation.to_arrow_table()
    expected = answered(
        f"SELECT {', '.join(f'{n}::VARCHAR' for n in relation.columns)} FROM ({OF_ALL_TYPES}) t"
    ).fetchall()
    assert cells(table) == [[str(value) for value in row] for row in expected]
    assert type_names(table.schema) == [str(each).replace("HUGEINT", "DECIMAL(38,0)") for each in relation.types]
    assert ivm.connect().sql("SELECT 1::HUGEINT AS a").description[0][1] == "HUGEINT"


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("NULL", "NULL"),
        ("timestamptz '2024-01-01 00:00:00+00'", "TIMESTAMP WITH TIME ZONE"),
        ("timestamp_ns '2024-01-01'", "TIMESTAMP_NS"),
        ("MAP {'k': [1]}", "MAP(VARCHAR, INTEGER[])"),
        ("[1, 2]::SMALLINT[2]", "SMALLINT[2]"),
        ("'1'::UBIGINT[]", "UBIGINT[]"),
    ],
)
def test_types_are_called_as_in_duckdb(sql, name):
    assert type_names(answered(f"SELECT {sql} AS x LIMIT 0").to_arrow_table().schema) == [name]


def test_duckdb_is_asked_once_for_the_name_of_a_type(monkeypatch):
    schema = answered(OF_ALL_TYPES).to_arrow_table().schema
    known = type_names(schema)
    monkeypatch.setattr("ivm.duck.connection", None)
    assert type_names(schema) == known


def test_null_is_told_from_text():
    table = pa.table({"s": [None, "NULL", "'NULL'", "null", "", "''"]})
    assert [row[0] for row in cells(table)] == ["NULL", "'NULL'", "'''NULL'''", "null", "", "''"]


def test_nothing_in_data_is_markup_or_moves_the_cursor():
    given = ["[red]x", "[/x]", "\x1b[31mred", "a\nb\r\tc", "\x00\x7f\x9b", "a\u202eb\u200b", "{x} %s \\n", "👩\u200d🔬"]
    told = [
        "[red]x",
        "[/x]",
        "\\x1b[31mred",
        "a\\nb\\r\\tc",
        "\\x00\\x7f\\x9b",
        "a\\u202eb\\u200b",
        "{x} %s \\n",
        "👩\u200d🔬",
    ]
    assert [row[0] for row in cells(pa.table({"s": given}))] == told
    assert [visible(text) for text in given] == told
    assert "│ a\\nb " in shown(pa.table({"a\nb": [1]}))[1]


@pytest.mark.parametrize("width", [10, 20, 33, 50, 80, 81, 200])
def test_a_table_fits_its_width(width):
    wide = pa.table({f"column_{i}": ["x" * (i * 5), "日本語のテキスト", None] for i in range(12)})
    lines = shown(wide, width)
    assert all(cell_len(line) <= width for line in lines[:-1])
    assert len({cell_len(line) for line in lines[:-1]}) == 1
    assert "…" in lines[1] + lines[4]
    if "columns" in lines[-1]:
        assert lines[1].endswith(" … │")


def test_what_fits_is_not_cut():
    lines = shown(pa.table({"a": ["x" * 30], "b": ["y" * 30]}), 67)
    assert cell_len(lines[0]) == 67
    assert "…" not in "".join(lines)
    assert "…" in "".join(shown(pa.table({"a": ["x" * 30], "b": ["y" * 30]}), 66))


def test_long_values_are_cut_whatever_the_width():
    (line,) = shown(pa.table({"s": ["é" * 1_000_000]}))[4:-2]
    assert line == f"│ {'é' * MOST_CHARACTERS}… │"


def test_columns_of_one_name_and_of_no_rows():
    twice = pa.Table.from_arrays([pa.array([1]), pa.array(["x"])], names=["a", "a"])
    assert cells(twice) == [["1", "x"]]
    assert shown(pa.table({"a": pa.array([], pa.int32())}))[-1] == "0 rows"
    assert shown(twice)[-1] == "1 row"


def test_show_says_what_it_leaves_out(capsys):
    result = Result(pa.table({"k": range(1234)}))
    result.show()
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "40 of 1,234 rows shown"
    assert len(lines) == 40 + 6
    result.show(0)
    assert capsys.readouterr().out.splitlines()[-1] == "0 of 1,234 rows shown"
    Result(pa.table({f"c{i}": ["x" * 10] for i in range(9)})).show(width=40)
    assert capsys.readouterr().out.splitlines()[-1] == "1 row, 3 of 9 columns"
    with pytest.raises(ivm.TypeMismatchError, match="rows is -1"):
        result.show(-1)


def test_show_writes_what_the_encoding_has(monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    Result(pa.table({"s": ["é"]})).show()
    out.flush()
    assert b"\\xe9" in out.buffer.getvalue()


def test_the_representation_of_views_and_results():
    db = ivm.connect(compile="off")
    assert repr(db.sql("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR)")) == "a result without columns"
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT k, s FROM t ORDER BY k DESC")
    db.apply({"t": {"k": list(range(1234)), "s": ["<b>&[/x]"] * 1234}})
    view = repr(db.view("v")).splitlines()
    assert view[0] == "view v"
    assert view[-1] == "10 of 1,234 rows shown"
    assert "1233 │ <b>&[/x] │" in view[5]
    assert repr(db.sql("SELECT * FROM v ORDER BY k DESC")).splitlines() == view[1:]


def test_explain_is_shown_as_it_is(capsys):
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR)")
    plan = db.sql("EXPLAIN SELECT k FROM t WHERE s = '[red][/x]'")
    ((text,),) = plan.fetchall()
    assert repr(plan) == text
    plan.show()
    assert capsys.readouterr().out == text + "\n"
    assert "'[red][/x]'" in text
    assert "project [k]" in text


class Reader(HTMLParser):
    """The tags and texts of a fragment; fails on a tag that is not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_notebooks_are_given_data_and_not_html():
    bad = "<script>alert('x')</script>&amp;"
    result = Result(pa.table({bad: [bad, None], "n": [1, 2]}))
    read = Reader(result._repr_html_())
    assert read.tags == {"table", "thead", "tbody", "tr", "th", "td", "em", "small"}
    assert read.texts == [bad, "n", bad, "1", "NULL", "2", "2 rows"]


def test_notebooks_are_given_little_of_much():
    column = pa.array(["x" * 10_000] * 1000)
    wide = pa.table({f"c{i}": column for i in range(1000)})
    html = Result(wide)._repr_html_()
    assert len(html) < 200_000
    assert "10 of 1,000 rows shown, 50 of 1,000 columns" in html
    Reader(html)


def test_the_first_rows_are_those_that_reading_all_gives_first():
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (k INTEGER, x DOUBLE, s VARCHAR, p DECIMAL(30,2), b BOOLEAN)")
    values = np.random.default_rng(1).integers(0, 6, (400, 5)).tolist()
    texts, floats = [None, "a", "b", "", "B", "c"], [None, float("nan"), 0.0, -0.0, float("inf"), -1.5]
    rows = [
        {"k": k or None, "x": floats[x], "s": texts[s], "p": Decimal(p) if p else None, "b": [None, True, False][b % 3]}
        for k, x, s, p, b in values
    ]
    db.apply({"t": rows})
    orders = ["", "x", "x DESC", "s NULLS FIRST, x DESC NULLS FIRST", "p DESC, k", "b, x DESC NULLS LAST, k DESC"]
    for number, order in enumerate(orders):
        by = f"ORDER BY {order}" if order else ""
        db.sql(f"CREATE MATERIALIZED VIEW v{number} AS SELECT k, x, s, p, b FROM t {by}")
        view = db.view(f"v{number}")
        every = repr(view.fetchall())
        for size in (0, 1, 2, 7, 50, 399, 400, 1000):
            few = repr(view.fetchmany(size))
            assert every.startswith(few[:-1]), (order, size)


def test_looking_at_a_large_view_does_not_read_it_all(monkeypatch):
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT k, s FROM t ORDER BY k DESC")
    db.apply({"t": pa.table({"k": np.arange(30_000, dtype=np.int32), "s": [f"{i}" for i in range(30_000)]})})
    view, whole, made = db.view("v"), Contents.arrow, []

    def recording(contents):
        made.append(len(contents))
        return whole(contents)

    monkeypatch.setattr(Contents, "arrow", recording)
    assert "10 of 30,000 rows" in repr(view)
    assert "10 of 30,000 rows" in view._repr_html_()
    assert view.fetchone() == (29_999, "29999")
    assert (len(view), view.columns) == (30_000, ["k", "s"])
    assert made == [10, 10, 1]
