"""Integers, decimals, doubles, truth values."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from tests.random.kinds.kind import Kind, Type

INT = Kind(
    "INT", "i",
    {
        "INTEGER": Type(pa.int32(), (-1, 0, 1, 2, 3, 4)),
        "BIGINT": Type(pa.int64(), (0, 1, 2, 3, 4, 5)),
    },
    odd=("+1", "- 1", "1_0", "1e0::INTEGER", "'  2 '::INTEGER", "2.5::INTEGER", "true::INTEGER", "-(-1)", "((2))",
         "0003", "3::TINYINT::INTEGER"),
    forms=(
        "(<INT> <+|-> <INT>)", "(<INT> + <INT>)", "(<INT> * <2..4>)", "(<INT> <%|//> <2..4>)", "abs(<INT>)", "(-<INT>)",
        "length(<STR>)", "CAST(<BOOL> AS INTEGER)", "CAST(<DEC> AS INTEGER)", "position(<'a'|'b'|''> IN <STR>)",
        "CAST(<levenshtein|damerau_levenshtein>(<STR>, <STR>) AS INTEGER)", "(<DATE> - <DATE>)",
        # DuckDB's extract of a NULL that it sees at once is a DOUBLE.
        "extract(<year|month|day|quarter|dow|doy> FROM coalesce(<DATE>, DATE '2020-01-01'))",
        "extract(<hour|minute|second|day|year> FROM coalesce(<TS>, TIMESTAMP '2020-01-01'))",
        "extract(<hour|day|timezone> FROM coalesce(<TSZ>, TIMESTAMPTZ '2020-01-01'))",
        "date_diff('day', <TS>, <TS>)", "date_diff('<day|hour|month>', <TSZ>, <TSZ>)",
        "<LIST>[<0..2>]", "len(<LIST|WORDS>)::INTEGER", "<LIST>.list_sum()::INTEGER", "<REC>.a",
        "list_reduce(list_prepend(0, <LIST>), lambda x, y: coalesce(x, 0) + coalesce(y, 0))",
        "<MAP>['<a|b>']", "cardinality(<MAP>)::INTEGER", "json_array_length(<JSN>)::INTEGER",
        "TRY_CAST(<JSN>->>'<a|b>' AS INTEGER)", "epoch_us(<IVL>)", "octet_length(<BYTES>)::INTEGER",
        "hour(<TIME>)::INTEGER", "enum_code(<MOOD>)::INTEGER", "strlen(<CI>)::INTEGER",
    ),
    weight=3,
)  # fmt: skip

DEC = Kind(
    "DEC", "d",
    {"DECIMAL(9,2)": Type(
        pa.decimal128(9, 2),
        tuple(Decimal(text) for text in ("-1.00", "0.00", "0.25", "1.00", "1.50", "2.75", "3.00")),
    )},
    odd=(".25", "1.", "+0.25", "1e0::DECIMAL(9,2)", "'1.005'::DECIMAL(9,2)", "0.999::DECIMAL(9,2)", "1.0000",
         "'1e-1'::DECIMAL(9,2)"),
    forms=(
        "CAST(<DEC> <+|-> <DEC> AS DECIMAL(12,2))", "CAST(<DEC> + <DEC> AS DECIMAL(12,2))",
        "CAST(<DEC> * <1.5|2|0.5> AS DECIMAL(12,2))", "abs(<DEC>)", "round(<DEC>, <0..2>)",
        "CAST(<INT> AS DECIMAL(12,2))", "<floor|ceil>(<DEC>)",
    ),
    weight=2,
)  # fmt: skip

DBL = Kind(
    "DBL", "f",
    # Sums of powers of two, so that adding them up is exact in any order.
    {"DOUBLE": Type(pa.float64(), (-1.5, 0.0, 0.5, 1.0, 1.25, 2.0, 3.0)),
     "FLOAT": Type(pa.float32(), (-1.5, 0.0, 0.5, 1.0, 2.0))},
    odd=("1e0", "5E-1", ".5::DOUBLE", "'1e0'::DOUBLE", "1e+0", "-1.5e0", "2::DOUBLE"),
    forms=(
        "(<DBL> <+|-> <DBL>)", "(<DBL> + <DBL>)", "(<DBL> * <0.5::DOUBLE|2>)", "CAST(<INT> AS DOUBLE)",
        "CAST(<DEC> AS DOUBLE)", "(<INT> / <2|4>)", "<floor|ceil|abs>(<DBL>)", "epoch(<TIME>)",
    ),
    weight=2,
)  # fmt: skip

BOOL = Kind(
    "BOOL", "b",
    {"BOOLEAN": Type(pa.bool_(), (True, False))},
    odd=("TRUE", "'t'::BOOLEAN", "1::BOOLEAN", "NOT false", "(1 = 1)", "(NULL IS NULL)"),
    forms=("(<BOOL> <AND|OR> <BOOL>)", "(NOT <BOOL>)", "(<INT> = <INT>)", "(<STR> > <STR>)", "(<BOOL> IS <TRUE|NOT FALSE>)"),
)  # fmt: skip
