"""What becomes of the right side of a dependent join once it no longer depends, and of the join, of each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from ivm.catalog.types import BOOLEAN
from ivm.sql.decorrelate.expand_joins import distinct, equalities, filtered, null_safe_key, rejects_null, with_columns
from ivm.sql.decorrelate.unique import has_at_most_one_row, has_one_row
from ivm.sql.ir.classes import merged_classes
from ivm.sql.ir.conditions import coalesced, comparison, is_null, junction, negation
from ivm.sql.ir.functions import Nulls, function_of
from ivm.sql.ir.rebuild import column, outers, row
from ivm.sql.ir.relation import Apply, Filter, Join, Map, Negate, Project, Reduce, Relation
from ivm.sql.ir.scalar import FALSE, TRUE, Call, Column, Literal, Outer, Scalar, columns_of, remap, rewrite, substitute


@dataclass(frozen=True)
class Key:
    """Column `column` of a carrier must equal `term`, an expression over the outer row alone.

    NULL equals NULL only if `null_safe`; otherwise NULL equals nothing.
    """

    term: Scalar
    column: int
    null_safe: bool = False


@dataclass(frozen=True)
class Pushed:
    """A relation R that depends on an outer row d, written with a `carrier` that does not.

    R(d) is `outputs(r, d)` for each row r of the carrier with `keys` equal to their terms over d and `pending(r, d)`
    true. The outputs and pending predicates read the carrier's columns and, as Outer, the outer row. If `total`, the
    keys meet at most one row r, and where they meet none, R(d) is the outputs over a row of NULLs; then nothing is
    pending.
    """

    carrier: Relation
    outputs: tuple[Scalar, ...]
    names: tuple[str, ...]
    keys: tuple[Key, ...] = ()
    pending: tuple[Scalar, ...] = ()
    total: bool = False

    def resolve(self, scalar: Scalar) -> Scalar:
        """The expression with each part that a key's column equals replaced by the column."""
        return _replaced(scalar, {key.term: self._standing_for(key) for key in self.keys})

    def _standing_for(self, key: Key) -> Scalar:
        value = column(self.carrier, key.column)
        # NULL in the column meets no outer row, but the column's schema does not tell.
        return null_safe_key(value)[0] if value.nullable and not key.term.nullable else value


def independent(relation: Relation) -> Pushed:
    """A relation that reads nothing of the outer row."""
    return Pushed(relation, row(relation), tuple(f.name for f in relation.schema))


def equal(left: Scalar, right: Scalar, null_safe: bool) -> Scalar:
    """The predicate that both sides are equal, NULL-safe only where both can be NULL."""
    if null_safe and left.nullable and right.nullable:
        return negation(comparison("is_distinct", left, right))
    return comparison("eq", left, right)


def moved(scalar: Scalar, by: int) -> Scalar:
    """The expression over a row before which `by` columns stand."""
    return remap(scalar, lambda i: i + by)


def maybe_missing(scalar: Scalar, start: int) -> Scalar:
    """The expression over a row whose columns from `start` on may all be NULL where they could not be before."""

    def mark(s: Scalar) -> Scalar:
        if isinstance(s, Column):
            return replace(s, nullable=s.nullable or s.index >= start)
        if not isinstance(s, Call):
            return s
        nulls = function_of(s.function).nulls
        if nulls is Nulls.NEVER:
            return s
        of_args = all if nulls is Nulls.ALL else any
        return replace(s, nullable=s.nullable or of_args(arg.nullable for arg in s.args))

    return rewrite(scalar, mark)


def project(relation: Relation, scalars: Sequence[Scalar], names: Sequence[str]) -> Relation:
    """The relation whose columns are `scalars`; `relation` itself if they are its columns by the same names."""
    names = tuple(names)
    with_all, places = with_columns(relation, scalars, "value")
    if places == tuple(range(len(relation.schema))) and names == tuple(f.name for f in relation.schema):
        return relation
    return Project(with_all, places, names)


@dataclass
class Domain:
    """The outer rows of one Apply: those of `left`, which the right side reads as Outer(`binding`, ..)."""

    left: Relation
    binding: int
    _made: dict[tuple[int, ...], Relation] = field(default_factory=dict)

    def relation(self, columns: tuple[int, ...]) -> Relation:
        """The distinct values of some columns; one object for the same columns."""
        if columns not in self._made:
            self._made[columns] = distinct(self.left, [column(self.left, c) for c in columns])
        return self._made[columns]

    def outer(self, index: int) -> Outer:
        """Column `index` of the outer row."""
        described = self.left.schema[index]
        return Outer(self.binding, index, described.type, described.nullable)

    def reads(self, scalars: Iterable[Scalar]) -> frozenset[int]:
        """The columns of the outer row that the expressions read."""
        return outers(scalars, self.binding)

    def settled(self, pushed: Pushed, also: Iterable[Scalar] = (), restricted: bool = False) -> Pushed:
        """The same as a relation with its outputs as the first columns and its keys behind: no pending, not total.

        All that `also` reads of the outer row is among the keys then. With `restricted`, its rows are those of outer
        rows that there are. It is joined with the outer rows only where the keys do not tell their columns.
        """
        needed = [pushed.resolve(s) for s in (*pushed.pending, *pushed.outputs, *also)]
        reads = self.reads(needed)
        if reads or pushed.total or restricted:
            columns = tuple(sorted(reads | self.reads(key.term for key in pushed.keys)))
            if columns:
                pushed = self._joined(pushed, columns)
        pending = tuple(pushed.resolve(p) for p in pushed.pending)
        relation = filtered(pushed.carrier, pending)
        outputs = [pushed.resolve(s) for s in pushed.outputs]
        # What is pending may hold for no NULL in a key's column.
        strict = {key for key in pushed.keys if any(rejects_null(p, key.column) for p in pending)}
        keys = [replace(key, null_safe=key.null_safe and key not in strict) for key in pushed.keys]
        width, names = len(outputs), (*pushed.names, *(f"outer{i}" for i in range(len(keys))))
        relation = project(relation, (*outputs, *(column(pushed.carrier, key.column) for key in keys)), names)
        own = tuple(column(relation, i) for i in range(width))
        return Pushed(relation, own, pushed.names, tuple(replace(key, column=width + i) for i, key in enumerate(keys)))

    def _joined(self, pushed: Pushed, columns: tuple[int, ...]) -> Pushed:
        """Each of the distinct outer rows with what it sees of the carrier."""
        domain, carrier = self.relation(columns), pushed.carrier
        places = {c: i for i, c in enumerate(columns)}
        strict = {key.term for key in pushed.keys if not key.null_safe and not pushed.total}
        # A total relation keeps the outer rows that meet nothing, so that they must stand on the left.
        first, second = (domain, carrier) if pushed.total else (carrier, domain)
        own, other = (len(domain.schema), 0) if pushed.total else (0, len(carrier.schema))

        def of_domain(scalar: Scalar) -> Scalar:
            return self.bound(scalar, lambda c: moved(column(domain, places[c]), other))

        matched = tuple(
            equal(of_domain(key.term), moved(column(carrier, key.column), own), key.null_safe) for key in pushed.keys
        )
        joined = Apply("left" if pushed.total else "inner", first, second, matched)
        outputs = tuple(of_domain(moved(s, own)) for s in pushed.outputs)
        pending = tuple(of_domain(moved(s, own)) for s in pushed.pending)
        keys = []
        for c in columns:
            term = self.outer(c)
            keys.append(Key(term, other + places[c], term.nullable and term not in strict))
        return Pushed(joined, outputs, pushed.names, tuple(keys), pending)

    def bound(self, scalar: Scalar, value: Callable[[int], Scalar]) -> Scalar:
        """The expression with each column c of the outer row replaced by `value(c)`."""

        def bind(s: Scalar) -> Scalar:
            return value(s.index) if isinstance(s, Outer) and s.binding == self.binding else s

        return rewrite(scalar, bind)


def _replaced(scalar: Scalar, values: dict[Scalar, Scalar]) -> Scalar:
    if scalar in values:
        return values[scalar]
    if isinstance(scalar, Call):
        return replace(scalar, args=tuple(_replaced(arg, values) for arg in scalar.args))
    return scalar


def unsigned(relation: Relation) -> tuple[Relation, bool]:
    """The relation without the negation at its top or under its expressions and filters, and whether there was one."""
    if isinstance(relation, Negate):
        below, negative = unsigned(relation.input)
        return below, not negative
    if isinstance(relation, Map | Filter | Project):
        below, negative = unsigned(relation.input)
        return (replace(relation, input=below), True) if negative else (relation, False)
    return relation, False


def shifted(scalars: Iterable[Scalar], by: int) -> tuple[Scalar, ...]:
    """The expressions over a row before which `by` columns stand."""
    return tuple(moved(s, by) for s in scalars)


def over(left: Pushed, right: Pushed, predicates: Iterable[Scalar]) -> list[Scalar]:
    """Predicates over the rows of both, over the columns of their carriers."""
    values = (*left.outputs, *shifted(right.outputs, len(left.carrier.schema)))
    return [substitute(p, values) for p in predicates]


def equal_to_left(predicate: Scalar, width: int) -> Scalar | None:
    """The side of an equality that reads only columns from `width` on, where the other reads only those before."""
    if isinstance(predicate, Call) and predicate.function == "eq":
        for one, other in (predicate.args, predicate.args[::-1]):
            read, own = columns_of(one), columns_of(other)
            if read and own and max(read) < width <= min(own):
                return other
    return None


def swapped(predicate: Scalar, value: Scalar, column_: Column) -> Scalar:
    """An equality with `column_` in the place of its side `value`."""
    assert isinstance(predicate, Call), "an equality"
    return replace(predicate, args=tuple(column_ if arg == value else arg for arg in predicate.args))


def over_empty(groups: Reduce, index: int, function: str) -> Scalar:
    """An aggregate that reads NULLs where there is no row: what it is over no rows."""
    value = column(groups, index, nullable=True)
    if not function.startswith("count"):
        return value
    return coalesced(value, Literal(0, value.type))


def product(inputs: Sequence[Pushed], equivalences: Iterable[Iterable[int]]) -> Pushed:
    """The join of all, on equal terms too. What `equivalences` name must be columns of the carriers."""
    outputs: list[Scalar] = []
    pending: list[Scalar] = []
    found: dict[Scalar, list[Key]] = {}
    start = 0
    for pushed in inputs:
        outputs.extend(shifted(pushed.outputs, start))
        pending.extend(shifted(pushed.pending, start))
        for key in pushed.keys:
            found.setdefault(key.term, []).append(replace(key, column=key.column + start))
        start += len(pushed.carrier.schema)
    names = tuple(name for pushed in inputs for name in pushed.names)
    groups = [[s.index for s in (outputs[c] for c in group) if isinstance(s, Column)] for group in equivalences]
    plain = Join(tuple(pushed.carrier for pushed in inputs))
    keys: list[Key] = []
    tests: list[Scalar] = []
    for same in found.values():
        first = next((key for key in same if not key.null_safe), same[0])
        keys.append(first)
        for key in same:
            if key is not first:
                test = equal(column(plain, first.column), column(plain, key.column), first.null_safe)
                strict = isinstance(test, Call) and test.function == "eq"
                (groups.append([first.column, key.column]) if strict else tests.extend(equalities(test)))
    carrier = filtered(replace(plain, equivalences=merged_classes(groups)), tuple(tests))
    return Pushed(carrier, tuple(outputs), names, tuple(keys), tuple(pending))


def aligned(pushed: Pushed, width: int, terms: Sequence[Scalar], null_safe: set[Scalar]) -> Relation:
    """The outputs, then the keys of `terms`, without NULLs in a key that is met by equality here and not elsewhere."""
    keys = {key.term: key for key in pushed.keys}
    tests: list[Scalar] = []
    for term in terms:
        carried = column(pushed.carrier, keys[term].column)
        if term in null_safe and not keys[term].null_safe and carried.nullable:
            tests.append(negation(is_null(carried)))
    names = (*pushed.names, *(f"outer{i}" for i in range(len(terms))))
    columns = (*pushed.outputs, *(column(pushed.carrier, keys[term].column) for term in terms))
    return project(filtered(pushed.carrier, tuple(tests)), columns, names)


_TESTS = ("semi", "anti", "mark")


def combine(
    kind: str, left: Relation, right: Pushed, predicates: tuple[Scalar, ...], outer: Callable[[Scalar], Scalar]
) -> tuple[Relation, tuple[Scalar, ...]]:
    """The join of `left` with `right`, and what it appends to each row of `left`, over the rows of the relation.

    `predicates` read the columns of `left` and, behind them, those of the carrier of `right`. `outer` puts columns of
    `left` in the place of the outer row's. The relation begins with the columns of `left`.
    """
    width = len(left.schema)
    carrier = right.carrier
    exact = right.total or (not right.keys and not right.pending and has_one_row(carrier))
    matched = [equal(outer(key.term), moved(column(carrier, key.column), width), key.null_safe) for key in right.keys]
    matched.extend(outer(moved(p, width)) for p in right.pending)
    outputs = tuple(outer(moved(s, width)) for s in right.outputs)
    if exact:
        relation: Relation = Apply("left" if matched else "inner", left, carrier, tuple(matched))
        return _of_one(kind, relation, width, outputs, predicates)
    if kind in _TESTS:
        relation = _tested(kind, left, carrier, (*matched, *predicates))
        return relation, (Column(width, BOOLEAN, False),) if kind == "mark" else ()
    if kind == "inner":
        return Apply("inner", left, carrier, (*matched, *predicates)), outputs
    if kind == "single" and not predicates:
        fixed = frozenset(key.column for key in right.keys)
        kind = "left" if has_at_most_one_row(carrier, fixed) else kind
    return _optional(kind, left, carrier, (*matched, *predicates), outputs)


def _of_one(
    kind: str, relation: Relation, width: int, outputs: tuple[Scalar, ...], predicates: tuple[Scalar, ...]
) -> tuple[Relation, tuple[Scalar, ...]]:
    """Each row of the left side has exactly one row beside it, which satisfies `predicates` or not."""
    own = tuple(range(width))
    if kind == "inner":
        return filtered(relation, predicates), outputs
    if kind == "semi":
        return Project(filtered(relation, predicates), own), ()
    holds = junction("and", predicates) if predicates else TRUE
    fails = comparison("is_distinct", holds, TRUE) if predicates else FALSE
    if kind == "anti":
        return Project(filtered(relation, (fails,)), own), ()
    if kind == "mark":
        return relation, (coalesced(holds, FALSE),)
    if not predicates:
        return relation, outputs
    return relation, tuple(Call("case", (holds, s, Literal(None, s.type)), s.type) for s in outputs)


def _tested(kind: str, left: Relation, carrier: Relation, predicates: tuple[Scalar, ...]) -> Relation:
    """Semi, anti or mark; what a semi-join asks of the left side alone is a filter."""
    if kind != "semi":
        return Apply(kind, left, carrier, predicates)
    width = len(left.schema)
    alone = tuple(p for p in predicates if all(c < width for c in columns_of(p)))
    return Apply(kind, filtered(left, alone), carrier, tuple(p for p in predicates if p not in alone))


def _optional(
    kind: str, left: Relation, carrier: Relation, predicates: tuple[Scalar, ...], outputs: tuple[Scalar, ...]
) -> tuple[Relation, tuple[Scalar, ...]]:
    """A join that keeps the left rows without a partner; what is computed after it must be NULL for those."""
    width = len(left.schema)
    outputs = tuple(maybe_missing(s, width) for s in outputs)
    if all(_is_of_carrier(s, width) for s in outputs):
        return Apply(kind, left, carrier, predicates), outputs
    present = width + len(carrier.schema)
    relation = Apply(kind, left, Map(carrier, (TRUE,), ("present",)), predicates)
    absent = is_null(Column(present, BOOLEAN))
    return relation, tuple(
        s if _is_of_carrier(s, width) else Call("case", (absent, Literal(None, s.type), s), s.type) for s in outputs
    )


def _is_of_carrier(scalar: Scalar, width: int) -> bool:
    return isinstance(scalar, Column) and scalar.index >= width
