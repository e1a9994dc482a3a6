"""How statements that define tables are written: as for Postgres, but for what the engine has in another way."""

from __future__ import annotations

from typing import Any

from sqlalchemy.dialects.postgresql.base import PGDDLCompiler, PGTypeCompiler
from sqlalchemy.schema import Column


class Definitions(PGDDLCompiler):
    """CREATE and DROP. A key that counts by itself has a sequence, which comes and goes with its table."""

    def get_column_specification(self, column: Column[Any], **more: Any) -> str:
        """A column with its type, default and NOT NULL."""
        words = [self.preparer.format_column(column), self.dialect.type_compiler_instance.process(column.type)]
        default = self.get_column_default_string(column)
        if default is None and _counts(column):
            default = f"nextval('{_sequence(column)}')"
        if column.computed is not None:
            words.append(self.process(column.computed))
        elif default is not None:
            words.append(f"DEFAULT {default}")
        if not column.nullable:
            words.append("NOT NULL")
        return " ".join(words)

    def visit_create_table(self, create: Any, **more: Any) -> str:
        """CREATE TABLE, after the sequence that its key may need."""
        counting = [
            f"CREATE SEQUENCE IF NOT EXISTS {_sequence(each)};" for each in create.element.columns if _counts(each)
        ]
        return "\n".join((*counting, super().visit_create_table(create, **more)))  # type: ignore[no-untyped-call]

    def visit_drop_table(self, drop: Any, **more: Any) -> str:
        """DROP TABLE, and then the sequence of its key."""
        counting = [f"; DROP SEQUENCE IF EXISTS {_sequence(each)}" for each in drop.element.columns if _counts(each)]
        return "".join((super().visit_drop_table(drop, **more), *counting))  # type: ignore[no-untyped-call]


class Types(PGTypeCompiler):
    """The names of types."""

    def visit_JSONB(self, type_: Any, **more: Any) -> str:
        """JSON of either kind is one."""
        return "JSON"

    def visit_BYTEA(self, type_: Any, **more: Any) -> str:
        """Bytes."""
        return "BLOB"


def _counts(column: Column[Any]) -> bool:
    return column.table._autoincrement_column is column and column.default is None and column.server_default is None


def _sequence(column: Column[Any]) -> str:
    table = column.table
    name = f"{table.name}_{column.name}_seq"
    return f'"{name}"' if table.schema is None else f'"{table.schema}"."{name}"'
