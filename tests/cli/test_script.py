"""Cutting a text at its semicolons: against a twin that reads one character at a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ivm.session.script import first_word, is_blank, split


@pytest.mark.parametrize(
    ("text", "statements", "rest"),
    [
        ("SELECT 1; SELECT 2;", ("SELECT 1", "SELECT 2"), ""),
        ("SELECT ';'; SELECT 2", ("SELECT ';'",), " SELECT 2"),
        ("SELECT 'it''s;';", ("SELECT 'it''s;'",), ""),
        ('SELECT ";" FROM t;', ('SELECT ";" FROM t',), ""),
        ("SELECT 1 -- no; more\n;", ("SELECT 1 -- no; more",), ""),
        ("SELECT /* ; */ 1;", ("SELECT /* ; */ 1",), ""),
        ("SELECT $$a;b$$; x", ("SELECT $$a;b$$",), " x"),
        ("SELECT $t$a;$$;b$t$;", ("SELECT $t$a;$$;b$t$",), ""),
        ("SELECT $1; SELECT $2;", ("SELECT $1", "SELECT $2"), ""),
        (";;  ; -- nothing\n;", (), ""),
        ("SELECT 'open; text", (), "SELECT 'open; text"),
        ("SELECT /* open; ", (), "SELECT /* open; "),
        ("", (), ""),
    ],
)
def test_split(text, statements, rest):
    script = split(text)
    assert script.statements == statements
    assert script.rest == rest


def cuts_one_by_one(text: str) -> list[str]:
    """The slow obvious twin: pieces between semicolons, for texts without dollar quotes."""
    pieces, piece, inside = [], "", ""
    i = 0
    while i < len(text):
        two = text[i : i + 2]
        if inside == "" and two in ("--", "/*"):
            inside, step = two, 2
        elif inside == "" and text[i] in "'\"":
            inside, step = text[i], 1
        elif (inside == "--" and text[i] == "\n") or (inside in ("'", '"') and text[i] == inside):
            inside, step = "", 1
        elif inside == "/*" and two == "*/":
            inside, step = "", 2
        elif inside == "" and text[i] == ";":
            pieces.append(piece)
            piece, i = "", i + 1
            continue
        else:
            step = 1
        piece += text[i : i + step]
        i += step
    return [*pieces, piece]


@given(st.text(alphabet="a ;'\"-/*\n", max_size=40))
def test_split_cuts_where_a_reader_would(text):
    *whole, rest = cuts_one_by_one(text)
    script = split(text)
    assert script.rest == rest
    assert list(script.statements) == [piece.strip() for piece in whole if not is_blank(piece)]


@pytest.mark.parametrize(
    ("text", "word"),
    [("select 1", "SELECT"), (" -- x\n /* y */ With a AS", "WITH"), ("(SELECT 1)", "("), ("-- x", ""), ("", "")],
)
def test_first_word(text, word):
    assert first_word(text) == word


def test_what_follows_the_last_semicolon_counts_unless_blank():
    assert split("a; b").all == ("a", "b")
    assert split("a; -- b").all == ("a",)
