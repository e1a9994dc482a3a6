"""CREATE TABLE: columns, keys and which keys are checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from sqlglot import exp
from sqlglot.errors import SqlglotError

from ivm.catalog.errors import UnsupportedError
from ivm.catalog.names import key, written
from ivm.catalog.schema import Check, Default, Field, ForeignKey, Generated, Table, Unique
from ivm.catalog.types import INTEGER, VARCHAR, SqlType, collated
from ivm.sql.bind.check_condition import bind_condition, bind_generated
from ivm.sql.duckdb_text import duckdb_text
from ivm.sql.sql_text import SqlText, text_of
from ivm.sql.statements import CreateTable
from ivm.sql.tree import nodes_of, table_name
from ivm.sql.types.calendar import Interval, interval
from ivm.sql.types.collations import KNOWN, collation_named
from ivm.sql.types.declared import declared_type

CHECK_FOREIGN_KEYS = "check_foreign_keys"
APPEND_ONLY = "append_only"
STATIC = "static"
RETENTION, RETENTION_COLUMN = RETAINING = ("retention", "retention_column")
OPTIONS = (CHECK_FOREIGN_KEYS, APPEND_ONLY, STATIC)
"""What may be set in WITH (name = true, ...)."""
_NO_ACTIONS = tuple(f"ON {change} {action}" for change in ("DELETE", "UPDATE") for action in ("NO ACTION", "RESTRICT"))
"""What may stand behind REFERENCES, since it is so without it."""


@dataclass(slots=True)
class _Declaration:
    """What has been read of a table so far."""

    name: str
    fields: list[Field] = field(default_factory=list)
    primary_key: tuple[str, ...] = ()
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    unique: list[Unique] = field(default_factory=list)
    checks: list[tuple[str, exp.Expr]] = field(default_factory=list)
    defaults: list[Default] = field(default_factory=list)
    generated: dict[str, tuple[exp.Expr, SqlType | None]] = field(default_factory=dict)


def create_table(tree: exp.Create, source: SqlText, dialect: str) -> CreateTable:
    """The table that `tree` declares.

    Read are columns with their types, NOT NULL and DEFAULT, and, in the column or at the table's end, PRIMARY KEY
    (which implies NOT NULL), UNIQUE, CHECK and REFERENCES. A foreign key is knowledge that the optimizer may use, and
    is not checked: changes may come in any order. `CREATE TABLE t (...) WITH (check_foreign_keys = true)` has all
    foreign keys of t checked at each commit; `append_only = true` refuses to delete or replace rows, `static = true` to
    change any that a maintained view reads. `PARTITIONED BY (columns)` or `REPLICATED`, behind the columns, say where
    its rows are in a database over shards; for others they mean nothing. `retention = '7 days'` with
    `retention_column = 'ts'` ends rows whose ts is longer ago. Generated columns are computed of the others.
    UnsupportedError for what else may be declared (STORED, ...); BindError for a contradiction.
    """
    if not isinstance(tree.this, exp.Schema):
        source.misread(tree.this, "CREATE TABLE needs its columns, or AS SELECT ...; write them after the name")
    declaration = _Declaration(table_name(tree.this.this, source, "CREATE TABLE"))
    for item in tree.this.expressions:
        if isinstance(item, exp.ColumnDef):
            _read_column(declaration, item, source)
        else:
            _read_constraint(declaration, item, source)
    options, primary_key = _options(tree, source), declaration.primary_key
    table = Table(
        declaration.name,
        tuple(replace(f, nullable=f.nullable and not written(f.name, primary_key)) for f in declaration.fields),
        primary_key,
        tuple(replace(key, enforced=CHECK_FOREIGN_KEYS in options) for key in declaration.foreign_keys),
        APPEND_ONLY in options,
        STATIC in options,
        tuple(declaration.unique),
        defaults=tuple(declaration.defaults),
        partitioned_by=_partitioned_by(tree, declaration, source),
        replicated=any(isinstance(item, exp.Var) for item in _properties(tree)),
        temporary=any(isinstance(item, exp.TemporaryProperty) for item in _properties(tree)),
    )
    retention, retention_column = _retention(tree, table, source)
    table = replace(table, retention=retention, retention_column=retention_column)
    if table.replicated and table.partitioned_by:
        source.fail(tree, f"CREATE TABLE {table.name}: it is REPLICATED or PARTITIONED BY columns; leave one out")
    if declaration.generated:
        table = _with_generated(declaration, table, source)
    table = replace(table, checks=_checks(declaration, table, source, dialect))
    return CreateTable(table, bool(tree.args.get("exists")), bool(tree.args.get("replace")))


def table_like(name: str, columns: Sequence[tuple[str, str]], *, temporary: bool = False) -> Table:
    """The table of columns that DuckDB calls so and says to be of these types; one of nothing but NULL is an INTEGER.

    UnsupportedError for a type that a table does not hold.
    """
    fields = []
    for column, type_ in columns:
        what = f"CREATE TABLE {name}: column {column!r}"
        try:
            kind = exp.DataType.build(type_.replace('"NULL"', "INTEGER"), dialect="duckdb")
        except SqlglotError as error:
            raise UnsupportedError(f"{what} has type {type_}, which is not supported; cast it to another") from error
        fields.append(Field(column, declared_type(kind, SqlText(""), what)))
    return Table(name, tuple(fields), temporary=temporary)


def _checks(declaration: _Declaration, table: Table, source: SqlText, dialect: str) -> tuple[Check, ...]:
    for _, node in declaration.checks:
        if dialect == "duckdb":  # any other is read once more when it is DuckDB's
            bind_condition(node, table, source)
    return tuple(Check(duckdb_text(node), name) for name, node in declaration.checks)


def _read_column(declaration: _Declaration, item: exp.ColumnDef, source: SqlText) -> None:
    name, generated = item.name, [each for each in item.constraints if _value_of(each.kind) is not None]
    if generated:
        _read_generated(declaration, item, generated[0].kind, source)
        return
    what = f"CREATE TABLE {declaration.name}: column {name!r}"
    if not isinstance(item.kind, exp.DataType):
        source.fail(item, f"{what} has no type; write one after the name")
    type_ = declared_type(item.kind, source, what, item)
    nullable = True
    for constraint in item.constraints:
        kind = constraint.kind
        if isinstance(kind, exp.NotNullColumnConstraint):
            nullable = bool(kind.args.get("allow_null"))
        elif isinstance(kind, exp.PrimaryKeyColumnConstraint):
            _set_primary_key(declaration, (name,), source, item)
        elif isinstance(kind, exp.Reference):
            declaration.foreign_keys.append(_foreign_key(declaration, (name,), kind, source))
        elif isinstance(kind, exp.DefaultColumnConstraint):
            _set_default(declaration, name, kind.this, source)
        elif isinstance(kind, exp.CheckColumnConstraint):
            declaration.checks.append((constraint.name, kind.this))
        elif isinstance(kind, exp.CollateColumnConstraint):
            type_ = _collated(what, type_, kind.this, source)
        elif isinstance(kind, exp.UniqueColumnConstraint) and not kind.this:
            declaration.unique.append(Unique((name,), constraint.name))
        else:
            _refuse(declaration, kind, source, item)
    declaration.fields.append(Field(name, type_, nullable))


def _collated(what: str, type_: SqlType, node: exp.Expr, source: SqlText) -> SqlType:
    if type_ != VARCHAR:
        source.fail(node, f"{what} has a collation, which is of texts, not of {type_}; leave it out")
    collation = collation_named(node)
    if collation is None:
        source.refuse(node, f"{what} has the collation {node.sql()}, which is not supported; {KNOWN} are")
    return collated(type_, collation)


def _value_of(kind: exp.Expr) -> exp.Expr | None:
    """What a column always holds, if this says so."""
    if isinstance(kind, exp.GeneratedAsIdentityColumnConstraint):
        return kind.expression
    return kind.this if isinstance(kind, exp.ComputedColumnConstraint) else None


def _read_generated(declaration: _Declaration, item: exp.ColumnDef, kind: exp.Expr, source: SqlText) -> None:
    what = f"CREATE TABLE {declaration.name}: column {item.name!r}"
    if len(item.constraints) > 1:
        what += " is generated, and can have no constraint or DEFAULT"
        source.refuse(item, f"{what}; write CHECK at the table's end")
    if isinstance(kind, exp.ComputedColumnConstraint) and not isinstance(kind.this, exp.Paren):
        source.refuse(item, f"{what} is generated by what stands in parentheses; leave out what follows them")
    if kind.args.get("persisted"):
        source.refuse(item, f"{what} is generated, which STORED and PERSISTED say nothing of; leave the word out")
    type_ = None
    if isinstance(item.kind, exp.DataType):
        type_ = declared_type(item.kind, source, what, item)
    value = _value_of(kind)
    assert value is not None, "it is generated"
    declaration.generated[item.name] = value.unnest(), type_
    declaration.fields.append(Field(item.name, type_ or INTEGER))


def _with_generated(declaration: _Declaration, table: Table, source: SqlText) -> Table:
    """The table with its generated columns, each computed of those that are not: what others compute stands in it."""
    own = {key(name): name for name in declaration.generated}
    values: dict[str, exp.Expr] = {}

    def value(name: str, above: tuple[str, ...]) -> exp.Expr:
        node, type_ = declaration.generated[name]
        what = f"CREATE TABLE {table.name}: generated column {name!r}"
        if name in above:
            source.fail(node, f"{what} depends on itself; break the circle")
        if name not in values:
            node = node.copy()
            for column in [each for each in nodes_of(node) if isinstance(each, exp.Column)]:
                other = own.get(key(column.name))
                if other is not None:
                    inner = exp.Paren(this=value(other, (*above, name)).copy())
                    node = inner if column is node else node
                    column.replace(inner)
            bound = bind_generated(node, replace(table, fields=given), source)
            found = bound.type if type_ in (None, bound.type) else type_  # which may have a collation
            types[name] = found
            values[name] = exp.cast(node.copy(), exp.DataType.build(str(found), dialect="duckdb"), dialect="duckdb")
        return values[name]

    given = tuple(each for each in table.fields if each.name not in declaration.generated)
    types: dict[str, SqlType] = {}
    generated = tuple(Generated(name, duckdb_text(value(name, ()))) for name in declaration.generated)
    fields = tuple(replace(each, type=types.get(each.name, each.type)) for each in table.fields)
    for name in (*table.primary_key, *(c for u in table.unique for c in u.columns), *table.partitioned_by):
        if key(name) in own:
            what = f"CREATE TABLE {table.name}: {name!r} is generated, and cannot be of a key"
            source.fail(declaration.generated[own[key(name)]][0], what)
    return replace(table, fields=fields, generated=generated)


def _set_default(declaration: _Declaration, column: str, value: exp.Expr, source: SqlText) -> None:
    what = f"CREATE TABLE {declaration.name}: DEFAULT of column {column!r}"
    if any(default.column == column for default in declaration.defaults):
        source.fail(value, f"{what} is declared twice; declare it once")
    nodes = nodes_of(value)
    for node in nodes:
        if isinstance(node, exp.Query | exp.Subquery | exp.Exists | exp.Column | exp.Star):
            said = "reads other columns" if isinstance(node, exp.Column | exp.Star) else "holds a subquery"
            source.fail(node, f"{what} {said}; a default is computed from nothing else")
    constant = not any(isinstance(node, exp.Func) and not isinstance(node, exp.Cast) for node in nodes)
    declaration.defaults.append(Default(column, duckdb_text(value), constant))


def _read_constraint(declaration: _Declaration, item: exp.Expr, source: SqlText, name: str = "") -> None:
    if isinstance(item, exp.Constraint):
        for inner in item.expressions:
            _read_constraint(declaration, inner, source, item.name)
    elif isinstance(item, exp.CheckColumnConstraint):
        declaration.checks.append((name, item.this))
    elif isinstance(item, exp.UniqueColumnConstraint) and isinstance(item.this, exp.Schema):
        declaration.unique.append(Unique(_columns(item.this), name))
    elif isinstance(item, exp.PrimaryKey):
        _set_primary_key(declaration, _columns(item), source, item)
    elif isinstance(item, exp.ForeignKey):
        if item.args.get("delete") or item.args.get("update"):
            _refuse(declaration, item, source, item)
        key = _foreign_key(declaration, _columns(item), item.args["reference"], source)
        declaration.foreign_keys.append(key)
    else:
        _refuse(declaration, item, source, item)


def _set_primary_key(declaration: _Declaration, columns: tuple[str, ...], source: SqlText, node: exp.Expr) -> None:
    if declaration.primary_key:
        what = f"CREATE TABLE {declaration.name} has two primary keys; write one PRIMARY KEY (a, b) at the table's end"
        source.fail(node, what)
    declaration.primary_key = columns


def _foreign_key(
    declaration: _Declaration, columns: tuple[str, ...], reference: exp.Reference, source: SqlText
) -> ForeignKey:
    if any(option not in _NO_ACTIONS for option in reference.args.get("options") or ()):
        _refuse(declaration, reference, source, reference)
    target = reference.this
    referenced = _columns(target) if isinstance(target, exp.Schema) else ()
    table = table_name(target.this if isinstance(target, exp.Schema) else target, source, "REFERENCES")
    return ForeignKey(columns, table, referenced)


def _columns(node: exp.Expr) -> tuple[str, ...]:
    return tuple(column.name for column in node.expressions)


def _refuse(declaration: _Declaration, node: exp.Expr, source: SqlText, at: exp.Expr) -> NoReturn:
    text = text_of(node)
    known = "NOT NULL, DEFAULT, CHECK, UNIQUE, PRIMARY KEY and REFERENCES are"
    if isinstance(node, exp.GeneratedAsIdentityColumnConstraint):
        known = "CREATE SEQUENCE s and DEFAULT nextval('s') are"
    what = f"CREATE TABLE {declaration.name}: {text} is not supported; {known}"
    source.refuse(at, what)


def _options(tree: exp.Create, source: SqlText) -> frozenset[str]:
    """Those of `OPTIONS` that are set to true."""
    values: dict[str, bool] = {}
    for item in _properties(tree):
        if isinstance(item, exp.PartitionedByProperty | exp.TemporaryProperty | exp.Var):
            continue
        if isinstance(item, exp.OnCommitProperty) and not item.args.get("delete"):
            continue  # what DuckDB's TEMP tables do anyhow
        name, value = key(item.name), item.args.get("value")
        if name in RETAINING:
            continue
        if not isinstance(item, exp.Property) or name not in OPTIONS:
            known = ", ".join(f"{option} = true" for option in OPTIONS)
            source.refuse(tree, f"CREATE TABLE with {text_of(item)} is not supported; WITH ({known}) is, each of them")
        if not isinstance(value, exp.Boolean):
            source.fail(tree, f"{name} must be true or false")
        values[name] = bool(value.this)
    return frozenset(name for name, wanted in values.items() if wanted)


def _retention(tree: exp.Create, table: Table, source: SqlText) -> tuple[str, str]:
    """For how long rows stay, and by which column; empty where nothing is said of that."""
    given = {key(item.name): item.args.get("value") for item in _properties(tree) if key(item.name) in RETAINING}
    if not given:
        return "", ""
    what = f"CREATE TABLE {table.name}: retention"
    texts = {name: each.name for name, each in given.items() if isinstance(each, exp.Literal) and each.is_string}
    if texts.keys() != set(RETAINING):
        source.fail(tree, f"{what} needs WITH (retention = '7 days', retention_column = 'ts')")
    column = written(texts[RETENTION_COLUMN], [field.name for field in table.fields])
    if column is None or not table.fields[table.index(column)].type.is_moment:
        source.fail(tree, f"{what}_column {texts[RETENTION_COLUMN]!r} is no column of type DATE or TIMESTAMP; name one")
    try:
        length = interval(texts[RETENTION])
    except ValueError as error:
        source.fail(tree, f"{what}: {error}")
    if min(length.months, length.days, length.micros) < 0 or length == Interval():
        source.fail(tree, f"{what} {texts[RETENTION]!r} is not over zero; give a length of time such as '7 days'")
    if table.append_only or table.static:
        source.fail(tree, f"{what} deletes rows, and it is declared append_only or static; leave one of them out")
    return texts[RETENTION], column


def _properties(tree: exp.Create) -> Sequence[exp.Expr]:
    """What stands behind the columns."""
    properties = tree.args.get("properties")
    return properties.expressions if properties else ()


def _partitioned_by(tree: exp.Create, declaration: _Declaration, source: SqlText) -> tuple[str, ...]:
    """The columns of PARTITIONED BY, as they were declared."""
    names = [field.name for field in declaration.fields]
    found: list[str] = []
    for item in _properties(tree):
        for column in item.this.expressions if isinstance(item, exp.PartitionedByProperty) else ():
            known = written(column.name, names)
            if not isinstance(column, exp.Identifier | exp.Column) or known is None:
                what = f"CREATE TABLE {declaration.name}: PARTITIONED BY {text_of(column)}"
                source.fail(tree, f"{what} names no column of it; name columns, without types")
            found.append(known)
    return tuple(found)
