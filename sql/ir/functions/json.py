"""JSON: what is read of it, and what makes it. DuckDB computes all of it, see `ivm.sql.ir.functions.asked`."""

from __future__ import annotations

from ivm.catalog.types import BIGINT, BOOLEAN, JSON, UBIGINT, VARCHAR, SqlType, list_of
from ivm.sql.ir.functions.asked import asked
from ivm.sql.ir.functions.function import Function, Nulls, Raises, variable

_V, _T = VARCHAR, variable("T")


def _by_handler(name: str, takes: tuple[SqlType | str, ...], gives: SqlType | str, nulls: Nulls) -> Function:
    """One whose calls a handler of the binder makes."""
    makes_null = nulls is not Nulls.NEVER
    return Function(name, takes, gives, nulls=nulls, makes_null=makes_null, raises=Raises.SOMETIMES, asked=name)


def _at(name: str, gives: SqlType, *others: str) -> tuple[Function, ...]:
    """What is at a path, or at a place of an array."""
    return asked(name, (_V, _V), gives, *others, of="path"), asked(name, (_V, BIGINT), gives, *others, of="place")


OF_PATHS: dict[str, SqlType] = {
    **dict.fromkeys(("json_extract", "json_extract_path"), JSON),
    **dict.fromkeys(("json_extract_string", "json_extract_path_text", "json_value", "json_type"), VARCHAR),
    "json_exists": BOOLEAN,
    "json_array_length": UBIGINT,
    "json_keys": list_of(VARCHAR),
}
"""By their names, functions whose path may lead to several places, or be a list of paths; they give lists of these."""

TRANSFORMS = ("from_json", "from_json_strict", "json_transform", "json_transform_strict")
"""Functions whose second argument says of what type the result is."""

FUNCTIONS = (
    # What is read.
    *_at("json_extract", JSON, "json_extract_path"),
    *_at("json_extract_string", VARCHAR, "json_extract_path_text"),
    *_at("json_value", VARCHAR),
    asked("json_exists", (_V, _V), BOOLEAN),
    asked("json_type", (_V, _V), VARCHAR, optional=1),
    asked("json_array_length", (_V, _V), UBIGINT, optional=1),
    asked("json_keys", (_V, _V), list_of(VARCHAR), optional=1),
    asked("json_contains", (_V, _V), BOOLEAN),
    asked("json_valid", (_V,), BOOLEAN),
    *(
        Function(
            f"{name} of all", (_V, "literal"), list_of(gives), makes_null=True, raises=Raises.SOMETIMES, asked=name
        )
        for name, gives in OF_PATHS.items()
    ),
    *(_by_handler(name, (_V, "literal"), "R", Nulls.ANY) for name in TRANSFORMS),
    # What is written otherwise.
    asked("json", (_V,), JSON),
    asked("json_structure", (_V,), JSON),
    asked("json_pretty", (JSON,), VARCHAR),
    asked("json_normalize", (JSON,), VARCHAR),
    asked("json_strip_nulls", (JSON,), JSON),
    # What is changed.
    *(asked(name, (JSON, JSON, "..."), JSON, nulls=Nulls.DEPENDS) for name in ("json_merge_patch", "json_deep_merge")),
    asked("json_merge_patch_diff", (JSON, JSON), JSON, nulls=Nulls.DEPENDS),
    *(asked(name, (JSON, _V, JSON), JSON) for name in ("json_set", "json_insert", "json_replace")),
    asked("json_remove", (JSON, _V), JSON),
    # What is made of values.
    asked("to_json", (_T,), JSON, "json_quote"),
    asked("array_to_json", (list_of(_T),), JSON),
    _by_handler("row_to_json", ("A",), JSON, Nulls.ANY),
    _by_handler("json_array", ("A", "..."), JSON, Nulls.NEVER),
    _by_handler("json_object", (_V, "A", "..."), JSON, Nulls.NEVER),
)

NAMES = frozenset(name for function in FUNCTIONS for name in (function.names or (function.asked or "",)))
"""The names by which SQL calls them."""
