"""What enters a loop: the largest parts of its bindings that read none of its names, which stay as rounds go by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ivm.analysis.carried import column_below, columns_joined
from ivm.analysis.lifted import is_lifted
from ivm.sql.ir.rebuild import map_inputs, with_inputs
from ivm.sql.ir.relation import Join, LetRec, RecursiveGet, Relation

Enter = Callable[[Relation, int | None, bool], Relation]


def entered(loop: LetRec, columns: Mapping[str, int], enter: Enter) -> LetRec:
    """The loop with `enter(part, column, is_joined)` in place of each part that enters.

    `columns`: those that bindings carry along, see `ivm.analysis.carried`; none for a binding of which none is known.
    `column`: the part's own with the same values; None where rows with one value may need all of it. `is_joined`:
    whether it is joined with what changes from round to round; else its rows are among that.
    """
    return replace(loop, bindings=tuple(
        replace(each, relation=_Entered(enter).within(each.relation, columns.get(each.name))) for each in loop.bindings
    ))  # fmt: skip


class _Entered:
    """One binding; each part in each of its places once."""

    def __init__(self, enter: Enter) -> None:
        self._enter = enter
        self._known: dict[tuple[int, int | None, bool], Relation] = {}

    def within(self, relation: Relation, column: int | None, is_joined: bool = False) -> Relation:
        place = id(relation), column, is_joined
        if place not in self._known:
            self._known[place] = self._made(relation, column, is_joined)
        return self._known[place]

    def _made(self, relation: Relation, column: int | None, is_joined: bool) -> Relation:
        if not is_lifted(relation):
            return self._enter(relation, column, is_joined)
        if isinstance(relation, RecursiveGet):
            return relation
        if isinstance(relation, Join):
            owned = (None,) * len(relation.inputs) if column is None else columns_joined(relation, column)
            pairs = zip(relation.inputs, owned, strict=True)
            return with_inputs(relation, tuple(self.within(each, own, is_joined=True) for each, own in pairs))
        below = None if column is None else column_below(relation, column)
        assert column is None or below is not None, "it is carried"
        return map_inputs(relation, lambda each: self.within(each, below))
