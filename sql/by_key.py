"""UPDATE and DELETE of the one row of a primary key, where literals say all: what texts of one form share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sqlglot import exp

from catalog.names import key, twice
from catalog.schema import Field, Table
from catalog.types import Kind
from sql.ir.scalar import Value
from sql.plain_insert import NULL, Written, is_exact, value_of

_Read = Callable[[Sequence[str]], Written]
"""Makes of the literals of a text, in their order, a value as it is written there."""
_TYPED = {exp.DataType.Type.DATE: "DATE", exp.DataType.Type.TIMESTAMP: "TIMESTAMP"}
_KEYS = {kind for kind in Kind if kind.bits} - {Kind.HUGEINT} | {Kind.VARCHAR, Kind.DATE, Kind.DECIMAL}


class _Places(NamedTuple):
    """Of the table that a statement was given for last what is read, in the order of its key, and where it belongs."""

    table: Table
    key: Sequence[tuple[_Read, Field]]
    values: Sequence[tuple[int, _Read, Field]]


class ByKey:
    """UPDATE `table` SET column = literal, .. WHERE column = literal AND .., or DELETE where `values` is None."""

    def __init__(self, table: str, wanted: Mapping[str, _Read], values: Mapping[str, _Read] | None) -> None:
        self.table = table
        self.deletes = values is None
        self._wanted, self._values = wanted, values or {}
        self._known: tuple[Table, _Places | None] | None = None

    def said(self, table: Table, literals: Sequence[str]) -> tuple[list[Value], dict[int, Value]] | None:
        """The key, and by their places the other columns that get values, in physical form.

        None where that is not the row of a key, or it is not certain what DuckDB makes of a literal.
        """
        known = self._known
        if known is None or known[0] is not table:
            known = self._known = table, self._places(table)
        places = known[1]
        if places is None:
            return None
        try:
            wanted = [_key_value(read(literals), field) for read, field in places.key]
            return wanted, {place: value_of(read(literals), field.type) for place, read, field in places.values}
        except ValueError:
            return None

    def _places(self, table: Table) -> _Places | None:
        fields = {key(field.name): (place, field) for place, field in enumerate(table.fields)}
        names = [key(name) for name in table.primary_key]
        wanted = {key(name): read for name, read in self._wanted.items()}
        changed = {key(name): read for name, read in self._values.items()}
        if wanted.keys() != set(names) or not changed.keys() <= fields.keys() - set(names):
            return None
        if any(fields[name][1].type.kind not in _KEYS for name in names):
            return None
        values = [(*fields[name], read) for name, read in changed.items()]
        return _Places(
            table,
            [(wanted[name], fields[name][1]) for name in names],
            [(place, read, field) for place, field, read in values],
        )


def by_key(tree: exp.Expr, literals: Sequence[exp.Expr]) -> ByKey | None:
    """The form of a statement whose literals are these nodes; None if it says anything else."""
    place_of = {id(node): place for place, node in enumerate(literals)}
    where = tree.args.get("where")
    is_update = isinstance(tree, exp.Update)
    table = tree.this
    if not (is_update or isinstance(tree, exp.Delete)) or where is None or tree.args.get("returning"):
        return None
    if not isinstance(table, exp.Table) or table.args.get("alias"):
        return None
    wanted = _equalities(list(_conditions(where.this)), place_of)
    values = _equalities(tree.expressions, place_of) if is_update else None
    if wanted is None or (is_update and not values):
        return None
    return ByKey(table.name, wanted, values)


def _conditions(node: exp.Expr) -> list[exp.Expr]:
    while isinstance(node, exp.Paren):
        node = node.this
    return [*_conditions(node.this), *_conditions(node.expression)] if isinstance(node, exp.And) else [node]


def _equalities(nodes: Sequence[exp.Expr], place_of: Mapping[int, int]) -> dict[str, _Read] | None:
    """What is read for each column; None if some node is not the equality of a column and a literal."""
    found: dict[str, _Read] = {}
    for node in nodes:
        column = node.this if isinstance(node, exp.EQ) else None
        read = None if column is None else _read(node.expression, place_of)
        if not isinstance(column, exp.Column) or column.table or read is None:
            return None
        found[column.name] = read
    return found if len(found) == len(nodes) and not twice(list(found)) else None


def _read(node: exp.Expr, place_of: Mapping[int, int]) -> _Read | None:
    place = place_of.get(id(node))
    match node:
        case exp.Paren():
            return _read(node.this, place_of)
        case exp.Null():
            return lambda _: NULL
        case exp.Boolean():
            word = "TRUE" if node.this else "FALSE"
            return lambda _: (None, None, None, word)
        case exp.Literal(is_string=True) if place is not None:
            return lambda literals: (None, None, literals[place], None)
        case exp.Literal() if place is not None:
            return lambda literals: (literals[place], None, None, None)
        case exp.Neg(this=exp.Literal(is_string=False) as number) if id(number) in place_of:
            after = place_of[id(number)]
            return lambda literals: (f"-{literals[after]}", None, None, None)
        case exp.Cast(this=exp.Literal(is_string=True) as text) if type(node) is exp.Cast:
            return _cast(place_of.get(id(text)), node.to, place_of)
    return None


def _cast(text: int | None, target: exp.DataType, place_of: Mapping[int, int]) -> _Read | None:
    """A text that is cast to a day, a moment or a number."""
    digits = [place_of.get(id(each.this)) for each in target.expressions]
    typed = _TYPED.get(target.this)
    if text is None:
        return None
    if typed is not None and not digits:
        return lambda literals: (None, typed, literals[text], None)
    if target.this is not exp.DataType.Type.DECIMAL or len(digits) != 2 or None in digits:
        return None
    precision, scale = digits

    def read(literals: Sequence[str]) -> Written:
        assert precision is not None, "it was looked at"
        assert scale is not None, "it was looked at"
        if not is_exact(literals[text], int(literals[precision]), int(literals[scale])):
            raise ValueError(literals[text])
        return None, "DECIMAL", literals[text], None

    return read


def _key_value(written: Written, field: Field) -> Value:
    """The value that a key is compared with; ValueError where it may be compared in another type."""
    number, typed, quoted, _ = written
    is_text = quoted is not None and typed is None
    if not is_text and (field.type.kind is Kind.VARCHAR or (number is not None and "e" in number.lower())):
        raise ValueError(written)
    value = value_of(written, field.type)
    if value is None:
        raise ValueError(written)
    return value
