"""What there is, as SQLAlchemy asks for it: told by what DuckDB calls `duckdb_tables()` and the like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, exc, text
from sqlalchemy import types as sqltypes
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import default
from sqlalchemy.engine.interfaces import (
    ReflectedCheckConstraint,
    ReflectedColumn,
    ReflectedForeignKeyConstraint,
    ReflectedIndex,
    ReflectedPrimaryKeyConstraint,
    ReflectedTableComment,
    ReflectedUniqueConstraint,
)

MAIN = "main"
_TYPES: dict[str, type[sqltypes.TypeEngine[Any]]] = {
    "BOOLEAN": sqltypes.BOOLEAN, "TINYINT": sqltypes.SMALLINT, "UTINYINT": sqltypes.SMALLINT,
    "SMALLINT": sqltypes.SMALLINT, "USMALLINT": sqltypes.INTEGER, "INTEGER": sqltypes.INTEGER,
    "UINTEGER": sqltypes.BIGINT, "BIGINT": sqltypes.BIGINT, "UBIGINT": sqltypes.NUMERIC, "HUGEINT": sqltypes.NUMERIC,
    "FLOAT": sqltypes.REAL, "DOUBLE": sqltypes.DOUBLE, "VARCHAR": sqltypes.VARCHAR, "BLOB": postgresql.BYTEA,
    "DATE": sqltypes.DATE, "TIME": sqltypes.TIME, "UUID": sqltypes.UUID, "JSON": sqltypes.JSON,
    "INTERVAL": postgresql.INTERVAL,
}  # fmt: skip
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")


def type_of(name: str) -> sqltypes.TypeEngine[Any]:
    """SQLAlchemy's type for one of ours, by its name; `NullType` for what it has none for, such as MAP."""
    if name.endswith("[]"):
        return postgresql.ARRAY(type_of(name[:-2]))
    found = _DECIMAL.fullmatch(name)
    if found is not None:
        return sqltypes.NUMERIC(int(found[1]), int(found[2]))
    if name.startswith("TIMESTAMP"):
        return sqltypes.TIMESTAMP(timezone="ZONE" in name or name.endswith("TZ"))
    if name.startswith("ENUM("):
        return sqltypes.VARCHAR()
    return _TYPES.get(name, sqltypes.NullType)()


class Reflecting:
    """The part of a dialect that tells what there is; a `schema` that is None is the current one."""

    get_multi_columns = default.DefaultDialect.get_multi_columns
    get_multi_pk_constraint = default.DefaultDialect.get_multi_pk_constraint
    get_multi_foreign_keys = default.DefaultDialect.get_multi_foreign_keys
    get_multi_unique_constraints = default.DefaultDialect.get_multi_unique_constraints
    get_multi_check_constraints = default.DefaultDialect.get_multi_check_constraints
    get_multi_indexes = default.DefaultDialect.get_multi_indexes
    get_multi_table_comment = default.DefaultDialect.get_multi_table_comment
    get_multi_table_options = default.DefaultDialect.get_multi_table_options

    def get_schema_names(self, connection: Connection, **more: Any) -> list[str]:
        """The schemas there are."""
        return [row.schema_name for row in _rows(connection, "schemas", None) if row.schema_name not in _NOT_OURS]

    def get_table_names(self, connection: Connection, schema: str | None = None, **more: Any) -> list[str]:
        """The tables in a schema."""
        return [row.table_name for row in _rows(connection, "tables", schema)]

    def get_view_names(self, connection: Connection, schema: str | None = None, **more: Any) -> list[str]:
        """The views in a schema that are not materialized."""
        return _views(connection, schema, "view")

    def get_materialized_view_names(self, connection: Connection, schema: str | None = None, **more: Any) -> list[str]:
        """The materialized views in a schema."""
        return _views(connection, schema, "materialized view")

    def get_temp_table_names(self, connection: Connection, **more: Any) -> list[str]:
        """The TEMP tables."""
        return [row.table_name for row in _rows(connection, "tables", None) if row.temporary]

    def get_sequence_names(self, connection: Connection, schema: str | None = None, **more: Any) -> list[str]:
        """The sequences in a schema."""
        return [row.sequence_name for row in _rows(connection, "sequences", schema)]

    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **more: Any) -> bool:
        """Whether there is a table or view of a name."""
        return bool(_rows(connection, "columns", schema, table_name))

    def has_schema(self, connection: Connection, schema_name: str, **more: Any) -> bool:
        """Whether there is a schema of a name."""
        return schema_name in self.get_schema_names(connection)

    def has_sequence(self, connection: Connection, sequence_name: str, schema: str | None = None, **more: Any) -> bool:
        """Whether there is a sequence of a name."""
        return sequence_name in self.get_sequence_names(connection, schema)

    def get_view_definition(
        self, connection: Connection, view_name: str, schema: str | None = None, **more: Any
    ) -> str:
        """The SELECT of a view. NoSuchTableError if there is none of the name."""
        for row in _rows(connection, "views", schema):
            if row.view_name == view_name:
                return str(row.sql.partition(" AS ")[2].rstrip(" ;\n"))
        raise exc.NoSuchTableError(view_name)

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **more: Any
    ) -> list[ReflectedColumn]:
        """The columns of a table or view. NoSuchTableError if there is none of the name."""
        rows = _rows(connection, "columns", schema, table_name)
        if not rows:
            raise exc.NoSuchTableError(table_name)
        return [
            {
                "name": row.column_name, "type": type_of(row.data_type), "nullable": row.is_nullable,
                "default": row.column_default, "comment": row.comment, "autoincrement": False,
            }
            for row in rows
        ]  # fmt: skip

    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **more: Any
    ) -> ReflectedPrimaryKeyConstraint:
        """The primary key of a table; one of no columns where there is none."""
        for row in _constraints(connection, schema, table_name, "PRIMARY KEY"):
            return {"constrained_columns": list(row.constraint_column_names), "name": row.constraint_name}
        return {"constrained_columns": [], "name": None}

    def get_unique_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **more: Any
    ) -> list[ReflectedUniqueConstraint]:
        """What is UNIQUE in a table."""
        rows = _constraints(connection, schema, table_name, "UNIQUE")
        return [{"column_names": list(row.constraint_column_names), "name": row.constraint_name} for row in rows]

    def get_check_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **more: Any
    ) -> list[ReflectedCheckConstraint]:
        """The CHECKs of a table."""
        rows = _constraints(connection, schema, table_name, "CHECK")
        return [{"sqltext": row.expression, "name": row.constraint_name} for row in rows]

    def get_foreign_keys(
        self, connection: Connection, table_name: str, schema: str | None = None, **more: Any
    ) -> list[ReflectedForeignKeyConstraint]:
        """The foreign keys of a table."""
        return [
            {
                "name": row.constraint_name, "constrained_columns": list(row.constraint_column_names),
                "referred_schema": schema, "referred_table": row.referenced_table,
                "referred_columns": list(row.referenced_column_names), "options": {},
            }
            for row in _constraints(connection, schema, table_name, "FOREIGN KEY")
        ]  # fmt: skip

    def get_indexes(
        self, connection: Connection, table_name: str, schema: str | None = None, **more: Any
    ) -> list[ReflectedIndex]:
        """The indexes of a table that were created as such."""
        return [
            {
                "name": row.index_name, "unique": row.is_unique,
                "column_names": [each.strip(" '\"") for each in row.expressions.strip("[]").split(",")],
            }
            for row in _rows(connection, "indexes", schema, table_name)
        ]  # fmt: skip

    def get_table_comment(
        self, connection: Connection, table_name: str, schema: str | None = None, **more: Any
    ) -> ReflectedTableComment:
        """What COMMENT has said of a table."""
        rows = _rows(connection, "tables", schema, table_name)
        return {"text": rows[0].comment if rows else None}

    def get_table_options(
        self, connection: Connection, table_name: str, schema: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """None: tables have none."""
        return {}


_NOT_OURS = frozenset(["information_schema", "pg_catalog"])
_SCHEMA = "coalesce(CAST(:schema AS VARCHAR), current_schema())"


def _rows(connection: Connection, of: str, schema: str | None, table: str | None = None) -> Sequence[Any]:
    """The rows of duckdb_tables() and the like in a schema, of a table if one is named; of all schemas for these."""
    words = [f"SELECT * FROM duckdb_{of}() WHERE database_name = current_database()"]
    if of != "schemas":
        words.append(f"AND schema_name = {_SCHEMA}")
    if table is not None:
        words.append("AND table_name = CAST(:table AS VARCHAR)")
    given = {"schema": schema, "table": table}
    asked = " ".join(words)
    return connection.execute(text(asked), {name: each for name, each in given.items() if f":{name}" in asked}).all()


def _views(connection: Connection, schema: str | None, kind: str) -> list[str]:
    found = schema or connection.execute(text("SELECT current_schema()")).scalar()
    rows = connection.execute(text("SHOW ALL TABLES")).all()
    return [row.name for row in rows if row.schema == found and row.kind == kind]


def _constraints(connection: Connection, schema: str | None, table: str, kind: str) -> list[Any]:
    return [row for row in _rows(connection, "constraints", schema, table) if row.constraint_type == kind]
