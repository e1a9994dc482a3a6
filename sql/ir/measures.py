"""Values that SQL takes for equal though they differ, by their measure: what they are compared by.

That of an INTERVAL is its length, that of a text with a collation what the collation makes of it; of a list, struct or
map one of the measures within. All else is compared as it is.
"""

from __future__ import annotations

from ivm.catalog.types import BIGINT, HUGEINT, INTERVAL, VARCHAR, Kind, SqlType, list_of, struct_of
from ivm.sql.ir.functions.nested import PLACE
from ivm.sql.ir.intervals import length_of
from ivm.sql.ir.scalar import Call, Literal, Scalar

COLLATIONS = {"nfc": "nfc_normalize", "noaccent": "strip_accents", "nocase": "lower"}
"""What a text becomes by each collation, in the order in which several are applied."""
PLAIN_COLLATIONS = ("binary", "c", "posix")
"""Those by which texts are compared as they are."""


def has_measure(type_: SqlType) -> bool:
    """Whether values of a type are compared by their measures."""
    if type_.is_nested:
        return any(map(has_measure, type_.parts))
    return type_ == INTERVAL or bool(_steps(type_))


def measure_of(value: Scalar) -> Scalar:
    """What a value that `has_measure` is compared by. Cost: of lists, structs and maps DuckDB is asked for it."""
    return _measure(value, value.type)


def _measure(value: Scalar, type_: SqlType) -> Scalar:
    if type_ == INTERVAL:
        return length_of(value)
    if type_ == VARCHAR:
        return _folded(value, type_)
    target, text = _within(type_, PLACE.format(1), 0)
    if isinstance(value, Literal):
        return Literal(None, target)
    return Call("written", (Literal(text, VARCHAR), value), target, value.nullable)


def measure_text(type_: SqlType, value: str) -> str:
    """The SQL text of what a value of a type is compared by, for the text of the value."""
    return _within(type_, value, 0)[1]


def measured(value: Scalar) -> Scalar:
    """What any value is compared by."""
    return measure_of(value) if has_measure(value.type) else value


def measures_of(values: tuple[Scalar, ...], type_: SqlType) -> tuple[Scalar, ...]:
    """What values that are compared in one type are compared by, all of one type."""
    if not has_measure(type_):
        return values
    measures = tuple(_measure(value, type_) for value in values)
    wide = any(each.type == HUGEINT for each in measures)
    return tuple(map(_widened, measures)) if wide else measures


def with_collation(text: Scalar, collation: str) -> Scalar:
    """A text that is compared by a collation."""
    type_ = SqlType(Kind.VARCHAR, collation=collation)
    return Call("collate", (text, Literal(collation, VARCHAR)), type_, text.nullable)


def _steps(type_: SqlType) -> list[str]:
    """The functions that a collation applies to a text."""
    names = type_.collation.split(".")
    return [function for name, function in COLLATIONS.items() if name in names]


def _folded(text: Scalar, type_: SqlType) -> Scalar:
    while isinstance(text, Call) and text.function == "collate":
        text = text.args[0]
    for function in _steps(type_):
        text = Call(function, (text,), VARCHAR, text.nullable)
    return text


def _widened(length: Scalar) -> Scalar:
    if length.type == HUGEINT:
        return length
    if isinstance(length, Literal):
        return Literal(length.value, HUGEINT)
    return Call("cast", (length,), HUGEINT, length.nullable)


def _within(type_: SqlType, value: str, depth: int) -> tuple[SqlType, str]:
    """The type with measures in the place of what has them, and the text of SQL that makes such of a value."""
    if type_ == INTERVAL:
        return BIGINT, f"epoch_us({value})"
    if not has_measure(type_):
        return type_, value
    if type_ == VARCHAR:
        for function in _steps(type_):
            value = f"{function}({value})"
        return VARCHAR, value
    if type_.element is not None:
        of = f"map_entries({value})" if type_.kind is Kind.MAP else value
        element, text = _within(type_.element, f"x{depth}", depth + 1)
        return list_of(element), f"list_transform({of}, lambda x{depth}: {text})"
    parts = [
        _within(field, f"struct_extract_at({value}, {place})", depth)
        for place, (_, field) in enumerate(type_.fields, 1)
    ]
    made = f"row({', '.join(text for _, text in parts)})"
    return struct_of(("", part) for part, _ in parts), f"CASE WHEN {value} IS NOT NULL THEN {made} END"
