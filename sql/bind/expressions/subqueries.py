"""Subqueries in expressions: as a value, EXISTS, IN, and comparisons with ANY and ALL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from ivm.catalog.types import BIGINT, BOOLEAN, NULL, list_of, struct_of
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.comparisons import FUNCTIONS, bind_between, bind_comparison, bind_in, parts_of, same_type
from ivm.sql.bind.expressions.nested import Subqueries
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.names.scope import OuterRow, seen_from_inside, without_column
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.aggregates import AggregateOrder
from ivm.sql.ir.conditions import coalesced, comparison, conjuncts, is_null, junction, negation, truth
from ivm.sql.ir.functions import NEGATED, function_of
from ivm.sql.ir.relation import Filter, Reduce, Relation
from ivm.sql.ir.scalar import FALSE, Call, Column, Literal, Scalar
from ivm.sql.tree import clauses_around


@dataclass(frozen=True, slots=True)
class _Compared:
    """A row of values and a subquery: `values` over the block's row, `sought` over the subquery's rows.

    `inner` are the values as they are seen from the subquery, whose Apply has the number `binding`.
    """

    subqueries: Subqueries
    node: exp.Expr
    binding: int
    relation: Relation
    values: tuple[Scalar, ...]
    sought: tuple[Scalar, ...]

    @property
    def inner(self) -> tuple[Scalar, ...]:
        held = next(filter(None, map(without_column, self.values)), None)
        if held is not None:
            what = f"{held} on the left of IN (SELECT ...) or = ANY (SELECT ...) is not supported"
            self.subqueries.context.refuse(self.node, f"{what}; compute it in a subquery in FROM")
        return tuple(seen_from_inside(value, self.binding) for value in self.values)

    @property
    def nullable(self) -> bool:
        """Whether a comparison can be NULL."""
        return any(s.nullable for s in (*self.values, *self.sought))

    def where(self, *predicates: Scalar) -> Relation:
        """The rows of the subquery that satisfy predicates over both."""
        return Filter(self.relation, predicates)

    def mark(self, relation: Relation) -> Scalar:
        """Whether `relation` has a row, as a value."""
        return self.subqueries.add("mark", relation, self.binding, self.node)[0]

    def test(self, kind: str, relation: Relation) -> None:
        """Keep the rows for which `relation` has a row (semi) or none (anti)."""
        self.subqueries.add(kind, relation, self.binding, self.node)


def condition(binder: Binder, node: exp.Expr) -> list[Scalar]:
    """The conjuncts of WHERE, HAVING or ON; the subqueries that they are or hold wait in `binder.subqueries`."""
    parts: list[exp.Expr] = []
    waiting = [node]
    # A chain of ANDs nests to the left, and a loop bears any length.
    while waiting:
        part = waiting.pop()
        inner = part.unnest()
        if isinstance(inner, exp.And):
            waiting.extend((inner.expression, inner.this))
        else:
            parts.append(part)
    return [test for part in parts for test in conjunct(binder, part)]


def conjunct(binder: Binder, node: exp.Expr) -> list[Scalar]:
    """What a conjunct of WHERE, HAVING or ON tests of a row; a subquery that is one of its own is joined for that."""
    positive, inner = _without_not(node)
    if isinstance(inner, exp.Exists):
        row, subqueries = _outer_row(binder, inner)
        relation = subqueries.relation(row, inner.this)
        subqueries.add("semi" if positive else "anti", relation, row.binding, inner)
        return []
    quantified = _quantified(inner)
    if quantified is not None:
        of, function, query, negative = quantified
        if function == "eq":
            compared = _compared(binder, inner, of, query)
            return _is_in(compared) if positive != negative else _is_not_in(compared)
    return list(conjuncts([truth(binder.condition(node))]))


def _without_not(node: exp.Expr) -> tuple[bool, exp.Expr]:
    positive = True
    while isinstance(node, exp.Not | exp.Paren):
        positive = positive != isinstance(node, exp.Not)
        node = node.this
    return positive, node


def _quantified(node: exp.Expr) -> tuple[exp.Expr, str, exp.Expr, bool] | None:
    """The value, comparison and subquery of `x IN (..)` and `x op ANY (..)`, and whether NOT stands before it all.

    `x op ALL (..)` is NOT x (not op) ANY (..).
    """
    if isinstance(node, exp.In):
        values = node.expressions
        query = values[0] if len(values) == 1 and isinstance(values[0], exp.Values) else node.args.get("query")
        return None if query is None else (node.this, "eq", query, False)
    function = FUNCTIONS.get(type(node))
    bound = node.args.get("expression")
    if function not in NEGATED or not isinstance(bound, exp.Any | exp.All):
        return None
    query = bound.this
    if not isinstance(query.unnest(), exp.Query | exp.Values):
        return None
    negative = isinstance(bound, exp.All)
    return node.this, NEGATED[function] if negative else function, query, negative


def bind_value(binder: Binder, node: exp.Expr) -> Operand:
    """A subquery as a value: NULL without a row; a second row is an error when it comes."""

    def bind() -> Scalar:
        row, subqueries = _outer_row(binder, node)
        relation = subqueries.relation(row, node if clauses_around(node) else node.this)
        _check_width(binder, node, relation, 1)
        return subqueries.add("single", relation, row.binding, node)[0]

    return Operand(node, _once(binder, node, bind))


def bind_array(binder: Binder, node: exp.Expr) -> Operand:
    """ARRAY(SELECT x ... ORDER BY ..): the list of the rows in their order, of equal ones by the values; never NULL."""
    if isinstance(node.expressions[0], exp.Values):  # which DuckDB takes, but sqlglot does not write
        rows = exp.From(this=exp.Subquery(this=node.expressions[0]))
        node.set("expressions", [exp.Select(expressions=[exp.Star()], from_=rows)])
    query = node.expressions[0]

    def bind() -> Scalar:
        row, subqueries = _outer_row(binder, node)
        block = subqueries.block(row, query)
        _check_width(binder, node, block.relation, 1)
        subqueries.context.cut.append((query.unnest(), 1))
        rows = block.kept or block.relation
        value, *_ = columns = [Column(i, f.type, f.nullable) for i, f in enumerate(rows.schema)]
        order = tuple(AggregateOrder(columns[at], descending, first) for at, descending, first in block.order)
        listed = Aggregate("list", value, list_of(value.type), order=order)
        found = Reduce(rows, (), (listed,), ("array",))
        return subqueries.add("single", found, row.binding, node)[0]

    found = _once(binder, node, bind)
    return Operand(node, coalesced(found, Call("list_value", (), found.type, nullable=False)))


def bind_exists(binder: Binder, node: exp.Expr) -> Operand:
    """EXISTS (SELECT ...) as a value, which is never NULL."""

    def bind() -> Scalar:
        row, subqueries = _outer_row(binder, node)
        return subqueries.add("mark", subqueries.relation(row, node.this), row.binding, node)[0]

    return Operand(node, _once(binder, node, bind))


def _or_quantified(plain: Handler) -> Handler:
    """The handler of a comparison or IN whose right side may be a subquery."""

    def bind(binder: Binder, node: exp.Expr) -> Operand:
        quantified = _quantified(node)
        if quantified is None:
            return plain(binder, node)
        of, function, query, negative = quantified

        def value() -> Scalar:
            compared = _compared(binder, node, of, query)
            return _equals_any(compared) if function == "eq" else _meets_any(binder, node, function, compared)

        found = _once(binder, node, value)
        return Operand(node, negation(found) if negative else found)

    return bind


def _once(binder: Binder, node: exp.Expr, bind: Callable[[], Scalar]) -> Scalar:
    """What `bind` makes of a subquery; an equal one of the same clause, or in GROUP BY, is the same value."""
    for known in (binder.subqueries, binder.below):
        if known is not None and node in known.values:
            return known.values[node]
    value = bind()
    if binder.subqueries is not None:
        binder.subqueries.values[node] = value
    return value


def _outer_row(binder: Binder, node: exp.Expr) -> tuple[OuterRow, Subqueries]:
    subqueries = binder.subqueries
    if subqueries is None:
        binder.refuse(node, f"a subquery cannot stand in {binder.clause}; join with it in FROM")
    return OuterRow(binder, subqueries.context.number()), subqueries


def _check_width(binder: Binder, node: exp.Expr, relation: Relation, width: int) -> None:
    found = len(relation.schema)
    if found != width:
        what = "as a value needs one column" if width == 1 else f"compared with {width} values needs {width} columns"
        binder.fail(node, f"a subquery {what}, but this one has {found}; select only what is compared or shown")


def _compared(binder: Binder, node: exp.Expr, of: exp.Expr, query: exp.Expr) -> _Compared:
    """The values and the subquery of a comparison, each pair cast to one type."""
    row, subqueries = _outer_row(binder, node)
    relation = subqueries.relation(row, query)
    parts = parts_of(of) or [of]
    if len(relation.schema) == 1 and any(not name for name, _ in relation.schema[0].type.fields):
        parts = [of]  # SELECT (x, y) has one column, and a row in it
    operands = [binder.bind(part) for part in parts]
    _check_width(binder, query, relation, len(parts))
    values, sought = [], []
    for i, operand in enumerate(operands):
        f = relation.schema[i]
        if f.type != operand.type and f.type.is_moment and binder.tells_in_zone(operand.type):
            what = f"DuckDB takes a {f.type} of a subquery for one in UTC beside a {operand.type}"
            binder.refuse(query, f"{what}; cast it in the subquery")
        if operand.type == NULL:
            pair: tuple[Scalar, ...] = (Literal(None, f.type), Column(i, f.type, f.nullable))
        else:
            pair = same_type(binder, node, (operand, Operand(query, Column(i, f.type, f.nullable))))
        values.append(pair[0])
        sought.append(pair[1])
    return _Compared(subqueries, node, row.binding, relation, tuple(values), tuple(sought))


def _equalities(compared: _Compared) -> tuple[Scalar, ...]:
    return tuple(comparison("eq", x, s) for x, s in zip(compared.inner, compared.sought, strict=True))


def _not_unequal(compared: _Compared) -> tuple[Scalar, ...]:
    """The rows of the subquery that are equal to the values as far as NULLs let one see."""
    tests = []
    for x, s in zip(compared.inner, compared.sought, strict=True):
        unknown = [is_null(one) for one in (x, s) if one.nullable]
        tests.append(junction("or", [comparison("eq", x, s), *unknown]))
    return tuple(tests)


def _is_in(compared: _Compared) -> list[Scalar]:
    compared.test("semi", compared.where(*_equalities(compared)))
    return []


def _is_not_in(compared: _Compared) -> list[Scalar]:
    """NOT IN is true where nothing is equal and no NULL hides whether something is.

    In parts, so that each join is by equality: none is equal; none is NULL; and where the value is NULL, none is there.
    """
    if len(compared.values) > 1 and compared.nullable:
        compared.test("anti", compared.where(*_not_unequal(compared)))
        return []
    compared.test("anti", compared.where(*_equalities(compared)))
    value, sought = compared.values[0], compared.sought[0]
    if sought.nullable:
        compared.test("anti", compared.where(is_null(sought)))
    if not value.nullable:
        return []
    return [junction("or", [negation(is_null(value)), negation(compared.mark(compared.relation))])]


def _equals_any(compared: _Compared) -> Scalar:
    """The value of x IN (SELECT ...), NULL included."""
    found = compared.mark(compared.where(*_equalities(compared)))
    if not compared.nullable:
        return found
    if len(compared.values) > 1:
        return _or_unknown(found, compared.mark(compared.where(*_not_unequal(compared))))
    value, sought = compared.values[0], compared.sought[0]
    unknown = []
    if sought.nullable:
        unknown.append(compared.mark(compared.where(is_null(sought))))
    if value.nullable:
        unknown.append(junction("and", [is_null(value), compared.mark(compared.relation)]))
    return _or_unknown(found, junction("or", unknown))


def _meets_any(binder: Binder, node: exp.Expr, function: str, compared: _Compared) -> Scalar:
    """The value of x op ANY (SELECT ...) of an order: x is compared with the least or the greatest."""
    if len(compared.values) > 1 and function == "ne":
        what = f"a row compared by {function_of(FUNCTIONS[type(node)]).symbol} with a subquery is not supported"
        binder.refuse(node, f"{what}; compare column by column in EXISTS (SELECT ...)")
    value, sought = map(_as_one, (compared.values, compared.sought))
    aggregates = (
        Aggregate("min", sought, sought.type),
        Aggregate("max", sought, sought.type),
        Aggregate("count_star", None, BIGINT, False),
        Aggregate("count", sought, BIGINT, False) if sought.nullable else Aggregate("count_star", None, BIGINT, False),
    )
    groups = Reduce(compared.relation, (), aggregates, ("least", "greatest", "rows", "known"))
    least, greatest, rows, known = compared.subqueries.add("single", groups, compared.binding, node)
    bounds = {"lt": (greatest,), "le": (greatest,), "gt": (least,), "ge": (least,), "ne": (least, greatest)}[function]
    met = junction("or", [comparison(function, value, bound) for bound in bounds])
    found = coalesced(met, FALSE)
    unknown = [is_null(value)] if value.nullable else []
    if sought.nullable:
        unknown.append(comparison("is_distinct", known, rows))
    if not unknown:
        return found
    some = comparison("is_distinct", rows, Literal(0, BIGINT))
    return _or_unknown(found, junction("and", [some, junction("or", unknown)]))


def _as_one(values: tuple[Scalar, ...]) -> Scalar:
    """A value, or a row of several as a struct, within which a NULL is greater than all else."""
    if len(values) == 1:
        return values[0]
    return Call("struct_pack", values, struct_of(("", value.type) for value in values), nullable=False)


def _or_unknown(found: Scalar, unknown: Scalar) -> Scalar:
    """TRUE where `found`, else NULL where `unknown`, else FALSE; neither of the two is NULL."""
    undecided = Call("case", (unknown, Literal(None, BOOLEAN), FALSE), BOOLEAN)
    return Call("or", (found, undecided), BOOLEAN)


def _out_of_place(binder: Binder, node: exp.Expr) -> Operand:
    word = type(node).__name__.upper()
    binder.refuse(node, f"{word} (...) stands only on the right of a comparison; write x = {word} (SELECT ...)")


HANDLERS: dict[type[exp.Expr], Handler] = {
    **dict.fromkeys(FUNCTIONS, _or_quantified(bind_comparison)),
    exp.Between: bind_between,
    exp.In: _or_quantified(bind_in),
    exp.Subquery: bind_value,
    exp.Exists: bind_exists,
    exp.Any: _out_of_place,
    exp.All: _out_of_place,
}
