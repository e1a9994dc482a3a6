"""Functions that DuckDB computes for us: for each a line with its types, as DuckDB's reference has them.

They are deterministic, NULL where an argument is, and raise where DuckDB does. A batch asks for all of its arguments at
once, and what is asked of one text is remembered; see `ivm.render.scalars.asked`. What is called on every row of large
tables deserves a body of its own.
"""

from __future__ import annotations

from ivm.catalog.types import (
    BIGINT,
    BLOB,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    HUGEINT,
    INTEGER,
    INTERVAL,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    UBIGINT,
    UINTEGER,
    UUID,
    VARCHAR,
    SqlType,
)
from ivm.sql.ir.functions.function import Function, Nulls, Raises

_V, _TEXT, _TEXTS, _BYTES = VARCHAR, (VARCHAR,), (VARCHAR, VARCHAR), (BLOB,)


def asked(
    name: str,
    takes: tuple[SqlType | str, ...],
    gives: SqlType | str,
    *others: str,
    optional: int = 0,
    of: str = "",
    nulls: Nulls = Nulls.ANY,
) -> Function:
    """One that SQL calls by its own name, and by others. `of` tells those of one name apart."""
    return Function(
        f"{name} of {of}" if of else name, takes, gives, (name, *others), optional,
        nulls=nulls, makes_null=True, raises=Raises.SOMETIMES, asked=name,
    )  # fmt: skip


def _bound(name: str, takes: tuple[SqlType | str, ...], gives: SqlType, asked: str) -> Function:
    """One that the binder calls."""
    return Function(name, takes, gives, makes_null=True, raises=Raises.SOMETIMES, asked=asked)


def _each(name: str, takes: tuple[SqlType | str, ...], gives: SqlType) -> Function:
    """One whose pattern or format is no literal, as that has which the binder calls by the name otherwise."""
    return Function(
        f"{name} of any pattern", takes, gives, makes_null=True, raises=Raises.SOMETIMES, asked=name
    )  # fmt: skip


def _digits(name: str, *others: str) -> tuple[Function, ...]:
    """The digits of a number, or of a text's bytes, in some base."""
    numbers = (BIGINT, UBIGINT, HUGEINT)
    return tuple(asked(name, (type_,), VARCHAR, *others, of=str(type_)) for type_ in numbers)


FUNCTIONS = (
    # How alike texts are.
    asked("hamming", _TEXTS, BIGINT, "mismatches"),
    asked("damerau_levenshtein", _TEXTS, BIGINT),
    asked("jaccard", _TEXTS, DOUBLE),
    asked("jaro_similarity", (_V, _V, DOUBLE), DOUBLE, optional=1),
    asked("jaro_winkler_similarity", (_V, _V, DOUBLE), DOUBLE, optional=1),
    # Texts made of texts.
    asked("overlay", (_V, _V, BIGINT, BIGINT), _V, optional=1),
    asked("nfc_normalize", _TEXT, _V),
    asked("strip_accents", _TEXT, _V),
    asked("regexp_escape", _TEXT, _V),
    asked("url_encode", _TEXT, _V),
    asked("url_decode", _TEXT, _V),
    asked("left_grapheme", (_V, BIGINT), _V),
    asked("right_grapheme", (_V, BIGINT), _V),
    asked("substring_grapheme", (_V, BIGINT, BIGINT), _V, optional=1),
    asked("length_grapheme", _TEXT, BIGINT),
    asked("array_extract", (_V, BIGINT), _V, "list_element", "list_extract"),
    asked("array_slice", (_V, BIGINT, BIGINT), _V, "list_slice"),
    # Names of files; what else is said of one may be NULL, as if it were not said.
    asked("parse_dirname", _TEXTS, _V, optional=1, nulls=Nulls.FIRST),
    asked("parse_dirpath", _TEXTS, _V, optional=1, nulls=Nulls.FIRST),
    asked("parse_filename", (_V, BOOLEAN, _V), _V, optional=2, of="name, cut", nulls=Nulls.FIRST),
    asked("parse_filename", _TEXTS, _V, of="name, separator", nulls=Nulls.FIRST),
    asked("path_join", (_V, _V, _V, _V), _V, optional=3),
    # Patterns.
    Function("glob", _TEXTS, BOOLEAN, makes_null=True, raises=Raises.SOMETIMES, asked="~~~"),
    asked("like_escape", (_V, _V, _V), BOOLEAN),
    asked("not_like_escape", (_V, _V, _V), BOOLEAN),
    asked("ilike_escape", (_V, _V, _V), BOOLEAN),
    asked("not_ilike_escape", (_V, _V, _V), BOOLEAN),
    _each("regexp_matches", (_V, _V, "literal"), BOOLEAN),
    _each("regexp_full_match", (_V, _V, "literal"), BOOLEAN),
    _each("regexp_replace", (_V, _V, _V, "literal"), _V),
    _each("regexp_extract", (_V, _V, "literal", "literal"), _V),
    _each("format", (_V, "..."), _V),
    _each("printf", (_V, "..."), _V),
    # Bytes, and digits of texts and numbers.
    asked("bin", _TEXT, _V, "to_binary", of="VARCHAR"),
    *_digits("bin", "to_binary"),
    *_digits("hex", "to_hex"),
    asked("hex", _BYTES, _V, "to_hex", of="BLOB"),
    asked("to_base", (BIGINT, INTEGER, INTEGER), _V, optional=1),
    asked("to_base64", _BYTES, _V, "base64"),
    asked("from_base64", _TEXT, BLOB),
    asked("from_hex", _TEXT, BLOB, "unhex"),
    asked("from_binary", _TEXT, BLOB, "unbin"),
    asked("encode", _TEXT, BLOB),
    asked("decode", (BLOB, VARCHAR), _V, optional=1),
    asked("octet_length", _BYTES, BIGINT),
    *(asked(name, _BYTES, _V, of="BLOB") for name in ("md5", "sha1", "sha256")),
    asked("md5_number_lower", _TEXT, UBIGINT),
    asked("md5_number_upper", _TEXT, UBIGINT),
    asked("repeat", (BLOB, BIGINT), BLOB, of="BLOB"),
    _bound("concat of BLOB", (BLOB, BLOB), BLOB, "||"),
    # Numbers for people.
    asked("bar", (DOUBLE, DOUBLE, DOUBLE, DOUBLE), _V, optional=1),
    asked("format_bytes", (BIGINT,), _V, "formatreadablesize"),
    asked("formatreadabledecimalsize", (BIGINT,), _V),
    asked("parse_formatted_bytes", _TEXT, UBIGINT),
    # Numbers.
    asked("gamma", (DOUBLE,), DOUBLE),
    asked("lgamma", (DOUBLE,), DOUBLE),
    asked("signbit", (DOUBLE,), BOOLEAN),
    asked("binom", (INTEGER, INTEGER), HUGEINT),
    asked("nextafter", (FLOAT, FLOAT), FLOAT, of="FLOAT"),
    asked("nextafter", (DOUBLE, DOUBLE), DOUBLE, of="DOUBLE"),
    Function("round_even", ("T", "literal"), "R", makes_null=True, raises=Raises.SOMETIMES, asked="round_even"),
    # Moments.
    asked("epoch_ns", (TIME,), BIGINT, of="TIME"),
    asked("epoch_ns", (TIMESTAMP_NS,), BIGINT, of="TIMESTAMP_NS"),
    asked("epoch_ns", (TIMESTAMP,), BIGINT, of="TIMESTAMP"),
    asked("epoch_us", (TIME,), BIGINT, of="TIME"),
    Function("epoch_ms of TIME", (TIME,), BIGINT, makes_null=True, raises=Raises.SOMETIMES, asked="epoch_ms"),
    asked("nanosecond", (TIME,), BIGINT, of="TIME"),
    asked("nanosecond", (TIMESTAMP_NS,), BIGINT, of="TIMESTAMP_NS"),
    asked("nanosecond", (TIMESTAMP,), BIGINT, of="TIMESTAMP"),
    asked("make_time", (BIGINT, BIGINT, DOUBLE), TIME),
    asked("make_date", (INTEGER,), DATE, of="days"),
    asked("make_timestamp_ms", (BIGINT,), TIMESTAMP),
    asked("make_timestamp_ns", (BIGINT,), TIMESTAMP_NS),
    _bound("strftime of TIMESTAMP_NS", (TIMESTAMP_NS, _V), _V, "strftime"),
    _bound("strptime of TIMESTAMP_NS", (_V, _V), TIMESTAMP_NS, "strptime"),
    _bound("try_strptime of TIMESTAMP_NS", (_V, _V), TIMESTAMP_NS, "try_strptime"),
    asked("make_timestamptz", (BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, DOUBLE), TIMESTAMPTZ),
    # Zones.
    _bound("timezone of TIMESTAMP", (VARCHAR, TIMESTAMP), TIMESTAMPTZ, "timezone"),
    _bound("timezone of TIMESTAMP WITH TIME ZONE", (VARCHAR, TIMESTAMPTZ), TIMESTAMP, "timezone"),
    # Intervals.
    _bound("age", (TIMESTAMP, TIMESTAMP), INTERVAL, "age"),
    _bound("time_bucket", (INTERVAL, TIMESTAMP), TIMESTAMP, "time_bucket"),
    _bound("INTERVAL * DOUBLE", (INTERVAL, DOUBLE), INTERVAL, "*"),
    _bound("INTERVAL / DOUBLE", (INTERVAL, DOUBLE), INTERVAL, "/"),
    _bound("to_seconds of DOUBLE", (DOUBLE,), INTERVAL, "to_seconds"),
    _bound("to_milliseconds of DOUBLE", (DOUBLE,), INTERVAL, "to_milliseconds"),
    _bound("date_trunc of INTERVAL", ("literal", INTERVAL), INTERVAL, "date_trunc"),
    asked("normalized_interval", (INTERVAL,), INTERVAL),
    asked("epoch_ns", (INTERVAL,), BIGINT, of="INTERVAL"),
    asked("uuid_extract_timestamp", (UUID,), TIMESTAMPTZ),
    asked("uuid_extract_version", (UUID,), UINTEGER),
)
