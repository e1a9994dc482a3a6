"""The shell at a terminal: what a person types and sees."""

from __future__ import annotations

import stat
import subprocess
import sys

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory

import ivm
from ivm.session.database import core_of
from ivm.shell.completion import SqlCompleter
from ivm.shell.names import is_complete
from ivm.shell.terminal import SqlLexer, history_file, opened_history
from tests.cli.terminals import Terminal
from tests.house.modules import ROOT


def test_a_session(tmp_path):
    history = tmp_path / "state" / "history"
    with Terminal("shell", IVM_HISTORY=history) as terminal:
        terminal.until("End statements with a semicolon")
        terminal.until("ivm>")
        terminal.press("CREATE TABLE sale (id BIGINT PRIMARY KEY,\r")
        terminal.until("...>")
        terminal.press("city VARCHAR);\r")
        terminal.until(" ms\n")
        terminal.until("ivm>")
        terminal.press("INSERT INTO sale VALUES (1, '[red]Bern[/x]'), (2, NULL);\r")
        terminal.until("2 rows inserted\n")
        terminal.until("ivm>")
        terminal.press("select ci\x1b[D\x1b[C")  # the cursor moves
        terminal.press("\x15select * from sa\t")  # the line is taken back, the name is completed
        terminal.until("* from sale")  # the line may be drawn over the one before
        terminal.press(" order by id;\r")
        shown = terminal.until("2 rows\n")
        assert "[red]Bern[/x]" in shown
        assert "│ NULL" in shown
        terminal.until("ivm>")
        terminal.press("SELECT 1,\r")
        terminal.until("...>")
        terminal.press("  SELEKT 2;\r")
        assert "(line 2, column 10)" in terminal.until("^\n")
        terminal.until("ivm>")
        terminal.press("SELECT 'never")
        terminal.press("\x03")
        terminal.until("ivm>")
        terminal.press(".tables\r")
        terminal.until("1 row\n")
        terminal.until("ivm>")
        terminal.press("\x1b[A\x1b[A\x1b[B\r")  # of what was typed before, the last again
        terminal.until("1 row\n")
        terminal.until("ivm>")
        terminal.press("\x04")
        assert terminal.exit_code() == 0
        assert "Traceback" not in terminal.seen
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    kept = history.read_text()
    assert "+CREATE TABLE sale (id BIGINT PRIMARY KEY,\n+city VARCHAR);" in kept
    assert "+select * from sale order by id;" in kept
    assert "never" not in kept


def test_a_statement_that_runs_is_cancelled(tmp_path):
    with Terminal("shell", IVM_HISTORY="/proc/nowhere/history") as terminal:
        terminal.until("ivm>")
        terminal.press("SELECT 1 AS ready;\r")
        terminal.until("1 row\n")
        terminal.until("ivm>")
        terminal.press("SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3;\r")
        terminal.until("\n")
        with pytest.raises(AssertionError):
            terminal.until("ivm>", seconds=1)
        terminal.press("\x03")
        assert "Traceback" not in terminal.until("interrupted\n")
        terminal.until("ivm>")
        terminal.press("exit\r")
        assert terminal.exit_code() == 0


def test_a_pipe_has_no_prompt(tmp_path):
    text = "CREATE TABLE t (k INTEGER);\nINSERT INTO t VALUES (1), (NULL);\n.mode csv\nSELECT k\nFROM t ORDER BY k;\nexit\nx"
    command = [sys.executable, "-c", "from ivm.cli import main; main()", "shell"]
    done = subprocess.run(command, cwd=ROOT, input=text, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("k\n1\n\n", "", 0)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT ';", False),
        ("SELECT 1; -- done", True),
        ("SELECT 1; SELECT", False),
        ("", True),
        ("-- a remark", True),
        (".tables", True),
        ("exit", True),
        ("Quit", True),
        ("SELECT\nexit", False),
    ],
)
def test_enter_ends_what_is_complete(text, complete):
    assert is_complete(text) == complete


@pytest.fixture(scope="module")
def completer():
    db = ivm.connect(compile="off")
    db.sql('CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR, "the price" DOUBLE)')
    db.sql("CREATE TABLE country (name VARCHAR, size BIGINT)")
    db.sql("CREATE MATERIALIZED VIEW sales_by_city AS SELECT city, count(*) AS number FROM sale GROUP BY city")
    return SqlCompleter(lambda: core_of(db).catalog)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sel", ["select"]),
        ("SEL", ["SELECT"]),
        ("SELECT * FROM ", ["sale", "country", "sales_by_city"]),
        ("SELECT * FROM SA", ["sale", "sales_by_city"]),
        ("drop view sales", ["sales_by_city"]),
        ("SELECT s.| FROM sale AS s", ["id", "city", '"the price"']),
        ("SELECT sale.c| FROM sale", ["city"]),
        ('SELECT sale."th| FROM sale', ['"the price"']),
        ("SELECT a.n| FROM sales_by_city a, country b", ["number"]),
        ("SELECT b.n| FROM sales_by_city a, country b", ["name"]),
        ("SELECT nothing.| FROM sale", []),
        ("SELECT cit| FROM sale", ["city"]),
        ("SELECT | FROM country", ["name", "size"]),
        ("SELECT |", ["id", "city", '"the price"', "name", "size", "number"]),
        ("SELECT numb", ["number"]),
        ("SELECT bool_", ["bool_and(", "bool_or("]),
        ("SELECT city, BOOL_A| FROM sale", ["BOOL_AND("]),
        ("SELECT date_tr", ["date_trunc("]),
        ("SELECT row_n", ["row_number("]),
        ("SELECT regexp_ex", ["regexp_extract(", "regexp_extract_all("]),
        (".mo", [".mode"]),
        (".mode ", ["table", "csv", "json", "line"]),
        (".timer o", ["on", "off"]),
        (".schema s", ["sale", "sales_by_city"]),
        (".apply c", ["country"]),
        (".quit now", []),
    ],
)
def test_what_can_follow(completer, text, expected):
    before, _, after = text.partition("|")
    document = Document(before + after, len(before))
    assert [each.text for each in completer.get_completions(document, CompleteEvent())] == expected


def test_paths_follow_commands_that_read(completer, tmp_path):
    (tmp_path / "rows.csv").touch()
    found = completer.get_completions(Document(f".import {tmp_path}/ro"), CompleteEvent())
    assert [each.text for each in found] == ["ws.csv"]


def test_nothing_is_known_before_the_engine_is_there():
    completer = SqlCompleter(lambda: None)
    assert [each.text for each in completer.get_completions(Document("sel"), CompleteEvent())] == ["select"]
    assert list(completer.get_completions(Document("SELECT * FROM "), CompleteEvent())) == []


@pytest.mark.parametrize(
    ("text", "styled"),
    [
        ("SELECT 1", [("SELECT", "keyword"), ("1", "number")]),
        ("select 'it''s -- 5' -- x", [("select", "keyword"), ("'it''s -- 5'", "text"), ("-- x", "comment")]),
        ('"FROM" x1', [('"FROM"', "name")]),
        ("$$a\nFROM$$", [("$$a", "text"), ("FROM$$", "text")]),
        (".read x", [(".read x", "command")]),
    ],
)
def test_statements_are_in_colours(text, styled):
    document = Document(text)
    lexed = SqlLexer().lex_document(document)
    lines = [[(part[1], part[0]) for part in lexed(number)] for number in range(document.line_count)]
    assert ["".join(part for part, _ in line) for line in lines] == document.lines
    found = [(part, style.removeprefix("class:")) for line in lines for part, style in line if style and part]
    assert found == styled
    assert lexed(99) == []


def test_where_the_history_is_kept(monkeypatch, tmp_path):
    monkeypatch.delenv("IVM_HISTORY", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert history_file() == tmp_path / "ivm" / "history"
    monkeypatch.setenv("XDG_STATE_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert history_file() == tmp_path / ".local" / "state" / "ivm" / "history"


def test_a_history_that_cannot_be_kept_is_in_memory(tmp_path):
    (tmp_path / "file").touch()
    assert isinstance(opened_history(tmp_path / "file" / "history"), InMemoryHistory)
    assert isinstance(opened_history(tmp_path), InMemoryHistory)
    path = tmp_path / "history"
    history = opened_history(path)
    path.unlink()
    path.mkdir()
    history.store_string("SELECT 1;")
    assert list(history.load_history_strings()) == []


def test_the_prompt_waits_for_nothing_heavy():
    code = "import sys, ivm.cli, ivm.shell.terminal\nprint({'numba', 'pyarrow', 'numpy', 'duckdb', 'sqlglot'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
