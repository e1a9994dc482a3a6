"""An error of a SELECT shows where it is, in the text as it was typed."""

from __future__ import annotations

import pytest

import ivm

LONG = ", ".join(f"id + {number} AS c{number}" for number in range(60))


@pytest.fixture(scope="module", params=[None, 2])
def db(request):
    with ivm.connect(compile="off", shards=request.param) as db:
        db.sql("CREATE TABLE sale (id INTEGER PRIMARY KEY, city VARCHAR); INSERT INTO sale VALUES (1, 'x')")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT id FROM sale")
        yield db


@pytest.mark.parametrize(
    "text",
    [
        "SELECT |nope FROM sale",
        "SELECT id,\n  |nope\nFROM sale",
        "SELECT 1;\n  -- a comment\n SELECT |nope FROM v",
        "SELECT |nope FROM sale WHERE id = 1",
        "SELECT |foo(id) FROM sale",
        "SELECT id FROM sale WHERE id IN (SELECT |x FROM v)",
        "FROM |sal",
        "SELECT * FROM sale GROUP |by",
        "SELECT city|::INTEGER FROM sale",
        "DESCRIBE SELECT |nope FROM sale",
        "SUMMARIZE\nSELECT id, |nope FROM sale",
        f"SELECT {LONG}, |nope FROM sale",
        f"SELECT {LONG}, |nope, {LONG} FROM sale",
        "SELECT 'é日本\t', |nope FROM sale",
        f"SELECT '{'é' * 150}', |nope, {LONG} FROM sale",
        "CREATE TABLE made AS SELECT |nope FROM sale",
    ],
)
def test_a_caret_stands_where_the_error_is(db, text):
    before, _, after = text.partition("|")
    with pytest.raises(ivm.Error) as raised:
        db.sql(before + after)
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    message = str(raised.value)
    assert f"(line {line}, column {column})" in message
    assert "LINE " not in message
    shown, caret = message.split("\n")[1:3]
    assert shown[caret.index("^") :].startswith(after[:3])


def test_what_is_computed_for_changes_is_not_shown_as_if_it_had_been_typed(db):
    for text in (
        "INSERT INTO sale (id) SELECT 'x'",
        "UPDATE sale SET city = nope",
        "INSERT INTO sale SELECT nope FROM v",
    ):
        with pytest.raises(ivm.Error) as raised:
            db.sql(text)
        assert "LINE" not in str(raised.value)
    with pytest.raises(ivm.BindError, match="no table or view 'sal'; did you mean 'sale'"):
        db.sql("SELECT TOP 1 * FROM sal", dialect="tsql")
