"""Functions of Postgres's that tell of what there is, as macros of DuckDB's. What these read has names that no query
has, as an argument stands in them as it was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ivm.catalog.names import TEMP, as_literal
from ivm.serve.postgres.catalog.numbers import RELATION_NUMBERS


@dataclass(frozen=True, slots=True)
class Function:
    """A function: what stands behind its name in CREATE MACRO, and the relations that it reads."""

    forms: str
    reads: tuple[str, ...] = field(default=())


def _same(value: str, *forms: str) -> Function:
    """The same for each of these lists of arguments."""
    return Function(", ".join(f"({form}) AS {value}" for form in forms))


def _written(relation: str, *forms: str) -> Function:
    """What is written of the thing of a number."""
    text = f"(SELECT any_value(ivm_text) FROM {relation} WHERE ivm_oid = o)"
    return Function(", ".join(f"(o{form}) AS {text}" for form in ("", *forms)), (relation,))


_TYPE = "(SELECT any_value(ivm_text) FROM ivm_types WHERE ivm_oid = t)"
_FORMAT = f"CASE WHEN t = 1700 AND m > 4 THEN printf('numeric(%d,%d)', (m - 4) >> 16, (m - 4) & 65535) ELSE {_TYPE} END"
_NO_TEXT = "CAST(NULL AS VARCHAR)"
_DESCRIBED = "(SELECT any_value(ivm_text) FROM ivm_descriptions WHERE ivm_oid = o AND ivm_number = {})"
_CLASS_NAMED = (
    "(SELECT arg_min(ivm_oid, coalesce(list_position(ivm_path(), ivm_schema), 0)) FROM ivm_classes "
    "WHERE replace(n, '\"', '') IN (ivm_name, ivm_schema || '.' || ivm_name) "
    "AND (contains(n, '.') OR list_contains(ivm_path(), ivm_schema)))"
)
_NUMBERS = "MAP {" + ", ".join(f"'{name}': {number}" for name, number in RELATION_NUMBERS.items()) + "}"
_TYPE_NAMED = Function(
    "(n) AS (SELECT any_value(ivm_oid) FROM ivm_types WHERE n IN (ivm_name, ivm_text))", ("ivm_types",)
)

FUNCTIONS: Mapping[str, Function] = {
    "format_type": Function(f"(t, m) AS {_FORMAT}", ("ivm_types",)),
    "pg_get_expr": _same("e", "e, o", "e, o, pretty"),
    "pg_get_constraintdef": _written("ivm_constraint_texts", ", pretty"),
    "pg_get_indexdef": Function(
        "(o) AS (SELECT any_value(ivm_text) FROM ivm_index_texts WHERE ivm_oid = o AND ivm_number = 0), "
        "(o, n, pretty) AS (SELECT any_value(ivm_text) FROM ivm_index_texts WHERE ivm_oid = o AND ivm_number = n)",
        ("ivm_index_texts",)),
    "pg_get_viewdef": _written("ivm_view_texts", ", pretty"),
    "pg_get_userbyid": _same("ivm_user()", "o"),
    "pg_table_is_visible": Function(
        "(o) AS EXISTS (SELECT 1 FROM ivm_classes WHERE ivm_oid = o AND list_contains(ivm_path(), ivm_schema))",
        ("ivm_classes",)),
    "pg_type_is_visible": _same("true", "o"),
    "pg_function_is_visible": _same("true", "o"),
    "pg_opclass_is_visible": _same("true", "o"),
    "pg_statistics_obj_is_visible": _same("true", "o"),
    "pg_conversion_is_visible": _same("true", "o"),
    "pg_collation_is_visible": _same("true", "o"),
    "obj_description": Function(
        f"(o) AS {_DESCRIBED.format(0)}, (o, c) AS CASE WHEN c = 'pg_class' THEN {_DESCRIBED.format(0)} END",
        ("ivm_descriptions",)),
    "col_description": Function(f"(o, n) AS {_DESCRIBED.format('n')}", ("ivm_descriptions",)),
    "shobj_description": _same(_NO_TEXT, "o, c"),
    "pg_encoding_to_char": _same("'UTF8'", "n"),
    "pg_char_to_encoding": _same("6", "n"),
    "pg_get_keywords": Function(
        "() AS TABLE SELECT keyword_name AS word, "
        "CASE keyword_category WHEN 'reserved' THEN 'R' ELSE 'U' END AS catcode FROM duckdb_keywords()"),
    "pg_advisory_unlock_all": _same(_NO_TEXT, ""),
    "pg_is_in_recovery": _same("false", ""),
    "pg_postmaster_start_time": _same("now()", ""),
    "pg_conf_load_time": _same("now()", ""),
    "pg_relation_size": _same("0", "o", "o, f"),
    "pg_total_relation_size": _same("0", "o"),
    "pg_table_size": _same("0", "o"),
    "pg_indexes_size": _same("0", "o"),
    "pg_tablespace_size": _same("0", "o"),
    "pg_database_size": _same("0", "o"),
    "pg_size_pretty": _same("format_bytes(n)", "n"),
    "pg_relation_is_publishable": _same("false", "o"),
    "pg_get_partkeydef": _same(_NO_TEXT, "o"),
    "pg_get_statisticsobjdef_columns": _same(_NO_TEXT, "o"),
    "pg_get_ruledef": _same(_NO_TEXT, "o", "o, pretty"),
    "pg_get_triggerdef": _same(_NO_TEXT, "o", "o, pretty"),
    "pg_get_serial_sequence": _same(_NO_TEXT, "t, c"),
    "pg_get_function_result": _same(_NO_TEXT, "o"),
    "pg_get_function_arguments": _same(_NO_TEXT, "o"),
    "pg_get_function_identity_arguments": _same(_NO_TEXT, "o"),
    "pg_get_functiondef": _same(_NO_TEXT, "o"),
    "pg_my_temp_schema": Function(
        f"() AS (SELECT coalesce(any_value(oid), 0) FROM pg_namespace WHERE nspname = '{TEMP}')", ("pg_namespace",)),
    "pg_is_other_temp_schema": _same("false", "o"),
    "pg_has_role": _same("true", "r, p", "u, r, p"),
    "has_table_privilege": _same("true", "t, p", "u, t, p"),
    "has_any_column_privilege": _same("true", "t, p", "u, t, p"),
    "has_column_privilege": _same("true", "t, c, p", "u, t, c, p"),
    "has_schema_privilege": _same("true", "s, p", "u, s, p"),
    "has_database_privilege": _same("true", "d, p", "u, d, p"),
    "has_function_privilege": _same("true", "f, p", "u, f, p"),
    "pg_partition_ancestors": _same("unnest(CAST([] AS BIGINT[]))", "o"),
    "pg_tablespace_location": _same("''", "o"),
    "string_to_array": _same("string_split(t, s)", "t, s"),
    "pg_stat_get_numscans": _same("0", "o"),
    "array_to_string": _same("list_aggregate(a, 'string_agg', s)", "a, s", "a, s, n"),
    "array_remove": _same("list_filter(a, lambda x: x <> v)", "a, v"),
    "quote_ident": _same(
        """CASE WHEN regexp_full_match(t, '[a-z_][a-z0-9_]*') THEN t ELSE '"' || replace(t, '"', '""') || '"' END""",
        "t"),
    "parse_ident": _same("string_split(replace(t, '\"', ''), '.')", "t"),
    "_pg_expandarray": _same("unnest(list_transform(range(1, len(a) + 1), lambda i: {'x': a[i], 'n': i}))", "a"),
    "quote_literal": _same("'''' || replace(CAST(t AS VARCHAR), '''', '''''') || ''''", "t"),
    "array_lower": _same("CASE WHEN len(a) > 0 THEN 1 END", "a, d"),
    "array_upper": _same("CASE WHEN len(a) > 0 THEN len(a) END", "a, d"),
    "to_regclass": Function(f"(n) AS {_CLASS_NAMED}", ("ivm_classes",)),
    "to_regtype": _TYPE_NAMED,
    "ivm_regtype": _TYPE_NAMED,
    "ivm_regtype_name": Function(f"(t) AS {_TYPE}", ("ivm_types",)),
    "ivm_regclass": Function(
        f"(n) AS CASE WHEN contains(n, 'pg_') THEN coalesce({_NUMBERS}[replace(n, 'pg_catalog.', '')], 1) ELSE "
        f"coalesce({_CLASS_NAMED}, error('relation ' || n || ' does not exist')) END", ("ivm_classes",)),
    "ivm_regclass_name": Function(
        "(o) AS coalesce((SELECT any_value(ivm_name) FROM ivm_classes WHERE ivm_oid = o), CAST(o AS VARCHAR))",
        ("ivm_classes",)),
}  # fmt: skip
"""Those that are the same for all, by their names; `ivm_path()` is the search path of who asks."""


def of_session(
    database: str, user: str, version: str, process: int, path: tuple[str, ...], settings: Mapping[str, str]
) -> dict[str, Function]:
    """Those that tell who asks, and where."""
    schemas = "[" + ", ".join(map(as_literal, path)) + "]"
    known = (
        "MAP {"
        + ", ".join(f"{as_literal(name.lower())}: {as_literal(value)}" for name, value in settings.items())
        + "}"
    )
    texts = {
        "version": f"PostgreSQL {version} (ivm)", "current_database": database, "current_catalog": database,
        "current_user": user, "session_user": user, "user": user, "current_role": user, "current_schema": path[0],
    }  # fmt: skip
    return {
        **{name: _same(as_literal(text), "") for name, text in texts.items()},
        "ivm_path": _same(f"list_prepend({as_literal(TEMP)}, {schemas})", ""),
        "ivm_user": _same(as_literal(user or "ivm"), ""),
        "current_schemas": _same(f"CASE WHEN b THEN list_prepend('pg_catalog', {schemas}) ELSE {schemas} END", "b"),
        "pg_backend_pid": _same(str(process), ""),
        "inet_server_addr": _same("CAST(NULL AS VARCHAR)", ""),
        "inet_server_port": _same("CAST(NULL AS INTEGER)", ""),
        "inet_client_addr": _same("CAST(NULL AS VARCHAR)", ""),
        "current_setting": Function(f"(n) AS {known}[lower(n)], (n, missing_ok) AS {known}[lower(n)]"),
        "set_config": _same("v", "n, v, b"),
    }


CALLED = frozenset([
    *FUNCTIONS, "version", "current_database", "current_catalog", "current_user", "session_user", "current_role",
    "current_schema", "current_schemas", "pg_backend_pid", "inet_server_addr", "inet_server_port", "inet_client_addr",
    "current_setting", "set_config",
])  # fmt: skip
"""The names of all."""
