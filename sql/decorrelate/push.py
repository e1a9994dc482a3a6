"""Dependence pushed down until it disappears: one rule for each kind of node.

After Neumann and Kemper, "Unnesting Arbitrary Queries": a relation R that reads columns of an outer row d is joined
with the distinct outer rows D and carries d along. Two things keep D out where it is not needed. An equality of a
column of R with an expression over d makes that column carry d (a `Key`). A predicate that reads both waits until it
reaches the top, where it becomes one of the join (`pending`), as do expressions (`outputs`). What cannot wait, since a
group, a limit or a union stands above, is settled by joining D. A loop goes its way for each outer row: its names carry
all that it reads of d, by which they meet, from what enters it for the outer rows that there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ivm.catalog.schema import Field, Schema
from ivm.sql.decorrelate.expand_asof import expanded
from ivm.sql.decorrelate.expand_joins import distinct, equated, filtered, with_columns
from ivm.sql.decorrelate.pushed import (
    Domain,
    Key,
    Pushed,
    aligned,
    combine,
    equal,
    equal_to_left,
    independent,
    maybe_missing,
    moved,
    over,
    over_empty,
    product,
    shifted,
    swapped,
    unsigned,
)
from ivm.sql.ir.conditions import conjuncts
from ivm.sql.ir.linear import names_read
from ivm.sql.ir.rebuild import FreeOuters, column, relation_scalars, row
from ivm.sql.ir.relation import (
    Apply,
    Asof,
    Binding,
    Filter,
    Join,
    LetRec,
    Map,
    Negate,
    Project,
    RecursiveGet,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Union,
    Unnest,
    Window,
)
from ivm.sql.ir.scalar import Call, Column, Scalar, columns_of, remap, substitute, walk

MOST_WAITING = 500
"""Expressions of more parts than this are not put into one another, since that could double them again and again."""


class Push:
    """Frees relations from the outer row of one Apply; what stands twice is freed once."""

    def __init__(self, domain: Domain, free: FreeOuters) -> None:
        self._domain = domain
        self._free = free
        self._known: dict[int, tuple[Relation, Pushed]] = {}
        self._loops: dict[tuple[Binding, ...], tuple[tuple[Binding, ...], Sequence[Scalar]]] = {}
        self._names: dict[str, Sequence[Scalar]] = {}
        """Of the loops around by each of their names what they read of the outer row."""

    def __call__(self, relation: Relation) -> Pushed:
        """`relation` without its dependence. No Apply in it depends on its own left side any more."""
        if id(relation) not in self._known:
            depends = self._domain.binding in self._free.of(relation) or self._is_lifted(relation)
            self._known[id(relation)] = relation, self._freed(relation) if depends else independent(relation)
        return self._known[id(relation)][1]

    def _freed(self, relation: Relation) -> Pushed:
        match relation:
            case Map():
                return self._map(relation)
            case Filter():
                return self._filtered(self(relation.input), relation.predicates)
            case Project():
                return self._project(relation)
            case Unnest():
                return self._unnest(relation)
            case Join():
                return self._join(relation)
            case Reduce():
                return self._reduce(relation)
            case TopK():
                return self._top_k(relation)
            case Window():
                return self._window(relation)
            case Union():
                return self._union(relation)
            case Negate():
                pushed = self(relation.input)
                pushed = self._settled(pushed) if pushed.total else pushed
                return replace(pushed, carrier=Negate(pushed.carrier))
            case Threshold():
                pushed = self._settled(self(relation.input))
                return replace(pushed, carrier=Threshold(pushed.carrier))
            case Asof():
                return self(expanded(relation))
            case Apply():
                return self._apply(relation)
            case LetRec():
                return self._loop(relation)
            case RecursiveGet():
                return self._read(relation, self._names[relation.name])
        raise AssertionError(f"{type(relation).__name__} reads no outer row")

    def _settled(self, pushed: Pushed, also: Iterable[Scalar] = ()) -> Pushed:
        return self._domain.settled(pushed, also)

    def _reads(self, scalar: Scalar) -> bool:
        return bool(self._domain.reads((scalar,)))

    def _map(self, relation: Map) -> Pushed:
        pushed = self(relation.input)
        scalars = [substitute(s, pushed.outputs) for s in relation.scalars]
        if sum(1 for s in scalars for _ in walk(s)) > MOST_WAITING:
            pushed = self._settled(pushed, scalars)
            scalars = [substitute(s, pushed.outputs) for s in relation.scalars]
        names = pushed.names + relation.names
        if not pushed.total:
            scalars = [pushed.resolve(s) for s in scalars]
            now = tuple(s for s in scalars if not self._reads(s) and not isinstance(s, Column))
            carrier, places = with_columns(pushed.carrier, now, "value")
            at = dict(zip(now, places, strict=True))
            scalars = [column(carrier, at[s]) if s in at else s for s in scalars]
            pushed = replace(pushed, carrier=carrier)
        return replace(pushed, outputs=(*pushed.outputs, *scalars), names=names)

    def _filtered(self, pushed: Pushed, predicates: Iterable[Scalar]) -> Pushed:
        if pushed.total:
            pushed = self._settled(pushed)
        waiting = [*pushed.pending, *(substitute(p, pushed.outputs) for p in conjuncts(predicates))]
        rest = []
        for predicate in waiting:
            key = self._key(predicate)
            if key is None or any(key[0] == known.term for known in pushed.keys):
                rest.append(predicate)
                continue
            term, value, null_safe = key
            carrier, (place,) = with_columns(pushed.carrier, (value,), "key")
            pushed = replace(pushed, carrier=carrier, keys=(*pushed.keys, Key(term, place, null_safe)))
        rest = [pushed.resolve(p) for p in rest]
        now = tuple(p for p in rest if not self._reads(p))
        pending = tuple(p for p in rest if self._reads(p))
        return replace(pushed, carrier=filtered(pushed.carrier, now), pending=pending)

    def _key(self, predicate: Scalar) -> tuple[Scalar, Scalar, bool] | None:
        """An equality of an expression over the outer row with one over the carrier's: both, and if it is NULL-safe."""
        equality = equated(predicate)
        if equality is None:
            return None
        one, other, null_safe = equality
        for term, value in ((one, other), (other, one)):
            if self._reads(term) and not columns_of(term) and columns_of(value) and not self._reads(value):
                return term, value, null_safe
        return None

    def _project(self, relation: Project) -> Pushed:
        pushed = self(relation.input)
        names = relation.names or tuple(pushed.names[c] for c in relation.columns)
        return replace(pushed, outputs=tuple(pushed.outputs[c] for c in relation.columns), names=names)

    def _unnest(self, relation: Unnest) -> Pushed:
        pushed = self(relation.input)
        if pushed.total or any(self._reads(substitute(s, pushed.outputs)) for s in relation.lists):
            pushed = self._settled(pushed, [substitute(s, pushed.outputs) for s in relation.lists])
        lists = tuple(pushed.resolve(substitute(s, pushed.outputs)) for s in relation.lists)
        before = len(pushed.carrier.schema)
        carrier = replace(relation, input=pushed.carrier, lists=lists)
        added = tuple(column(carrier, before + i) for i in range(len(relation.added)))
        names = tuple(f.name for f in relation.schema)
        return replace(pushed, carrier=carrier, outputs=(*pushed.outputs, *added), names=names)

    def _join(self, relation: Join) -> Pushed:
        inputs = []
        for each in relation.inputs:
            pushed = self(each)
            plain = all(isinstance(s, Column) for s in pushed.outputs)
            inputs.append(pushed if plain and not pushed.total else self._settled(pushed))
        return product(inputs, relation.equivalences)

    def _reduce(self, relation: Reduce) -> Pushed:
        pushed = self(relation.input)
        scalars = (*relation.keys, *(s for aggregate in relation.aggregates for s in aggregate.scalars))
        reads = [pushed.resolve(substitute(s, pushed.outputs)) for s in scalars]
        if pushed.pending or pushed.total or any(map(self._reads, reads)):
            pushed = self._settled(pushed, reads)

        def below(scalar: Scalar) -> Scalar:
            return pushed.resolve(substitute(scalar, pushed.outputs))

        keys = [below(k) for k in relation.keys]
        carried = [column(pushed.carrier, key.column) for key in pushed.keys]
        both = (*keys, *(c for c in dict.fromkeys(carried) if c not in keys))
        width = len(keys)
        names = (*relation.names[:width], *(f"outer{i}" for i in range(len(both) - width)), *relation.names[width:])
        groups = Reduce(pushed.carrier, both, tuple(a.map(below) for a in relation.aggregates), names)
        own = tuple(Key(key.term, both.index(c), key.null_safe) for key, c in zip(pushed.keys, carried, strict=True))
        if relation.keys:
            places = (*range(width), *range(len(both), len(groups.schema)))
            return Pushed(groups, tuple(column(groups, i) for i in places), relation.names, own)
        outputs = tuple(over_empty(groups, i, a.function) for i, a in enumerate(groups.aggregates, len(both)))
        return Pushed(groups, outputs, relation.names, own, total=True)

    def _top_k(self, relation: TopK) -> Pushed:
        # The order of ties depends on the columns, so that they must be those of the relation itself.
        pushed = self._settled(self(relation.input))
        group = (*relation.group, *(key.column for key in pushed.keys))
        return replace(pushed, carrier=replace(relation, input=pushed.carrier, group=group))

    def _window(self, relation: Window) -> Pushed:
        pushed = self(relation.input)
        pushed = self._settled(pushed, [substitute(s, pushed.outputs) for f in relation.functions for s in f.scalars])
        functions = tuple(f.map(pushed.resolve) for f in relation.functions)
        partition = (*relation.partition, *(key.column for key in pushed.keys))
        before = len(pushed.carrier.schema)
        carrier = replace(relation, input=pushed.carrier, partition=partition, functions=functions)
        added = tuple(column(carrier, before + i) for i in range(len(functions)))
        names = tuple(f.name for f in relation.schema)
        return replace(pushed, carrier=carrier, outputs=(*pushed.outputs, *added), names=names)

    def _union(self, relation: Union) -> Pushed:
        # What is subtracted is negated last: a collection of negative rows alone cannot be joined.
        signed = [unsigned(each) for each in relation.inputs]
        inputs = [self._entering(each) if self._names else self._settled(self(each)) for each, _ in signed]
        terms = list(dict.fromkeys(key.term for pushed in inputs for key in pushed.keys))
        if any({key.term for key in pushed.keys} != set(terms) for pushed in inputs):
            read = sorted(self._domain.reads(terms))
            terms = [self._domain.outer(c) for c in read]
            inputs = [self._anchored(pushed, terms) for pushed in inputs]
        null_safe = {key.term for pushed in inputs for key in pushed.keys if key.null_safe}
        width = len(relation.schema)
        parts = tuple(aligned(pushed, width, terms, null_safe) for pushed in inputs)
        signs = (negative for _, negative in signed)
        carrier = Union(tuple(Negate(part) if sign else part for part, sign in zip(parts, signs, strict=True)))
        keys = tuple(Key(term, width + i, term in null_safe) for i, term in enumerate(terms))
        outputs = tuple(column(carrier, i) for i in range(width))
        return Pushed(carrier, outputs, tuple(f.name for f in relation.schema), keys)

    def _anchored(self, pushed: Pushed, terms: Sequence[Scalar]) -> Pushed:
        """The same with exactly the outer columns `terms` as keys."""
        if {key.term for key in pushed.keys} == set(terms):
            return pushed
        if {key.term for key in pushed.keys} < set(terms):
            return self._settled(pushed, terms)
        return self._domain.settled(pushed, terms, restricted=True)

    def _is_lifted(self, relation: Relation) -> bool:
        return not self._names.keys().isdisjoint(names_read(relation))

    def _entering(self, relation: Relation) -> Pushed:
        """A part of a union within a loop; what begins it is there for no other outer row than there is."""
        return self._domain.settled(self(relation), restricted=not self._is_lifted(relation))

    def _loop(self, relation: LetRec) -> Pushed:
        found = self._loops.get(relation.bindings)
        if found is None:
            read = self._domain.reads(relation_scalars(relation))
            terms: Sequence[Scalar] = [self._domain.outer(c) for c in sorted(read)]
            self._names |= dict.fromkeys((each.name for each in relation.bindings), terms)
            found = self._loops[relation.bindings] = tuple(self._binding(b, terms) for b in relation.bindings), terms
        bindings, terms = found
        made = replace(relation, bindings=bindings)
        return self._read(made, terms)

    def _binding(self, binding: Binding, terms: Sequence[Scalar]) -> Binding:
        pushed = self._anchored(self._settled(self(binding.relation)), terms)
        null_safe = {term for term in terms if term.nullable}
        relation = aligned(pushed, len(binding.schema), terms, null_safe)
        return replace(binding, schema=(*binding.schema, *_carried(terms)), relation=relation)

    def _read(self, relation: LetRec | RecursiveGet, terms: Sequence[Scalar]) -> Pushed:
        """What a loop has, or one of its names, with what it carries along."""
        if isinstance(relation, RecursiveGet):
            relation = replace(relation, schema=(*relation.schema, *_carried(terms)))
        width = len(relation.schema) - len(terms)
        keys = tuple(Key(term, width + i, term.nullable) for i, term in enumerate(terms))
        names = tuple(field.name for field in relation.schema[:width])
        return Pushed(relation, row(relation)[:width], names, keys)

    def _apply(self, relation: Apply) -> Pushed:
        left, right = self(relation.left), self(relation.right)
        left = self._settled(left) if left.total else left
        if relation.kind == "inner" and not right.total:
            return self._filtered(product((left, right), ()), relation.predicates)
        if relation.kind == "full":
            return self._full(relation, left, right)
        if relation.kind == "single":
            # It must not fail for an outer row that there is not.
            left = self._domain.settled(left, restricted=True)
        predicates = over(left, right, relation.predicates)
        reads = [left.resolve(s) for s in (*(k.term for k in right.keys), *right.pending, *right.outputs, *predicates)]
        if any(map(self._reads, reads)):
            met = self._met(left, right, predicates) if relation.kind == "semi" else None
            if met is not None:
                return met
            left = self._settled(left, reads)
            predicates = over(left, right, relation.predicates)
        tested = tuple(left.resolve(p) for p in predicates)
        carrier, appended = combine(relation.kind, left.carrier, right, tested, left.resolve)
        names = tuple(f.name for f in relation.schema)
        return replace(left, carrier=carrier, outputs=(*left.outputs, *appended), names=names)

    def _met(self, left: Pushed, right: Pushed, predicates: Sequence[Scalar]) -> Pushed | None:
        """A semi-join whose right side brings keys that the left one lacks, as a join with distinct partners.

        A left row has at most one partner for an outer row if equalities with it tell all that is read of the partner.
        None if there is another predicate; then the left side must be joined with the outer rows.
        """
        width = len(left.carrier.schema)
        values = []
        for predicate in predicates:
            value = equal_to_left(left.resolve(predicate), width)
            if value is None or self._reads(value) or self._reads(left.resolve(predicate)):
                return None
            values.append(remap(value, lambda i: i - width))
        if right.total or right.pending:
            return None
        carrier, places = with_columns(right.carrier, values, "value")
        read = list(dict.fromkeys((*places, *(key.column for key in right.keys))))
        partners = distinct(carrier, [column(carrier, c) for c in read])
        keys = tuple(replace(key, column=read.index(key.column)) for key in right.keys)
        found = Pushed(partners, (), (), keys)
        both = product((left, found), ())
        tests = []
        for predicate, value, place in zip(predicates, values, places, strict=True):
            partner = column(both.carrier, width + read.index(place))
            tests.append(swapped(left.resolve(predicate), moved(value, width), partner))
        # The tests read the carrier, which the outputs of `wide` are, column by column.
        wide = replace(both, outputs=independent(both.carrier).outputs, names=independent(both.carrier).names)
        return replace(self._filtered(wide, tests), outputs=both.outputs, names=both.names)

    def _full(self, relation: Apply, left: Pushed, right: Pushed) -> Pushed:
        """Both sides are joined with all that is read of the outer rows, and meet where that agrees too."""
        right = self._settled(right) if right.total else right
        terms = (*(key.term for side in (left, right) for key in side.keys), *left.pending, *right.pending)
        read = self._domain.reads((*terms, *left.outputs, *right.outputs, *relation.predicates))
        wanted = [self._domain.outer(c) for c in sorted(read)]
        left, right = self._anchored(left, wanted), self._anchored(right, wanted)
        width = len(left.carrier.schema)
        of_right = {key.term: key for key in right.keys}
        predicates = [left.resolve(p) for p in over(left, right, relation.predicates)]
        pairs = []
        for key in left.keys:
            other = of_right[key.term]
            sides = column(left.carrier, key.column), moved(column(right.carrier, other.column), width)
            predicates.append(equal(*sides, key.null_safe and other.null_safe))
            pairs.append((key, sides, key.null_safe or other.null_safe))
        both = Apply("full", left.carrier, right.carrier, tuple(predicates))
        start = len(both.schema)
        missing = [tuple(maybe_missing(side, 0) for side in sides) for _, sides, _ in pairs]
        known = tuple(Call("coalesce", sides, sides[0].type) for sides in missing)
        carrier = Map(both, known, tuple(f"outer{i}" for i in range(len(known))))
        keys = tuple(Key(key.term, start + i, null_safe) for i, (key, _, null_safe) in enumerate(pairs))
        outputs = [maybe_missing(s, 0) for s in (*left.outputs, *shifted(right.outputs, width))]
        return Pushed(carrier, tuple(outputs), tuple(f.name for f in relation.schema), keys)


def _carried(terms: Sequence[Scalar]) -> Schema:
    """The columns in which a loop carries what it reads of the outer row."""
    return tuple(Field(f"outer{i}", term.type, term.nullable) for i, term in enumerate(terms))
