"""Functions that DuckDB computes for us: for each a line with its types, as DuckDB's reference has them.

They are deterministic, NULL where an argument is, and raise where DuckDB does. A batch asks for all of its arguments at
once, and what is asked of one text is remembered; see `ivm.render.scalars.asked`. What is called on every row of large
tables deserves a body of its own.
"""

from __future__ import annotations

from catalog.types import (
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
    TIMESTAMPTZ,
    UBIGINT,
    UINTEGER,
    UUID,
    VARCHAR,
    SqlType,
)
from sql.ir.functions.function import Function, Raises

_V, _TEXT, _TEXTS, _BYTES = VARCHAR, (VARCHAR,), (VARCHAR, VARCHAR), (BLOB,)


def _asked(
    name: str, takes: tuple[SqlType, ...], gives: SqlType, *others: str, optional: int = 0, of: str = ""
) -> Function:
    """One that SQL calls by its own name, and by others. `of` tells those of one name apart."""
    return Function(
        f"{name} of {of}" if of else name, takes, gives, (name, *others), optional,
        makes_null=True, raises=Raises.SOMETIMES, asked=name,
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
    return tuple(_asked(name, (type_,), VARCHAR, *others, of=str(type_)) for type_ in numbers)


FUNCTIONS = (
    # How alike texts are.
    _asked("hamming", _TEXTS, BIGINT, "mismatches"),
    _asked("damerau_levenshtein", _TEXTS, BIGINT),
    _asked("jaccard", _TEXTS, DOUBLE),
    _asked("jaro_similarity", (_V, _V, DOUBLE), DOUBLE, optional=1),
    _asked("jaro_winkler_similarity", (_V, _V, DOUBLE), DOUBLE, optional=1),
    # Texts made of texts.
    _asked("overlay", (_V, _V, BIGINT, BIGINT), _V, optional=1),
    _asked("nfc_normalize", _TEXT, _V),
    _asked("strip_accents", _TEXT, _V),
    _asked("regexp_escape", _TEXT, _V),
    _asked("url_encode", _TEXT, _V),
    _asked("url_decode", _TEXT, _V),
    _asked("left_grapheme", (_V, BIGINT), _V),
    _asked("right_grapheme", (_V, BIGINT), _V),
    _asked("substring_grapheme", (_V, BIGINT, BIGINT), _V, optional=1),
    _asked("length_grapheme", _TEXT, BIGINT),
    _asked("array_extract", (_V, BIGINT), _V, "list_element", "list_extract"),
    _asked("array_slice", (_V, BIGINT, BIGINT), _V, "list_slice"),
    # Names of files.
    _asked("parse_dirname", _TEXTS, _V, optional=1),
    _asked("parse_dirpath", _TEXTS, _V, optional=1),
    _asked("parse_filename", (_V, BOOLEAN, _V), _V, optional=2, of="name, cut"),
    _asked("parse_filename", _TEXTS, _V, of="name, separator"),
    _asked("path_join", (_V, _V, _V, _V), _V, optional=3),
    # Patterns.
    Function("glob", _TEXTS, BOOLEAN, makes_null=True, raises=Raises.SOMETIMES, asked="~~~"),
    _asked("like_escape", (_V, _V, _V), BOOLEAN),
    _asked("not_like_escape", (_V, _V, _V), BOOLEAN),
    _asked("ilike_escape", (_V, _V, _V), BOOLEAN),
    _asked("not_ilike_escape", (_V, _V, _V), BOOLEAN),
    _each("regexp_matches", (_V, _V, "literal"), BOOLEAN),
    _each("regexp_full_match", (_V, _V, "literal"), BOOLEAN),
    _each("regexp_replace", (_V, _V, _V, "literal"), _V),
    _each("regexp_extract", (_V, _V, "literal", "literal"), _V),
    _each("format", (_V, "..."), _V),
    _each("printf", (_V, "..."), _V),
    # Bytes, and digits of texts and numbers.
    _asked("bin", _TEXT, _V, "to_binary", of="VARCHAR"),
    *_digits("bin", "to_binary"),
    *_digits("hex", "to_hex"),
    _asked("hex", _BYTES, _V, "to_hex", of="BLOB"),
    _asked("to_base", (BIGINT, INTEGER, INTEGER), _V, optional=1),
    _asked("to_base64", _BYTES, _V, "base64"),
    _asked("from_base64", _TEXT, BLOB),
    _asked("from_hex", _TEXT, BLOB, "unhex"),
    _asked("from_binary", _TEXT, BLOB, "unbin"),
    _asked("encode", _TEXT, BLOB),
    _asked("decode", _BYTES, _V),
    _asked("octet_length", _BYTES, BIGINT),
    *(_asked(name, _BYTES, _V, of="BLOB") for name in ("md5", "sha1", "sha256")),
    _asked("md5_number_lower", _TEXT, UBIGINT),
    _asked("md5_number_upper", _TEXT, UBIGINT),
    _asked("repeat", (BLOB, BIGINT), BLOB, of="BLOB"),
    _bound("concat of BLOB", (BLOB, BLOB), BLOB, "||"),
    # Numbers for people.
    _asked("bar", (DOUBLE, DOUBLE, DOUBLE, DOUBLE), _V, optional=1),
    _asked("format_bytes", (BIGINT,), _V, "formatreadablesize"),
    _asked("formatreadabledecimalsize", (BIGINT,), _V),
    _asked("parse_formatted_bytes", _TEXT, UBIGINT),
    # Numbers.
    _asked("gamma", (DOUBLE,), DOUBLE),
    _asked("lgamma", (DOUBLE,), DOUBLE),
    _asked("signbit", (DOUBLE,), BOOLEAN),
    _asked("binom", (INTEGER, INTEGER), HUGEINT),
    _asked("nextafter", (FLOAT, FLOAT), FLOAT, of="FLOAT"),
    _asked("nextafter", (DOUBLE, DOUBLE), DOUBLE, of="DOUBLE"),
    Function("round_even", ("T", "literal"), "R", makes_null=True, raises=Raises.SOMETIMES, asked="round_even"),
    # Moments.
    _asked("epoch_ns", (TIME,), BIGINT, of="TIME"),
    _asked("epoch_ns", (TIMESTAMP,), BIGINT, of="TIMESTAMP"),
    _asked("epoch_us", (TIME,), BIGINT, of="TIME"),
    Function("epoch_ms of TIME", (TIME,), BIGINT, makes_null=True, raises=Raises.SOMETIMES, asked="epoch_ms"),
    _asked("nanosecond", (TIME,), BIGINT, of="TIME"),
    _asked("nanosecond", (TIMESTAMP,), BIGINT, of="TIMESTAMP"),
    _asked("make_time", (BIGINT, BIGINT, DOUBLE), TIME),
    _asked("make_date", (INTEGER,), DATE, of="days"),
    _asked("make_timestamp_ms", (BIGINT,), TIMESTAMP),
    _asked("make_timestamptz", (BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, DOUBLE), TIMESTAMPTZ),
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
    _asked("normalized_interval", (INTERVAL,), INTERVAL),
    _asked("epoch_ns", (INTERVAL,), BIGINT, of="INTERVAL"),
    _asked("uuid_extract_timestamp", (UUID,), TIMESTAMPTZ),
    _asked("uuid_extract_version", (UUID,), UINTEGER),
)
