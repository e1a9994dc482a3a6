"""Columns, computed values and aggregates that nothing above reads are dropped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ivm.analysis.determined import determined
from ivm.analysis.unique_keys import is_unique
from ivm.sql.ir.rebuild import map_inputs, offsets, scalars_of, with_inputs, with_scalars
from ivm.sql.ir.relation import Asof, Filter, Join, Map, Negate, Project, Reduce, Relation, TopK, Union, Unnest, Window
from ivm.sql.ir.scalar import Column, columns_of, remap
from ivm.sql.ir.window_function import WindowFunction
from ivm.transform.rewrite import filtered, mapped, names, projected, unless_equal

Places = dict[int, int]
"""Where the columns that are asked for stand in the narrower relation, by their old position."""


def prune_columns(relation: Relation) -> Relation:
    """Keep only what is read above: inputs of joins and unions are projected to it, maps and aggregates dropped.

    Nothing is dropped below Threshold, TopK and most Windows, which look at whole rows, and no key of a Reduce, which
    is what it groups by, unless the other keys determine it. A projection never goes below a Get: a base table is held
    once, with all its columns. A node that is read in several places keeps what any of them reads, so that it stays one
    node.
    """
    everything = frozenset(range(len(relation.schema)))
    needs: dict[int, frozenset[int]] = {}
    _Pruner(needs).narrowed(relation, everything)
    narrow, places = _Pruner(needs).narrowed(relation, everything)
    return projected(narrow, tuple(places[c] for c in range(len(relation.schema))), names(relation))


@dataclass
class _Pruner:
    """`needs` are the columns that anything reads of each node, by its id; the first of two passes collects them."""

    needs: dict[int, frozenset[int]]
    done: dict[int, tuple[Relation, Places]] = field(default_factory=dict)

    def narrowed(self, relation: Relation, needed: frozenset[int]) -> tuple[Relation, Places]:
        """A relation with at least the columns `needed`, and their places in it."""
        known = self.needs.get(id(relation), frozenset())
        total = known | needed
        if id(relation) not in self.done or total != known:
            self.needs[id(relation)] = total
            after, places = _narrow(self, relation, total)
            self.done[id(relation)] = unless_equal(after, relation), places
        return self.done[id(relation)]

    def exactly(self, relation: Relation, kept: Iterable[int]) -> Relation:
        """The relation with the columns `kept`, in that order, and no others."""
        columns = tuple(kept)
        below, places = self.narrowed(relation, frozenset(columns))
        before = names(relation)
        return projected(below, tuple(places[c] for c in columns), tuple(before[c] for c in columns))


def _narrow(pruner: _Pruner, relation: Relation, needed: frozenset[int]) -> tuple[Relation, Places]:
    match relation:
        case Map():
            return _narrowed_map(pruner, relation, needed)
        case Unnest():
            return _narrowed_unnest(pruner, relation, needed)
        case Filter():
            reads = needed.union(*map(columns_of, relation.predicates))
            below, places = pruner.narrowed(relation.input, reads)
            return filtered(below, (remap(p, places.__getitem__) for p in relation.predicates)), places
        case Project():
            kept = sorted(needed)
            below, places = pruner.narrowed(relation.input, frozenset(relation.columns[c] for c in kept))
            columns = tuple(places[relation.columns[c]] for c in kept)
            renamed = names(relation)
            return projected(below, columns, tuple(renamed[c] for c in kept)), _renumbered(kept)
        case Join():
            return _narrowed_join(pruner, relation, needed)
        case Asof():
            return _narrowed_asof(pruner, relation, needed)
        case Reduce():
            return _narrowed_reduce(pruner, relation, needed)
        case Union():
            kept = sorted(needed)
            return Union(tuple(pruner.exactly(each, kept) for each in relation.inputs)), _renumbered(kept)
        case Negate():
            below, places = pruner.narrowed(relation.input, needed)
            return with_inputs(relation, (below,)), places
        case Window():
            return _narrowed_window(pruner, relation, needed)
        case TopK(ties=True):
            return _narrowed_ranked(pruner, relation, needed)
    whole = map_inputs(relation, lambda each: pruner.exactly(each, range(len(each.schema))))
    return whole, _renumbered(range(len(relation.schema)))


def _narrowed_ranked(pruner: _Pruner, relation: TopK, needed: frozenset[int]) -> tuple[Relation, Places]:
    """With ties, which rows there are depends on the group and the order alone."""
    kept = sorted(needed.union(relation.group, (o.column for o in relation.order)))
    places = _renumbered(kept)
    group = tuple(places[c] for c in relation.group)
    order = tuple(replace(o, column=places[o.column]) for o in relation.order)
    return replace(relation, input=pruner.exactly(relation.input, kept), group=group, order=order), places


def _renumbered(kept: Iterable[int]) -> Places:
    return {c: i for i, c in enumerate(kept)}


def _narrowed_map(pruner: _Pruner, relation: Map, needed: frozenset[int]) -> tuple[Relation, Places]:
    width = len(relation.input.schema)
    kept = [i for i in range(len(relation.scalars)) if width + i in needed]
    reads = frozenset(c for c in needed if c < width).union(*(columns_of(relation.scalars[i]) for i in kept))
    below, places = pruner.narrowed(relation.input, reads)
    scalars = tuple(remap(relation.scalars[i], places.__getitem__) for i in kept)
    after = len(below.schema)
    places = {**places, **{width + i: after + n for n, i in enumerate(kept)}}
    return mapped(below, scalars, tuple(relation.names[i] for i in kept)), places


def _narrowed_unnest(pruner: _Pruner, relation: Unnest, needed: frozenset[int]) -> tuple[Relation, Places]:
    """All lists stay, since they say how many rows there are."""
    width, total = len(relation.input.schema), len(relation.schema)
    reads = frozenset(c for c in needed if c < width).union(*map(columns_of, relation.lists))
    below, places = pruner.narrowed(relation.input, reads)
    numbered = relation.numbered and total - 1 in needed
    narrow = replace(
        relation,
        input=below,
        lists=tuple(remap(each, places.__getitem__) for each in relation.lists),
        names=relation.names[: len(relation.lists) + numbered],
        numbered=numbered,
    )
    after = len(below.schema)
    return narrow, {**places, **{width + i: after + i for i in range(len(narrow.added))}}


def _narrowed_join(pruner: _Pruner, relation: Join, needed: frozenset[int]) -> tuple[Relation, Places]:
    reads = needed.union(*relation.equivalences)
    starts = offsets(relation.inputs)
    places: Places = {}
    inputs = []
    for each, start in zip(relation.inputs, starts, strict=False):
        kept = sorted(c - start for c in reads if start <= c < start + len(each.schema))
        places.update({start + c: len(places) + i for i, c in enumerate(kept)})
        inputs.append(pruner.exactly(each, kept))
    classes = tuple(tuple(places[c] for c in group) for group in relation.equivalences)
    return Join(tuple(inputs), classes), places


def _narrowed_asof(pruner: _Pruner, relation: Asof, needed: frozenset[int]) -> tuple[Relation, Places]:
    """Of the right all columns stay, by which ties are broken, unless there are none."""
    width, total = len(relation.left.schema), len(relation.schema)
    pairs = (*relation.keys, relation.times)
    left = sorted({c for c in needed if c < width} | {c for c, _ in pairs})
    of_right = [c for _, c in pairs]
    right = sorted({c - width for c in needed if c >= width} | set(of_right))
    if not is_unique(relation.right, of_right):
        right = list(range(total - width))
    at_left, at_right = _renumbered(left), _renumbered(right)
    narrow = replace(
        relation,
        left=pruner.exactly(relation.left, left),
        right=pruner.exactly(relation.right, right),
        keys=tuple((at_left[c], at_right[d]) for c, d in relation.keys),
        times=(at_left[relation.times[0]], at_right[relation.times[1]]),
    )
    return narrow, at_left | {width + c: len(left) + at for c, at in at_right.items()}


def _narrowed_reduce(pruner: _Pruner, relation: Reduce, needed: frozenset[int]) -> tuple[Relation, Places]:
    width = len(relation.keys)
    keys = _kept_keys(relation, needed)
    read = [i for i in range(width, len(relation.names)) if i in needed]
    kept = [*keys, *read] or list(range(len(relation.names)))[:1]  # rather than a row without columns
    aggregates = tuple(relation.aggregates[i - width] for i in kept if i >= width)
    own = tuple(relation.keys[i] for i in keys)
    narrow = replace(relation, keys=own, aggregates=aggregates, names=tuple(relation.names[i] for i in kept))
    below, places = pruner.narrowed(relation.input, frozenset[int]().union(*map(columns_of, scalars_of(narrow))))
    moved = with_scalars(narrow, lambda s: remap(s, places.__getitem__))
    return with_inputs(moved, (below,)), _renumbered(kept)


def _kept_keys(relation: Reduce, needed: frozenset[int]) -> list[int]:
    """The keys but for those that nobody reads and the others determine; at least one, if there are any."""
    kept = list(range(len(relation.keys)))
    columns = {i: key.index for i, key in enumerate(relation.keys) if isinstance(key, Column)}
    for i in reversed(range(len(kept))):
        if i in columns and i not in needed and len(kept) > 1:
            others = [columns[k] for k in kept if k != i and k in columns]
            if columns[i] in determined(relation.input, others):
                kept.remove(i)
    return kept


_BLIND_TO_TIES = frozenset(("rank", "dense_rank", "percent_rank", "cume_dist"))
_FRAMED = frozenset(("first_value", "last_value", "nth_value", "row_number", "ntile", "lag", "lead"))


def _narrowed_window(pruner: _Pruner, relation: Window, needed: frozenset[int]) -> tuple[Relation, Places]:
    """Functions that nobody reads are dropped; columns only where they cannot be asked to break a tie."""
    width = len(relation.input.schema)
    kept = [i for i in range(len(relation.functions)) if width + i in needed]
    if not kept:
        return pruner.narrowed(relation.input, needed)
    functions, own = tuple(relation.functions[i] for i in kept), tuple(relation.names[i] for i in kept)
    narrow = replace(relation, functions=functions, names=own)
    ordered = (*relation.partition, *(o.column for o in relation.order))
    reads = frozenset(c for c in needed if c < width).union(ordered, *map(columns_of, scalars_of(narrow)))
    if not all(map(_is_blind_to_ties, functions)) and not is_unique(relation.input, ordered):
        reads = frozenset(range(width))
    columns = sorted(reads) or list(range(width))[:1]  # rather than rows without columns
    places = _renumbered(columns)
    moved = replace(
        with_scalars(narrow, lambda s: remap(s, places.__getitem__)),
        input=pruner.exactly(relation.input, columns),
        partition=tuple(places[c] for c in relation.partition),
        order=tuple(replace(o, column=places[o.column]) for o in relation.order),
    )
    return moved, {**places, **{width + i: len(columns) + n for n, i in enumerate(kept)}}


def _is_blind_to_ties(function: WindowFunction) -> bool:
    """Whether the value at a row does not depend on how it stands among those that ORDER BY does not tell from it."""
    if function.function in _BLIND_TO_TIES:
        return True
    return function.function not in _FRAMED and (function.frame.peers or function.frame.is_whole)
