"""Scalar expressions that are refused: the class of the error, its words, and where it points."""

from __future__ import annotations

import pytest

from ivm.catalog.errors import BindError, Error, TypeMismatchError, UnsupportedError
from tests.sql.world import bound

# The expression over emp; the part of it that the error points at; the message, as a regular expression.
CHANGING = (
    ("born < getdate()", "getdate", r"write now\(\)"),
    ("random()", "random", "draw the value when a row is inserted"), ("uuid()", "uuid", "draw the value"),
    ("gen_random_uuid()", "gen_random", "draw the value"), ("nextval('s')", "nextval", "number the rows where"),
    ("currval('s')", "currval", "number the rows"), ("current_user", "current_user", "write the value as a literal"),
    ("version()", "version", "write the value as a literal"), ("current_setting('a')", "current_setting", "literal"),
)  # fmt: skip
REFUSED = (
    ("pg_typeof(id)", "pg_typeof", r"write typeof\(x\)"),
    ("printf('%x', id)", "'%x'", "'%x' is not supported; write %d, %s, %f, %e or %g, or use format"),
    ("printf('%*d', 3, id)", "'%*", "is not supported"),
    ("printf('100%')", "'100%'", "'%' is not supported"),
    ("printf('%1$d', id)", "'%1", "is not supported"),
    ("format('{a}', id)", "'{a}'", "'{a}' is no place such as"),
    ("format('{')", "'{'", "'{' is no place such as"),
    ("format('a}b')", "'a}b'", "'}b' is no place such as"),
    ("format('{0} {}', id, id)", "'{0} {}'", "number all of them, or none"),
    ("format('{:>{}}', name, 5)", "'{:>", "is no place such as"),
    ("format('{:t.}', id)", "'{:t.}'", "'{:t.}' is not supported"),
    ("hash(name)", "hash", "write md5"),
    ("nvl(name, 'x')", "nvl", r"nvl\(\) is not DuckDB's; write coalesce\(\)"),
    ("startswith(name, 'x')", "startswith", r"write starts_with\(\)"),
    ("iif(id > 1, 1, 2)", "iif", r"write if\(\)"),
    ("to_char(born, 'YYYY')", "to_char", "to_char"),
    ("uper(name)", "uper", "did you mean 'upper'"),
    ("regexp_match(name, 'a')", "regexp_match", "did you mean 'regexp_matches'"),
    ("substrng(name, 1)", "substrng", "did you mean 'substring'"),
    ("date_tunc('day', born)", "date_tunc", "did you mean 'date_trunc'"),
    ("foo(id)", "foo", r"the function foo\(\) is not supported"),
    ("1 - @id", "id", r"write \(@x\)"),
    ("1 - - ~id", "id", r"write \(~x\)"),
    ("date_trunc(name, born)", "name", r"date_trunc\(\) needs its part as a text literal"),
    ("date_diff(name, born, born)", "name", r"date_diff\(\) needs its part as a text literal"),
    ("date_sub(name, born, born)", "name", r"date_sub\(\) needs its part as a text literal"),
    ("length(name, 'b')", "'b'", r"'b' in length\(\) is not supported; leave it out"),
    ("substring(name, 1, 2, 3)", "3", r"3 in substring\(\)"),
    ("round(pay, 1, 2)", "2", r"2 in round\(\)"),
    ("ltrim(name, 'a', 'b')", "'b'", r"'b' in ltrim\(\)"),
    ("strftime(born, '%Y', '%d')", "'%d'", r"'%d' in strftime\(\)"),
    ("id BETWEEN SYMMETRIC 3 AND 1", "id", r"BETWEEN least\(a, b\) AND greatest\(a, b\)"),
    ("regexp_matches(name, 'a', name)", "name)", "varies from row to row is not supported; write it as a literal"),
    ("regexp_replace(name, name, 'a', name)", "name)", "varies from row to row"),
    ("regexp_matches(name, 'a', 'x')", "'x'", "the option 'x' is not supported"),
    ("regexp_extract(name, 'a', 9)", "regexp_extract", "from 0 to 8"),
    ("round(pay, id)", "round", "of a DECIMAL as a literal; cast to DOUBLE"),
    ("strftime(born, '%Q')", "'%Q'", "does not know the specifier '%Q'"),
    ("strptime(name, '%U')", "'%U'", "does not know the specifier '%U'"),
    ("CAST(born AS TIMETZ)", "born", "TIMETZ, which is not supported; write TIME"),
    ("date_part('week', (born - born::TIMESTAMP))", "date_part", "an INTERVAL has no part 'week'"),
    ("greatest(INTERVAL (id) DAY, INTERVAL 1 DAY)", "greatest", "write CASE WHEN"),
    ("'a' 'b'", "'a'", r"write \|\| between them"),
)  # fmt: skip
NAMES = (
    ("date_trunc('fortnight', born)", "date_trunc", "not a unit of time; units are"),
    ("printf('%d %d', id)", "'%d", "names 2 arguments, and 1 are given"),
    ("format('{}', id, id)", "'{}'", "names 1 arguments, and 2 are given"),
    ("split_part(name)", "split_part", r"split_part\(\) takes 3 arguments, not 1"),
    ("strlen(name, 1)", "strlen", r"strlen\(\) takes 1 argument, not 2"),
    ("time_bucket(INTERVAL '1 month 1 day', born)", "time_bucket", "either of months or of days"),
)  # fmt: skip
TYPES = (
    ("format('{:2000}', id)", "id", "is not supported for anything"),
    ("printf('%s', id)", "id", "'%s' is not supported for an integer; cast it, or write another letter"),
    ("printf('%d', name)", "name", "'%d' is not supported for a text"),
    ("printf('%d', pay)", "pay", "'%d' is not supported for a DOUBLE"),
    ("format('{:f}', id)", "id", "'{:f}' is not supported for an integer"),
    ("format('{:.3}', pay)", "pay", "'{:.3}' is not supported for a DOUBLE"),
    ("format('{:05}', name)", "name", "'{:05}' is not supported for a text"),
    ("left(id, 1)", "id", "text is needed here, not BIGINT"),
    ("repeat(name, 1.5)", "1.5", "counts in integers, not DECIMAL"),
    ("sin(name)", "name", "a number is needed here, not VARCHAR"),
    ("pay & 1", "pay", "the bits of integers, not of DECIMAL"),
    ("last_day(name)", "name)", "a DATE or TIMESTAMP is needed here, not VARCHAR"),
    ("date_diff('day', born, id)", "id", "a DATE or TIMESTAMP is needed here, not BIGINT"),
    ("born + INTERVAL (name) DAY", "name", "cast the factor to INTEGER"),
    ("CAST(INTERVAL 1 DAY AS BIGINT)", "CAST", "cannot cast INTERVAL to BIGINT"),
    ("INTERVAL 1 DAY + id", "id", "cannot compute INTERVAL"),
    ("born::TIMESTAMP - born > 1", "born", "cannot compare INTERVAL and INTEGER"),
    ("TRY_CAST(born AS INTEGER)", "born", "cannot cast DATE to INTEGER"),
    ("name SIMILAR TO 1", "1", "text is needed here"),
)  # fmt: skip
CASES = [
    (error, *case)
    for error, cases in (
        (UnsupportedError, CHANGING), (UnsupportedError, REFUSED), (BindError, NAMES), (TypeMismatchError, TYPES)
    )
    for case in cases
]  # fmt: skip


@pytest.mark.parametrize("form", ["SELECT {} FROM emp", "SELECT id FROM emp\nWHERE ({}) IS NULL"])
@pytest.mark.parametrize(("error", "text", "place", "message"), CASES)
def test_what_is_wrong_is_said_and_shown(form: str, error: type[Error], text: str, place: str, message: str):
    with pytest.raises(error, match=message) as caught:
        bound(form.format(text))
    assert type(caught.value) is error
    *_, shown, caret = str(caught.value).split("\n")
    assert shown[caret.index("^") :].lower().startswith(place.lower()), caught.value
