"""Texts, bytes, and texts that are equal though they differ."""

from __future__ import annotations

import pyarrow as pa

from tests.random.kinds.kind import Kind, Type

STR = Kind(
    "STR", "s",
    {"VARCHAR": Type(pa.string(), ("", "a", "ab", "b", "B", "a b", "é", "abc"))},
    odd=("'it''s'", "e'a\\tb'", "'\U0001f600'", "'a\nb'", "'a\\b'", "'%'", "'_'", "' a '", "'a--b'", "'a;b'", "'/* a */'",
         "'\"'", "'{x}'", "'?'", "'$1'"),
    forms=(
        "upper(<STR>)", "lower(<STR>)", "substring(<STR>, <1..2>, <1..2>)", "(<STR> || <STR>)", "replace(<STR>, 'a', 'x')",
        "trim(<STR>)", "CAST(<INT> AS VARCHAR)", "CAST(<DATE> AS VARCHAR)", "CAST(<DEC> AS VARCHAR)",
        "CAST(<BOOL> AS VARCHAR)", "concat(<STR>, <STR>)", "<left|right>(<STR>, <0..2>)",
        "<strip_accents|url_encode|bin|regexp_escape>(<STR>)", "overlay(<STR> PLACING <STR> FROM <1..2>)", "<REC>.b",
        "<JSN>->>'<a|b|$.b[0]>'", "json_type(<JSN>)", "CAST(<JSN> AS VARCHAR)", "<WORDS>[<1..2>]",
        "array_to_string(<WORDS>, '-')", "list_aggregate(<WORDS>, 'min')", "CAST(<LIST> AS VARCHAR)",
        "CAST(<MAP> AS VARCHAR)", "CAST(<REC> AS VARCHAR)", "hex(<BYTES>)", "CAST(<MOOD> AS VARCHAR)",
        "CAST(<TSZ> AS VARCHAR)", "strftime(<TSZ>, '%d %H:%M')", "CAST(<TIME> AS VARCHAR)", 'lower(<CI> COLLATE "binary")',
    ),
    conditions=("<STR> <LIKE|NOT LIKE|ILIKE> '<a%|%b|_|%a%|a_|%>'",),
    weight=3,
)  # fmt: skip

CI = Kind(
    "CI", "ci",
    {"VARCHAR COLLATE NOCASE": Type(pa.string(), ("a", "A", "ab", "aB", "b", "É", "é", ""))},
    odd=("'A' COLLATE NOCASE",),
    forms=("<upper|lower>(<CI>)", "(<CI> || <CI>)", "(<STR> COLLATE NOCASE)", "<left|right>(<CI>, 1)"),
    conditions=("<CI> <LIKE|NOT LIKE> '<A%|%b|_|É>'", "contains(<CI>, <CI>)"),
    weight=0.6,
)  # fmt: skip

BYTES = Kind(
    "BYTES",
    "y",
    {"BLOB": Type(pa.binary(), (b"", b"a", b"\x00", b"\xff", b"a\x00b"))},
    odd=("x'61'", "'\\x00'::BLOB"),
    forms=("(<BYTES> || <BYTES>)", "encode(<STR>)", "from_hex(hex(<BYTES>))"),
    weight=0.4,
)

MOOD = Kind(
    "MOOD", "e",
    {"ENUM('sad', 'ok', 'glad')": Type(pa.string(), ("sad", "ok", "glad"))},
    forms=("CAST(<'ok'|'sad'> AS ENUM('sad', 'ok', 'glad'))",),
    weight=0.4,
)  # fmt: skip
