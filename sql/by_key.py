"""UPDATE and DELETE of the one row of a primary key, where literals say all: what texts of one form share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from ivm.catalog.names import key, twice
from ivm.catalog.schema import Field, Table
from ivm.catalog.types import Kind
from ivm.sql.ir.scalar import Value
from ivm.sql.plain_literals import NULL, Written, is_exact, value_of

_Read = Callable[[Sequence[str]], Written]
"""Makes of the literals of a text, in their order, a value as it is written there."""
_TYPED = {
    exp.DType.DATE: Kind.DATE,
    exp.DType.TIMESTAMPNTZ: Kind.TIMESTAMP,
    exp.DType.TIMESTAMPTZ: Kind.TIMESTAMPTZ,
    exp.DType.TIME: Kind.TIME,
    exp.DType.UUID: Kind.UUID,
}
_KEYS = {kind for kind in Kind if kind.bits} - {Kind.HUGEINT} | {Kind.VARCHAR, Kind.DATE, Kind.DECIMAL, Kind.UUID}


_Reads = Sequence[tuple[int, _Read, Field]]
"""By the places of columns in a table what is read for them."""


class ByKey:
    """UPDATE `table` SET column = literal, .. WHERE column = literal AND .., or DELETE, without `values`."""

    def __init__(self, table: str, wanted: Mapping[str, _Read], values: Mapping[str, _Read] | None) -> None:
        self.table = table
        self._wanted, self._values = wanted, values
        self._known: tuple[Table, tuple[_Reads, _Reads] | None] | None = None

    def said(self, table: Table, literals: Sequence[str]) -> tuple[dict[int, Value], dict[int, Value] | None] | None:
        """The columns of the key, in its order, and those that get other values, None where the row goes; by their
        places, in physical form.

        None where that is not the row of a key, or it is not certain what DuckDB makes of a literal.
        """
        known = self._known
        if known is None or known[0] is not table:
            known = self._known = table, self._reads(table)
        if known[1] is None:
            return None
        wanted, values = known[1]
        try:
            key = {place: _key_value(read(literals), field) for place, read, field in wanted}
            after = {place: value_of(read(literals), field.type) for place, read, field in values}
        except ValueError:
            return None
        return key, None if self._values is None else after

    def _reads(self, table: Table) -> tuple[_Reads, _Reads] | None:
        """What is read for the key, and for other columns; None where it is another key, or of types that are not."""
        places = {key(field.name): place for place, field in enumerate(table.fields)}
        wanted, values = (
            {places.get(key(name), -1): read for name, read in each.items()}
            for each in (self._wanted, self._values or {})
        )
        keys = table.key_indexes
        if wanted.keys() != set(keys) or values.keys() & {-1, *keys}:
            return None
        if any(table.fields[place].type.kind not in _KEYS or table.fields[place].type.collation for place in keys):
            return None
        return (
            [(place, wanted[place], table.fields[place]) for place in keys],
            [(place, read, table.fields[place]) for place, read in values.items()],
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
        return lambda literals: (None, typed.name, literals[text], None)
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
