"""The shell over a real database: lines in, tables and messages out."""

from __future__ import annotations

import csv
import io
import json
import re
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from rich.console import Console

import ivm
from ivm.shell.commands import RUN
from ivm.shell.names import COMMANDS, MODES
from ivm.shell.printing import WRITERS
from ivm.shell.session import Shell
from ivm.shell.terminal import run_typed
from tests.house.modules import ROOT

SETUP = """
CREATE TABLE t (k BIGINT PRIMARY KEY, price DECIMAL(9,2) NOT NULL);
CREATE MATERIALIZED VIEW total AS SELECT sum(price) AS total FROM t;
"""


@pytest.fixture
def err():
    return io.StringIO()


@pytest.fixture
def shell(err):
    return Shell(ivm.connect(compile="off", external_access=True), Console(file=err, width=200), RUN)


def run(shell: Shell, text: str) -> int:
    return shell.run_all(lines=text.splitlines())


def test_statements_run_at_their_semicolon_over_many_lines(shell, capsys):
    assert run(shell, SETUP + "INSERT INTO t VALUES\n(1, 2.50),\n(2, 4.25);\nSELECT * FROM total;") == 0
    assert capsys.readouterr().out.splitlines() == [
        "┌───────────────┐",
        "│ total         │",
        "│ DECIMAL(38,2) │",
        "├───────────────┤",
        "│          6.75 │",
        "└───────────────┘",
        "1 row",
    ]


def test_the_last_statement_needs_no_semicolon(shell, capsys):
    assert run(shell, "SELECT 40 + 2 AS answer") == 0
    assert "42" in capsys.readouterr().out


def test_a_script_stops_at_its_first_error(shell, err, capsys):
    assert run(shell, "SELECT * FROM nothing; SELECT 1 AS one;") == 1
    assert "nothing" in err.getvalue()
    assert err.getvalue().startswith("error: ")
    assert "one" not in capsys.readouterr().out


def test_data_is_no_markup(shell, err, capsys):
    assert (
        run(shell, "SELECT '[red]x' AS a, '[/x]' AS b, e'\\x1b[2J' AS c, ':smile:' AS d, NULL AS e, 'NULL' AS f") == 0
    )
    row = [cell.strip() for cell in capsys.readouterr().out.splitlines()[4].split("│")[1:-1]]
    assert row == ["[red]x", "[/x]", "\\x1b[2J", ":smile:", "NULL", "'NULL'"]
    assert run(shell, 'SELECT ":smile:[/x]" FROM range(1)') == 1
    assert ":smile:[/x]" in err.getvalue()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT 1;\n\n  SELEKT 2;\n", "(line 3, column 10)"),
        ("SELECT 1; SELECT 2; SELEKT 3\n;", "(line 1, column 28)"),
        (".timer off\n-- a remark\nSELECT 1,\n  sum( FROM t;", "(line 4, column 13)"),
        ("SELECT 1;\n.mode csv\nSELEKT 2", "(line 3, column 8)"),
    ],
)
def test_errors_have_their_place_in_what_was_given(shell, err, tmp_path, text, place):
    assert run(shell, text) == 1
    shell.forget()
    assert place in err.getvalue()
    assert err.getvalue().splitlines()[-1].endswith("^")
    script = tmp_path / "script.sql"
    script.write_text(text)
    assert run(shell, f".read {script}") == 1
    assert f"{script}: syntax error" in err.getvalue()
    assert err.getvalue().count(place) == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("changes.csv", "k,price,_time,_diff\n1,2.50,1,1\n2,4.25,1,1\n1,2.50,2,-1\n"),
        ("changes.jsonl", '{"K":1,"price":"2.50","_time":1}\n{"K":2,"price":"4.25","_time":2}\n'),
    ],
)
def test_changes_are_read_from_files_with_the_types_of_the_table(shell, tmp_path, capsys, name, text):
    changes = tmp_path / name
    changes.write_text(text)
    assert run(shell, SETUP + f".apply t {changes}\nSELECT * FROM total;\n.verify") == 0
    shown = capsys.readouterr().out
    assert ("4.25" if "csv" in name else "6.75") in shown
    assert "equals DuckDB" in shown
    assert run(shell, ".apply t changes.xls") == 1


def test_a_file_of_statements_and_commands_is_run(shell, tmp_path, capsys):
    script = tmp_path / "script with spaces.sql"
    script.write_text(SETUP + ".mode csv\nSELECT total FROM total")
    assert run(shell, f".read '{script}'") == 0
    assert capsys.readouterr().out == "total\n\n"
    assert shell.mode == "csv"
    script.write_text(f".read '{script}'")
    assert run(shell, f".read '{script}'") == 1
    script.write_text("SELECT 1;\nexit\nnonsense")
    assert run(shell, f".read '{script}'") == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (".nonsense", "no such command"),
        (".apply t", ".apply TABLE FILE"),
        (".read", ".read FILE"),
        (".read missing.sql", "missing.sql"),
        (".read 'x", "No closing quotation"),
        (".read a\0b", "cannot read"),
        (".import ~nobody-of-this-name/x.csv t", "cannot read ~nobody-of-this-name/x.csv"),
        (".mode html", "the modes are table, csv, json, line"),
        (".timer", ".timer on|off"),
        (".timer yes", ".timer on"),
        (".schema nothing", "there is no table or view"),
        (".tables t", "1 arguments"),
        (".import x.csv", ".import FILE TABLE"),
        (".import x.csv t", "no such file"),
        (".import x.xls t", "must end in"),
        (".apply nothing x.csv", "there is no table"),
    ],
)
def test_a_wrong_command_is_one_message(shell, err, line, message):
    assert run(shell, line) == 1
    assert message in err.getvalue()
    assert "Traceback" not in err.getvalue()


def test_an_error_of_ours_is_one_message_too(shell, err, monkeypatch):
    monkeypatch.setattr(shell.db, "sql", None)
    assert run(shell, "SELECT 1") == 1
    assert err.getvalue().startswith("error: TypeError: ")
    assert "bug" in err.getvalue()


@pytest.mark.parametrize("leave", [".quit", ".exit", "exit", "quit", "QUIT;", " Exit ; "])
def test_leaving_leaves_the_rest_unread(shell, leave):
    assert run(shell, f"{leave}\nSELECT * FROM nothing;") == 0


def test_a_column_may_be_called_exit(shell, capsys):
    assert run(shell, "SELECT 1 AS\nexit\n;") == 0
    assert "exit" in capsys.readouterr().out


def test_a_statement_begun_can_be_forgotten(shell):
    shell.feed("SELECT 'a;")
    assert shell.is_waiting
    shell.forget()
    assert not shell.is_waiting


def test_a_statement_of_many_lines_is_looked_at_once(shell, capsys):
    rows = ",\n".join(f"({i}, {i})" for i in range(20_000))
    assert run(shell, f"{SETUP} INSERT INTO t VALUES\n{rows};\n.mode csv\nSELECT count(*) AS n FROM t") == 0
    assert capsys.readouterr().out == "n\n20000\n"


def test_help_names_every_command(shell, capsys):
    assert run(shell, ".help") == 0
    shown = capsys.readouterr().out
    assert all(f"\n{each.usage} " in shown for each in COMMANDS)
    assert {each.name for each in COMMANDS} == {*RUN, ".quit"}
    assert set(WRITERS) == set(MODES)


def test_tables_and_their_definitions(shell, capsys):
    made = """
CREATE TABLE dept (
  id INTEGER NOT NULL,
  "the name" VARCHAR,
  PRIMARY KEY (id)
) WITH (append_only = true);
CREATE TABLE emp (
  id BIGINT NOT NULL,
  dept INTEGER,
  pay DECIMAL(9,2) NOT NULL DEFAULT 10,
  PRIMARY KEY (id),
  UNIQUE (dept, pay),
  CONSTRAINT "not poor" CHECK ("pay" > 0),
  FOREIGN KEY (dept) REFERENCES dept (id)
) WITH (check_foreign_keys = true);
CREATE UNIQUE INDEX by_pay ON emp (pay);
CREATE VIEW rich AS
SELECT id, dept FROM emp WHERE pay > 10;
CREATE MATERIALIZED VIEW n WITH (change_feed = true) AS
SELECT dept, count(*) AS n FROM rich GROUP BY dept;
""".lstrip()
    assert run(shell, made) == 0
    assert run(shell, ".schema") == 0
    assert capsys.readouterr().out == made
    assert run(shell, ".schema N\n.mode csv\n.tables") == 0
    assert capsys.readouterr().out == (
        "CREATE MATERIALIZED VIEW n WITH (change_feed = true) AS\nSELECT dept, count(*) AS n FROM rich GROUP BY dept;\n"
        "name,kind\ndept,table\nemp,table\nrich,view\nn,materialized view\n"
    )


def test_whoever_types_is_told_counts_and_times(err, capsys):
    typed = Shell(ivm.connect(compile="off"), Console(file=err), RUN, is_typed=True)
    assert (
        run(
            typed,
            SETUP
            + "INSERT INTO t VALUES (1, 2.50), (2, 3);\nINSERT INTO t VALUES (3, 1) RETURNING k AS count;\nUPDATE t SET price = 1 WHERE k = 1;\nDELETE FROM t;",
        )
        == 0
    )
    shown = capsys.readouterr().out
    assert [line for line in shown.splitlines() if "row" in line] == [
        "2 rows inserted",
        "1 row",
        "1 row updated",
        "3 rows deleted",
    ]
    assert shown.count(" ms\n") == 6
    assert run(typed, ".timer off\nSELECT 1 AS one") == 0
    assert " ms" not in capsys.readouterr().out


VALUES = """
SELECT 1 AS k, 170141183460469231731687303715884105727::HUGEINT AS h, 0.10::DECIMAL(38,2) AS d, 1e-7::DOUBLE AS x,
       'a,"b"' AS s, DATE '2024-02-29' AS day, TIMESTAMP '2024-02-29 01:02:03.5' AS ts, true AS b, [1.50, NULL]::DECIMAL(4,2)[] AS l
UNION ALL SELECT 2, NULL, NULL, 'nan', '', NULL, NULL, NULL, NULL
UNION ALL SELECT 3, -1, 99999999999999999999999999999999.99, 1e300, e'x\\ny\\r\\tz', '0001-01-01', TIMESTAMP '9999-12-31', false, []
ORDER BY k
"""


def test_csv_is_exact(shell, capsys, tmp_path):
    assert run(shell, f".mode csv\n{VALUES};") == 0
    shown = capsys.readouterr().out
    assert shown == (
        "k,h,d,x,s,day,ts,b,l\n"
        '1,170141183460469231731687303715884105727,0.10,1e-07,"a,""b""",2024-02-29,2024-02-29 01:02:03.5,true,"[1.50, NULL]"\n'
        '2,,,nan,"",,,,\n'
        '3,-1,99999999999999999999999999999999.99,1e+300,"x\ny\r\tz",0001-01-01,9999-12-31 00:00:00,false,[]\n'
    )
    assert [row[4] for row in csv.reader(io.StringIO(shown, newline=""))] == ["s", 'a,"b"', "", "x\ny\r\tz"]
    file = tmp_path / "shown.csv"
    file.write_text(shown, newline="")
    read = duckdb.connect().execute(f"SELECT k, s FROM read_csv('{file}', allow_quoted_nulls = false)").fetchall()
    assert read == [(1, 'a,"b"'), (2, ""), (3, "x\ny\r\tz")]


def test_json_is_exact(shell, capsys):
    assert run(shell, f".mode json\n{VALUES};SELECT 1 AS a WHERE false;") == 0
    shown, nothing, rest = capsys.readouterr().out.partition("\n[]\n")
    assert (nothing, rest) == ("\n[]\n", "")
    one, two, three = json.loads(shown, parse_float=str, parse_int=str)
    assert one == {
        "k": "1",
        "h": "170141183460469231731687303715884105727",
        "d": "0.10",
        "x": "1e-07",
        "s": 'a,"b"',
        "day": "2024-02-29",
        "ts": "2024-02-29 01:02:03.5",
        "b": True,
        "l": ["1.50", None],
    }
    assert (two["x"], two["s"], two["b"], two["l"]) == ("nan", "", None, None)
    assert (three["d"], three["s"], three["b"], three["l"]) == (
        "99999999999999999999999999999999.99",
        "x\ny\r\tz",
        False,
        [],
    )


def test_lines(shell, capsys):
    assert run(shell, ".mode line\nSELECT 1 AS k, NULL AS name UNION ALL SELECT 2, e'a\\nb' ORDER BY k") == 0
    assert capsys.readouterr().out == "   k = 1\nname = NULL\n\n   k = 2\nname = a\\nb\n"


def test_all_modes_print_many_rows(shell, capsys):
    script = SETUP + "INSERT INTO t SELECT range, 1 FROM range(25000);"
    assert run(shell, f"{script}\n.mode json\nSELECT k FROM t ORDER BY k;") == 0
    assert [row["k"] for row in json.loads(capsys.readouterr().out)] == list(range(25_000))
    assert run(shell, ".mode csv\nSELECT k FROM t ORDER BY k;") == 0
    assert capsys.readouterr().out.splitlines() == ["k", *map(str, range(25_000))]
    assert run(shell, ".mode table\nSELECT k FROM t;") == 0
    assert capsys.readouterr().out.endswith("\n40 of 25,000 rows shown\n")


ROWS = pa.table({"price": ["2.50", "007.10", "3"], "k": pa.array([1, 2, 3], pa.int32())})


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".json", ".jsonl"])
def test_files_are_imported_into_a_table(shell, err, capsys, tmp_path, suffix):
    file = tmp_path / f"it's{suffix}"
    form = "PARQUET" if suffix == ".parquet" else "CSV, HEADER" if ".csv" in suffix else "JSON"
    form += ", COMPRESSION gzip" if suffix.endswith(".gz") else ""
    with duckdb.connect() as duck:
        duck.register("given", ROWS)
        duck.execute(f"COPY (FROM given) TO '{str(file).replace(chr(39), chr(39) * 2)}' (FORMAT {form})")
    assert run(shell, f'{SETUP}.import "{file}" T\nSELECT * FROM total;') == 0, err.getvalue()
    shown = capsys.readouterr().out
    assert shown.startswith("3 rows imported\n")
    assert "12.60" in shown
    assert run(shell, f'.import "{file}" t') == 1
    assert "cannot" in err.getvalue()
    assert len(shell.db.sql("FROM t")) == 3, "all rows or none"


def test_a_table_is_made_for_a_file(shell, capsys, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("id,the name,day\n1,x,2024-02-29\n2,,2024-03-01\n")
    assert run(shell, f".import {file} made") == 0
    assert capsys.readouterr().out == (
        'CREATE TABLE "made" ("id" BIGINT, "the name" VARCHAR, "day" DATE);\n2 rows imported\n'
    )
    assert len(shell.db.sql("FROM made")) == 2


def test_texts_of_files_are_not_taken_for_numbers(shell, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("zip,k,other\n00123,1,x\n")
    shell.db.sql("CREATE TABLE z (k INTEGER PRIMARY KEY, zip VARCHAR, other VARCHAR)")
    assert run(shell, f".import {file} z") == 0
    assert shell.db.sql("SELECT zip FROM z").fetchall() == [("00123",)]


@pytest.mark.parametrize("content", ["id\n1\nx\n" + "1\n" * 300_000 + "y\n", "id,id\n1,2", "\x00\xff", ""])
def test_nothing_is_left_of_an_import_that_fails(shell, err, tmp_path, content):
    file = tmp_path / "rows.csv"
    file.write_text(content)
    shell.db.sql("CREATE TABLE there (id INTEGER NOT NULL)")
    for table in ("there", "made"):
        run(shell, f".import {file} {table}")
        shell.forget()
    assert "Traceback" not in err.getvalue()
    assert shell.db.sql("FROM there").fetchall() == []


def test_what_is_given_runs_in_order_up_to_the_first_error(shell, err, capsys, tmp_path):
    file = tmp_path / "setup.sql"
    file.write_text(SETUP)
    assert (
        shell.run_all([file], ["INSERT INTO t VALUES (1, 2.50)", ".mode csv", "SELECT k FROM t; SELECT price FROM t"])
        == 0
    )
    assert capsys.readouterr().out == "k\n1\nprice\n2.50\n"
    assert shell.run_all([], ["SELEKT", "SELECT 1 AS one"]) == 1
    assert capsys.readouterr().out == ""


def test_the_session_in_the_documentation(capsys):
    page = (ROOT / "docs" / "shell.md").read_text()
    (session,) = re.findall(r"^```none\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    shell = Shell(ivm.connect(compile="off"), Console(file=sys.stdout), RUN, is_typed=True)
    shell.timer = False
    parts = re.split(r"^ivm> ((?:.*\n)(?:\.\.\.> .*\n)*)", session, flags=re.MULTILINE)
    assert parts.pop(0) == ""
    for typed, answer in zip(parts[::2], parts[1::2], strict=True):
        text = typed.replace("...> ", "").removesuffix("\n")
        if text == "exit":
            with pytest.raises(EOFError):
                shell.feed(text)
            continue
        run_typed(shell, text)
        assert capsys.readouterr().out == answer, text
