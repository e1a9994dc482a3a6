"""Texts: the functions are DuckDB's, whose names they bear; characters are code points."""

from __future__ import annotations

from ivm.catalog.types import BIGINT, BOOLEAN, INTEGER, VARCHAR, SqlType
from ivm.sql.ir.functions.function import Function, Raises

_TEXT = (VARCHAR,)
_PATTERN = (VARCHAR, "literal")


def _text(name: str, takes: tuple[SqlType, ...], gives: SqlType = VARCHAR, *others: str, optional: int = 0) -> Function:
    """One that SQL calls by its own name, and by others."""
    return Function(name, takes, gives, (name, *others), optional)


FUNCTIONS = (
    Function("collate", (VARCHAR, "literal"), VARCHAR),  # the text itself, which is compared by that collation
    _text("upper", _TEXT, VARCHAR, "ucase"),
    _text("lower", _TEXT, VARCHAR, "lcase"),
    _text("trim", (VARCHAR, VARCHAR), optional=1),
    _text("ltrim", (VARCHAR, VARCHAR), optional=1),
    _text("rtrim", (VARCHAR, VARCHAR), optional=1),
    _text("length", _TEXT, BIGINT, "len", "char_length", "character_length"),
    _text("strlen", _TEXT, BIGINT),
    _text("bit_length", _TEXT, BIGINT),
    _text("substring", (VARCHAR, BIGINT, BIGINT), VARCHAR, "substr", optional=1),
    _text("left", (VARCHAR, BIGINT)),
    _text("right", (VARCHAR, BIGINT)),
    Function("cut", (VARCHAR, BIGINT, BIGINT), VARCHAR),  # text[a:b]
    Function("concat", (VARCHAR, "..."), VARCHAR),
    _text("replace", (VARCHAR, VARCHAR, VARCHAR)),
    Function("repeat", (VARCHAR, BIGINT), VARCHAR, ("repeat",), raises=Raises.SOMETIMES),
    Function("lpad", (VARCHAR, INTEGER, VARCHAR), VARCHAR, ("lpad",), raises=Raises.SOMETIMES),
    Function("rpad", (VARCHAR, INTEGER, VARCHAR), VARCHAR, ("rpad",), raises=Raises.SOMETIMES),
    _text("reverse", _TEXT),
    _text("translate", (VARCHAR, VARCHAR, VARCHAR)),
    _text("split_part", (VARCHAR, VARCHAR, BIGINT)),
    _text("strpos", (VARCHAR, VARCHAR), BIGINT, "instr", "position"),
    Function("starts_with", (VARCHAR, VARCHAR), BOOLEAN, ("starts_with", "prefix"), holds=0.1),
    _text("ends_with", (VARCHAR, VARCHAR), BOOLEAN, "suffix"),
    Function("contains", (VARCHAR, VARCHAR), BOOLEAN, ("contains",), holds=0.1),
    _text("ascii", _TEXT, INTEGER),
    _text("unicode", _TEXT, INTEGER, "ord"),
    Function("chr", (INTEGER,), VARCHAR, ("chr",), raises=Raises.SOMETIMES),
    _text("levenshtein", (VARCHAR, VARCHAR), BIGINT, "editdist3"),
    _text("hex", _TEXT, VARCHAR, "to_hex"),
    _text("md5", _TEXT),
    _text("sha1", _TEXT),
    _text("sha256", _TEXT),
    # Of BIGINT, HUGEINT, DOUBLE and VARCHAR; the format is one of Python's.
    Function("formatted", ("T", "literal"), VARCHAR),
    # The pattern, and perhaps the escape character.
    Function("like", (VARCHAR, VARCHAR, "literal"), BOOLEAN, holds=0.1),
    Function("ilike", (VARCHAR, VARCHAR, "literal"), BOOLEAN, holds=0.1),
    # The pattern in RE2's syntax, with its flags; then what replaces a match and whether it does each, or the group.
    Function("regexp_matches", _PATTERN, BOOLEAN),
    Function("regexp_full_match", _PATTERN, BOOLEAN),
    Function("regexp_replace", (*_PATTERN, "literal", "literal"), VARCHAR),
    Function("regexp_extract", (*_PATTERN, "literal"), VARCHAR),
)
