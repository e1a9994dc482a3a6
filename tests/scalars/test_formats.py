"""strptime by text and format, and strftime by each letter, against DuckDB."""

from __future__ import annotations

import duckdb
import pytest

from ivm.render.scalars.text_dates import strftime, try_strptime
from ivm.sql.types.printed import READ, WRITTEN, unknown_specifier

READINGS = [
    ("2020-01-05", "%Y-%m-%d"),
    (" 2020-01-05", "%Y-%m-%d"),
    ("2020-01-05 ", "%Y-%m-%d"),
    ("2020-1-5", "%Y-%m-%d"),
    ("20-01-05", "%Y-%m-%d"),
    ("20200105", "%Y%m%d"),
    ("2020105", "%Y%m%d"),
    ("02020-01-05", "%Y-%m-%d"),
    ("-2020-01-05", "%Y-%m-%d"),
    ("2020-01-05x", "%Y-%m-%d"),
    ("2020-001-05", "%Y-%m-%d"),
    ("5/1/20", "%d/%m/%y"),
    ("5/1/68", "%d/%m/%y"),
    ("5/1/69", "%d/%m/%y"),
    ("5/1/2020", "%d/%m/%y"),
    ("5 jan 2020", "%d %b %Y"),
    ("5 January 2020", "%d %B %Y"),
    ("5 January 2020", "%d %b %Y"),
    ("5  jan 2020", "%d %b %Y"),
    ("sun 5 jan 2020", "%a %d %b %Y"),
    ("mon 5 jan 2020", "%a %d %b %Y"),
    ("10:11", "%H:%M"),
    ("2020-01-05 10:11:12.5", "%Y-%m-%d %H:%M:%S.%f"),
    ("2020-01-05 10:11:12.500000", "%Y-%m-%d %H:%M:%S.%f"),
    ("2020-01-05 10:11:12.5000001", "%Y-%m-%d %H:%M:%S.%f"),
    ("2020-01-05 10:11:12.123456789", "%Y-%m-%d %H:%M:%S.%n"),
    ("2020-01-05 10:11:12.123", "%Y-%m-%d %H:%M:%S.%g"),
    ("2020-01-05 12:11 AM", "%Y-%m-%d %I:%M %p"),
    ("2020-01-05 12:11 pm", "%Y-%m-%d %I:%M %p"),
    ("2020-01-05 13:11 pm", "%Y-%m-%d %I:%M %p"),
    ("2020-01-05 24:11", "%Y-%m-%d %H:%M"),
    ("2020-01-05 10:60", "%Y-%m-%d %H:%M"),
    ("2020 36", "%Y %j"),
    ("2020 366", "%Y %j"),
    ("2021 366", "%Y %j"),
    ("2020-13-05", "%Y-%m-%d"),
    ("2020-02-30", "%Y-%m-%d"),
    ("2020-00-05", "%Y-%m-%d"),
    ("2020-01-00", "%Y-%m-%d"),
    ("2020%", "%Y%%"),
    ("2020T", "%YT"),
    ("2020", "%Y"),
    ("12", "%m"),
    ("2020-01-05 1", "%Y-%m-%d %H"),
    ("2020-01-05T10:11:12", "%Y-%m-%dT%H:%M:%S"),
    ("2020-01-05", "%x"),
    ("2020-01-05 10:11:12", "%c"),
    ("2020-01-05\n", "%Y-%m-%d"),
    ("2020-01-05", "%Y - %m-%d"),
    ("2020 - 01-05", "%Y - %m-%d"),
    ("", "%Y"),
    ("0020", "%Y"),
    ("1-5-2020", "%-m-%-d-%Y"),
    ("+2020", "%Y"),
    ("99999-01-01", "%Y-%m-%d"),
    ("a2020", "a%Y"),
    ("2020-05", "%Y-%d"),
    ("Jan", "%b"),
    ("10 PM", "%I %p"),
    ("10:11:12", "%X"),
]
MOMENTS = [
    0,
    -1,
    86_399_999_999,
    1_609_851_845_012_300,
    -59_011_459_200_000_000,
    1_582_979_400_000_000,
    327_403_080_000_000_000,
]


@pytest.mark.parametrize(("text", "form"), READINGS)
def test_a_text_is_read_as_duckdb_reads_it(text: str, form: str):
    assert unknown_specifier(form, READ) is None
    ((expected,),) = duckdb.execute("SELECT epoch_us(try_strptime(?, ?))", [text, form]).fetchall()
    assert try_strptime(text, form) == expected


@pytest.mark.parametrize("letter", sorted(WRITTEN))
def test_a_letter_is_written_as_duckdb_writes_it(letter: str):
    forms = [f"%{letter}"] + [f"%-{letter}"] * (unknown_specifier(f"%-{letter}", WRITTEN) is None)
    for form in forms:
        for micros in MOMENTS:
            ((expected,),) = duckdb.execute("SELECT strftime(make_timestamp(?), ?)", [micros, form]).fetchall()
            assert strftime(micros, form) == expected, (form, micros)


def test_what_duckdb_does_not_know_is_not_known_here():
    for letter in "CDEFKLNOPQRik":
        assert unknown_specifier(f"%{letter}", WRITTEN) == f"%{letter}"
    assert unknown_specifier("a%", WRITTEN) == "%"
    assert unknown_specifier("%-f", WRITTEN) == "%-f"
    assert unknown_specifier("100%% %Y", WRITTEN) is None
