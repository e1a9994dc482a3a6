"""What ALTER TABLE makes of a table as it is declared. What becomes of its rows, and of views, is said elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ivm.catalog.errors import BindError
from ivm.catalog.names import key, suggestion, written
from ivm.catalog.schema import Default, Field, ForeignKey, Table, Unique
from ivm.catalog.types import SqlType


@dataclass(frozen=True, slots=True)
class AddColumn:
    """ADD COLUMN: a column behind the others. Rows that are there have its default."""

    field: Field
    default: Default | None = None
    unique: tuple[Unique, ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropColumn:
    """DROP COLUMN; with `cascade` the views that read it go too."""

    column: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """RENAME COLUMN `column` TO `name`."""

    column: str
    name: str


@dataclass(frozen=True, slots=True)
class Rename:
    """RENAME TO `name`, of a table or view."""

    name: str


@dataclass(frozen=True, slots=True)
class SetDefault:
    """SET DEFAULT; without one DROP DEFAULT."""

    column: str
    default: Default | None


@dataclass(frozen=True, slots=True)
class SetNullable:
    """DROP NOT NULL if `nullable`, else SET NOT NULL."""

    column: str
    nullable: bool


@dataclass(frozen=True, slots=True)
class SetType:
    """SET DATA TYPE: the values become what `using`, a text over the table's columns, computes of them."""

    column: str
    type: SqlType
    using: str


@dataclass(frozen=True, slots=True)
class AddKey:
    """ADD PRIMARY KEY if `is_primary`, else ADD UNIQUE."""

    unique: Unique
    is_primary: bool


Alteration = AddColumn | DropColumn | RenameColumn | Rename | SetDefault | SetNullable | SetType | AddKey


@dataclass(frozen=True, slots=True)
class Altered:
    """A table as it was and as it becomes; `taken` says of each new column which old one it is, by its place.

    None: a column that is new; rows that are there have its default.
    """

    old: Table
    table: Table
    taken: tuple[int | None, ...]

    @property
    def has_other_columns(self) -> bool:
        """Whether what is kept of rows is something else than before, or found by another key."""
        return self.taken != tuple(range(len(self.old.fields))) or _stored(self.old) != _stored(self.table)

    @property
    def only_adds(self) -> bool:
        """Whether all that is kept of rows stays as it is, and new columns come behind it."""
        old, table, width = self.old, self.table, len(self.old.fields)
        stay = self.taken[:width] == tuple(range(width)) and _stored(old) == _stored(table, width)
        return stay and len(self.taken) > width and set(old.unique_constraints) == set(table.unique_constraints)

    @property
    def is_stored_anew(self) -> bool:
        """Whether views that read the table are to be planned again."""
        return self.has_other_columns and not self.only_adds

    @property
    def is_read_otherwise(self) -> bool:
        """Whether what views know of the table is something else: all but the defaults of its columns, and indexes."""
        old, table = (replace(each, defaults=(), indexes=()) for each in (self.old, self.table))
        return old != table

    def then(self, after: Altered) -> Altered:
        """This, and then another."""
        taken = tuple(None if place is None else self.taken[place] for place in after.taken)
        return Altered(self.old, after.table, taken)

    @property
    def new(self) -> tuple[Field, ...]:
        """The columns that are new."""
        return tuple(field for field, old in zip(self.table.fields, self.taken, strict=True) if old is None)

    def now(self, column: str) -> str | None:
        """How a column of before is called now; None: it is gone."""
        place = self.old.index(column)
        return self.table.fields[self.taken.index(place)].name if place in self.taken else None


def altered(table: Table, change: Alteration) -> Altered | None:
    """What becomes of a table; None: nothing, as IF EXISTS or IF NOT EXISTS allows.

    BindError where that is not possible. Nothing is known here of rows, nor of what else names the table.
    """
    same = tuple[int | None, ...](range(len(table.fields)))
    match change:
        case AddColumn():
            return _with_column(table, change)
        case DropColumn():
            return _without_column(table, change)
        case RenameColumn():
            return Altered(table, _renamed(table, change), same)
        case Rename():
            keys = tuple(
                replace(each, table=change.name) if key(each.table) == key(table.name) else each
                for each in table.foreign_keys
            )
            return Altered(table, replace(table, name=change.name, foreign_keys=keys), same)
        case SetDefault():
            field = column_of(table, change.column)
            if any(each.column == field.name for each in table.generated):
                raise BindError(f"{_what(table)}: column {field.name!r} is generated, and can have no DEFAULT")
            rest = tuple(each for each in table.defaults if each.column != field.name)
            more = () if change.default is None else (replace(change.default, column=field.name),)
            return Altered(table, replace(table, defaults=(*rest, *more)), same)
        case SetNullable():
            field = column_of(table, change.column)
            if change.nullable and field.name in table.primary_key:
                raise BindError(f"{_what(table)}: column {field.name!r} is of its PRIMARY KEY, which has no NULL")
            return Altered(table, _with_field(table, field, replace(field, nullable=change.nullable)), same)
        case SetType():
            return Altered(table, _retyped(table, change), same)
        case AddKey():
            return Altered(table, _with_key(table, change), same)


def column_of(table: Table, column: str) -> Field:
    """The column of a table; BindError if there is none."""
    names = [field.name for field in table.fields]
    found = written(column, names)
    if found is None:
        raise BindError(f"{_what(table)}: it has no column {column!r}{suggestion(column, names)}")
    return table.fields[table.index(found)]


def renamed_keys(table: Table, change: Altered) -> Table:
    """Another table, whose foreign keys name what has another name now."""
    return replace(table, foreign_keys=tuple(_renamed_key(each, change) for each in table.foreign_keys))


def _renamed_key(given: ForeignKey, change: Altered) -> ForeignKey:
    if key(given.table) != key(change.old.name):
        return given
    referenced = tuple(change.now(name) or name for name in given.referenced)
    return replace(given, table=change.table.name, referenced=referenced)


def _stored(table: Table, width: int | None = None) -> tuple[object, ...]:
    """What decides how rows are kept: of the first columns, or of all."""
    return tuple(field.type for field in table.fields[:width]), table.key_indexes


def _what(table: Table) -> str:
    return f"cannot alter table {table.name!r}"


def _with_column(table: Table, change: AddColumn) -> Altered | None:
    if written(change.field.name, (field.name for field in table.fields)) is not None:
        if change.if_not_exists:
            return None
        raise BindError(f"{_what(table)}: it has a column {change.field.name!r}; choose another name")
    defaults = table.defaults if change.default is None else (*table.defaults, change.default)
    made = replace(
        table, fields=(*table.fields, change.field), defaults=defaults, unique=(*table.unique, *change.unique)
    )
    return Altered(table, made, (*range(len(table.fields)), None))


def _without_column(table: Table, change: DropColumn) -> Altered | None:
    known = [field.name for field in table.fields]
    if change.if_exists and written(change.column, known) is None:
        return None
    name = column_of(table, change.column).name
    what = f"{_what(table)}: column {name!r} cannot be dropped, since"
    if len(known) == 1:
        raise BindError(f"{what} it is the only one; drop the table")
    _check_unused(table, name, what)
    made = replace(
        table,
        generated=tuple(each for each in table.generated if each.column != name),
        fields=tuple(field for field in table.fields if field.name != name),
        defaults=tuple(each for each in table.defaults if each.column != name),
    )
    return Altered(table, made, tuple(place for place, each in enumerate(known) if each != name))


def _check_unused(table: Table, name: str, what: str) -> None:
    """BindError if the key, a constraint, or where rows are depends on a column."""
    if name in table.primary_key:
        raise BindError(f"{what} it is of the PRIMARY KEY; create another table")
    for unique in table.unique:
        if name in unique.columns:
            raise BindError(f"{what} {unique} depends on it; create another table")
    for index in table.indexes:
        if name in index.columns:
            raise BindError(f"{what} index {index.name!r} is of it; DROP INDEX {index.name} first")
    for each in table.foreign_keys:
        if name in each.columns:
            raise BindError(f"{what} the foreign key ({', '.join(each.columns)}) has it; create another table")
    if name in table.partitioned_by:
        raise BindError(f"{what} the table is PARTITIONED BY it; create another table")


def _renamed(table: Table, change: RenameColumn) -> Table:
    field = column_of(table, change.column)
    others = [each.name for each in table.fields if each is not field]
    if written(change.name, others) is not None:
        raise BindError(f"{_what(table)}: it has a column {change.name!r}; choose another name")

    def called(columns: Sequence[str]) -> tuple[str, ...]:
        return tuple(change.name if column == field.name else column for column in columns)

    made = _with_field(table, field, replace(field, name=change.name))
    return replace(
        made,
        primary_key=called(table.primary_key),
        foreign_keys=tuple(
            replace(
                each,
                columns=called(each.columns),
                referenced=called(each.referenced) if key(each.table) == key(table.name) else each.referenced,
            )
            for each in table.foreign_keys
        ),
        unique=tuple(replace(each, columns=called(each.columns)) for each in table.unique),
        defaults=tuple(replace(each, column=called((each.column,))[0]) for each in table.defaults),
        generated=tuple(replace(each, column=called((each.column,))[0]) for each in table.generated),
        indexes=tuple(replace(each, columns=called(each.columns)) for each in table.indexes),
        partitioned_by=called(table.partitioned_by),
    )


def _retyped(table: Table, change: SetType) -> Table:
    field = column_of(table, change.column)
    what = f"{_what(table)}: the type of column {field.name!r} cannot be changed, since"
    _check_unused(table, field.name, what)
    return _with_field(table, field, replace(field, type=change.type))


def _with_key(table: Table, change: AddKey) -> Table:
    columns = tuple(column_of(table, column).name for column in change.unique.columns)
    if not change.is_primary:
        return replace(table, unique=(*table.unique, replace(change.unique, columns=columns)))
    if table.primary_key:
        raise BindError(f"{_what(table)}: it has a PRIMARY KEY, ({', '.join(table.primary_key)}), and can have but one")
    fields = tuple(replace(each, nullable=each.nullable and each.name not in columns) for each in table.fields)
    return replace(table, primary_key=columns, fields=fields)


def _with_field(table: Table, old: Field, new: Field) -> Table:
    return replace(table, fields=tuple(new if field is old else field for field in table.fields))
