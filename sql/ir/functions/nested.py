"""Lists, structs and maps: what makes them, what takes them apart, and DuckDB's functions of them.

Most are DuckDB's, which is asked for the rows of a batch, NULLs included. Their types hold variables: whatever stands
for T is one type, which the arguments have in common.
"""

from __future__ import annotations

from ivm.catalog.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, UBIGINT, VARCHAR, SqlType, list_of, map_of, struct_of
from ivm.sql.ir.functions.function import Function, Nulls, Raises, variable

_T, _K, _E = variable("T"), variable("K"), variable("V")
_LIST, _LISTS, _MAP = list_of(_T), list_of(list_of(_T)), map_of(_K, _E)
_ENTRY = struct_of((("key", _K), ("value", _E)))
_TEXTS, _PLACES, _NUMBERS = list_of(VARCHAR), list_of(BIGINT), list_of(DOUBLE)

PLACE = "\0{}\0"
"""Where argument number 1, 2, .. stands in a text that is `written`: no text of SQL has such a character."""


def places_of(count: int) -> list[str]:
    """What stands in a text for so many arguments."""
    return [PLACE.format(number) for number in range(1, count + 1)]


ARRAY_OR_LIST = ("list_", "array_")


def _asked(
    names: str, takes: tuple[SqlType | str, ...], gives: SqlType | str, optional: int = 0, of: str = "a list"
) -> Function:
    """One by the names that SQL has for it; `of` tells it from others of its name."""
    name, *others = names.split()
    return Function(
        f"{name} of {of}", takes, gives, (name, *others), optional,
        nulls=Nulls.DEPENDS, makes_null=True, raises=Raises.SOMETIMES, asked=name,
    )  # fmt: skip


def _list(names: str, takes: tuple[SqlType | str, ...], gives: SqlType | str, optional: int = 0) -> Function:
    """One that is called list_.. and array_.. by each of its names."""
    every = [prefix + name for name in names.split() for prefix in ARRAY_OR_LIST]
    return _asked(" ".join(every), takes, gives, optional)


def _of_text(names: str, takes: tuple[SqlType | str, ...], optional: int = 0, nulls: Nulls = Nulls.FIRST) -> Function:
    """One that makes texts of a text; by NULL most take it for whole."""
    name, *others = names.split()
    return Function(
        name, takes, _TEXTS, (name, *others), optional, nulls, makes_null=True, raises=Raises.SOMETIMES, asked=name
    )  # fmt: skip


FUNCTIONS = (
    # What is made of its parts, and taken apart; of a struct that is the field at a place.
    Function("struct_pack", ("A", "..."), "R", nulls=Nulls.NEVER),
    Function("map", (list_of(_K), list_of(_E)), _MAP, ("map",), makes_null=True, raises=Raises.SOMETIMES, asked="map"),
    Function("field", ("A", "literal"), "R", makes_null=True),
    Function("element", (_LIST, BIGINT), _T, ("list_extract", "list_element", "array_extract"), makes_null=True),
    Function("list_length", (_LIST,), BIGINT, ("len", "length")),
    # What is computed of SQL's text, in which each `PLACE` is an argument.
    Function(
        "written", ("literal", "A", "..."), "R", nulls=Nulls.DEPENDS, makes_null=True, raises=Raises.SOMETIMES,
        asked="written",
    ),
    # The same by the clocks of a zone, which stands first.
    Function(
        "written in zone", ("literal", "literal", "A", "..."), "R", nulls=Nulls.DEPENDS, makes_null=True,
        raises=Raises.SOMETIMES, asked="written in zone",
    ),
    # Order.
    _list("sort", (_LIST, VARCHAR, VARCHAR), _LIST, optional=2),
    _list("reverse_sort", (_LIST, VARCHAR), _LIST, optional=1),
    _asked("list_grade_up array_grade_up grade_up", (_LIST, VARCHAR, VARCHAR), _PLACES, optional=2),
    _list("reverse", (_LIST,), _LIST),
    # Elements.
    _list("slice", (_LIST, BIGINT, BIGINT, BIGINT), _LIST, optional=1),
    _asked("array_length", (_LIST, BIGINT), BIGINT, optional=1),
    _asked("cardinality", (_LIST,), UBIGINT),
    _asked("list_contains array_contains list_has array_has contains", (_LIST, _T), BOOLEAN),
    _list("position indexof", (_LIST, _T), INTEGER),
    _list("has_any", (_LIST, _LIST), BOOLEAN),
    _list("has_all", (_LIST, _LIST), BOOLEAN),
    _list("distinct", (_LIST,), _LIST),
    _list("unique", (_LIST,), UBIGINT),
    _list("select", (_LIST, _PLACES), _LIST),
    _list("where", (_LIST, list_of(BOOLEAN)), _LIST),
    _asked("list_first", (_LIST,), _T),
    _asked("list_last", (_LIST,), _T),
    # Other lists.
    _list("concat cat", (_LIST, _LIST, "..."), _LIST),
    _asked("list_append array_append array_push_back", (_LIST, _T), _LIST),
    _asked("list_prepend array_prepend", (_T, _LIST), _LIST),
    _asked("array_push_front", (_LIST, _T), _LIST),
    _asked("array_pop_back", (_LIST,), _LIST),
    _asked("array_pop_front", (_LIST,), _LIST),
    _list("intersect", (_LIST, _LIST), _LIST),
    _list("resize", (_LIST, BIGINT, _T), _LIST, optional=1),
    _asked("flatten", (_LISTS,), _LIST),
    # Aggregates.
    *(_asked(f"list_{name}", (_LIST,), _T) for name in ("min", "max", "any_value", "mode")),
    *(_asked(f"list_bit_{name}", (_LIST,), _T) for name in ("and", "or", "xor")),
    _asked("list_count", (_LIST,), BIGINT),
    *(_asked(f"list_bool_{name}", (list_of(BOOLEAN),), BOOLEAN) for name in ("and", "or")),
    *(
        _asked(f"list_{name}", (_NUMBERS,), DOUBLE)
        for name in (
            "avg", "product", "stddev_pop", "stddev_samp", "var_pop", "var_samp", "skewness", "kurtosis",
            "kurtosis_pop", "sem", "median", "mad",
        )
    ),
    _asked("list_entropy", (_LIST,), DOUBLE),
    _asked("list_sum", (_LIST,), "the sum of T"),
    _asked("list_histogram", (_LIST,), map_of(_T, UBIGINT)),
    _asked("list_string_agg", (_LIST,), VARCHAR),
    _asked("array_to_string", (_LIST, VARCHAR), VARCHAR),
    _asked("array_to_string_comma_default", (_LIST,), VARCHAR),
    # Texts in pieces.
    _of_text("string_split split str_split string_to_array", (VARCHAR, VARCHAR)),
    _of_text("string_split_regex str_split_regex regexp_split_to_array", (VARCHAR, VARCHAR)),
    _of_text("regexp_extract_all", (VARCHAR, VARCHAR, INTEGER, VARCHAR), optional=2, nulls=Nulls.ANY),
    _of_text("parse_path", (VARCHAR, VARCHAR), optional=1),
    # Maps.
    _asked("map_keys", (_MAP,), list_of(_K), of="a map"),
    _asked("map_values", (_MAP,), list_of(_E), of="a map"),
    _asked("map_entries", (_MAP,), list_of(_ENTRY), of="a map"),
    _asked("map_from_entries", (list_of(_ENTRY),), _MAP, of="entries"),
    _asked("map_concat", (_MAP, _MAP, "..."), _MAP, of="maps"),
    _asked("cardinality", (_MAP,), UBIGINT, of="a map"),
    _asked("map_extract element_at", (_MAP, _K), list_of(_E), of="a map"),
    _asked("map_extract_value", (_MAP, _K), _E, of="a map"),
    _asked("map_contains", (_MAP, _K), BOOLEAN, of="a map"),
    _asked("map_contains_value", (_MAP, _E), BOOLEAN, of="a map"),
    _asked("map_contains_entry", (_MAP, _K, _E), BOOLEAN, of="a map"),
)  # fmt: skip

VECTORS = (
    "distance", "cosine_distance", "cosine_similarity", "inner_product", "dot_product", "negative_inner_product",
    "negative_dot_product",
)  # fmt: skip
"""Functions of two vectors, which are called list_.. and array_..; they are `written`."""

NAMES = frozenset(
    (
        *(name for function in FUNCTIONS for name in function.names),
        *(prefix + name for name in VECTORS for prefix in ARRAY_OR_LIST),
    )
)
"""The names by which SQL calls them."""

LAMBDAS = {
    **dict.fromkeys(("list_transform", "list_apply", "array_transform", "array_apply", "apply"), "list_transform"),
    **dict.fromkeys(("list_filter", "array_filter", "filter"), "list_filter"),
    **dict.fromkeys(("list_reduce", "array_reduce", "reduce"), "list_reduce"),
}
"""Functions whose second argument is a lambda, by each name that SQL has for them; they are `written`."""
