"""Fused map-filter-project over deltas: the entry to scalar expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ivm.operators.operator import NOTHING
from ivm.operators.projection import Projection
from ivm.operators.stage import Leg, Stage
from ivm.operators.walk import Walk
from ivm.plan.mfp import Mfp
from ivm.render.scalars.by_bytes import TextInputs
from ivm.render.scalars.columns import Passed, Rows, dense, truth
from ivm.render.scalars.compiler import Compiler
from ivm.render.scalars.functions import Context, Evaluate
from ivm.render.scalars.interpret import interpreter
from ivm.render.scalars.loop_inputs import Input, LoopInputs
from ivm.render.scalars.plain_casts import PlainCasts
from ivm.render.scalars.shape import Shape, cost_rank
from ivm.render.scalars.writer import Access
from ivm.sql.ir.scalar import Column as Reference
from ivm.sql.ir.scalar import Scalar, walk
from ivm.trace.columns.column import Array, Column
from ivm.trace.concatenation import concat_deltas
from ivm.trace.delta import Columns, Delta, Group, Layout
from ivm.trace.text.dictionary import TextDictionary

if TYPE_CHECKING:
    from ivm.render.scalars.bound import BoundLoop, LoopLeg

Pattern = tuple[Access, ...]
"""How the columns that a loop may read lie."""
_MOST_LAYOUTS = 64


class Interpreted:
    """A map-filter-project run by numpy, step by step.

    Predicates without a map come first, in the order of `cost_rank`, and those that read text or can raise see
    only rows that passed all before them; then the maps, on the rows that are left; then the predicates over
    maps.
    """

    def __init__(self, shape: Shape, context: Context) -> None:
        def build(scalars: tuple[Scalar, ...]) -> list[tuple[Evaluate, bool]]:
            return [(interpreter(s, context), cost_rank(s) > 0) for s in scalars]

        self._early = build(shape.early)
        self._late = build(shape.late)
        self._maps = [interpreter(m, context) for m in shape.maps]
        self._width = shape.width

    def run(self, delta: Delta) -> Passed | bool:
        """What passes; False if no row does. Raises NumericError."""
        # IEEE arithmetic says by its results what numpy would warn of.
        with np.errstate(all="ignore"):
            rows = _filtered(Rows(delta), self._early)
            if rows is None:
                return False
            for i, evaluate in enumerate(self._maps):
                rows.append(self._width + i, evaluate(rows))
            rows = _filtered(rows, self._late)
        if rows is None:
            return False
        computed = [rows.columns[self._width + i] for i in range(len(self._maps))]
        return rows.positions, [dense(column, rows.length) for column in computed]


def _filtered(rows: Rows, predicates: list[tuple[Evaluate, bool]]) -> Rows | None:
    mask: Any = None
    for evaluate, narrows in predicates:
        if narrows and mask is not None:
            narrowed = _narrowed(rows, mask)
            if narrowed is None:
                return None
            rows, mask = narrowed, None
        hit = truth(evaluate(rows))
        mask = hit if mask is None else mask & hit
    return rows if mask is None else _narrowed(rows, mask)


class Fused:
    """Which loop runs depends on how a delta holds the columns that it reads. Each is ordered once it is worth it.

    `shape` is over deltas as `extended` has their layouts, and `placed` says what becomes of these; `Shape.project`.
    """

    def __init__(
        self,
        shape: Shape,
        context: Context,
        compiler: Compiler,
        placed: Callable[[Layout], tuple[list[int], Layout]],
        extended: Callable[[Layout], Layout | None],
    ) -> None:
        self._shape, self._context, self._compiler = shape, context, compiler
        self._placed, self._extended = placed, extended
        columns = [s for e in (*shape.early, *shape.maps, *shape.late) for s in walk(e) if isinstance(s, Reference)]
        nullable = {s.index for s in columns if s.nullable}
        physical = {s.index: s.type.physical for s in columns}
        self._inputs = [Input(c, c in nullable, physical[c]) for c in shape.inputs]
        self._held: dict[Layout, LoopInputs] = {}
        self._bound: dict[Pattern, BoundLoop | None] = {}
        self._missed: dict[Pattern, tuple[int, int]] = {}
        compiler.add(self)

    def leg(self, delta: Delta) -> LoopLeg | None:
        """The loop for deltas whose columns lie as those of this one; None if there is none, or not yet."""
        held = self._held.get(delta.layout) or self._new(delta.layout)
        looked = held.look(delta)
        pattern = looked.pattern
        if pattern in self._bound:
            bound = self._bound[pattern]
        elif self._is_worth(pattern, delta.length):
            bound = self._bind(pattern)
        else:
            return None
        if bound is None or bound.ticket.kernel is None:
            return None
        from ivm.render.scalars.bound import LoopLeg  # noqa: PLC0415  what writes loops, which few processes need

        return LoopLeg(bound, held, looked, len(delta.groups))

    def order(self) -> None:
        """Order the loops that were missed so far, whatever they are worth."""
        for pattern in list(self._missed):
            if pattern not in self._bound:
                self._bind(pattern)

    def _new(self, layout: Layout) -> LoopInputs:
        if len(self._held) >= _MOST_LAYOUTS:
            self._held.clear()
        held = self._held[layout] = LoopInputs(layout, self._inputs, *self._placed(layout), self._extended(layout))
        return held

    def _is_worth(self, pattern: Pattern, length: int) -> bool:
        calls, rows = self._missed.get(pattern, (0, 0))
        self._missed[pattern] = calls + 1, rows + length
        return self._compiler.is_worth(calls + 1, rows + length)

    def _bind(self, pattern: Pattern) -> BoundLoop | None:
        """Order the loop for a pattern; None if it has none."""
        from ivm.render.scalars.bound import bind  # noqa: PLC0415  what writes loops, which few processes need

        accesses = {column: access for (column, _, _), access in zip(self._inputs, pattern, strict=True)}
        bound = self._bound[pattern] = bind(self._shape, self._context, self._compiler, accesses)
        return bound


def _narrowed(rows: Rows, mask: Any) -> Rows | None:
    if len(mask) != rows.length:
        return rows if mask[0] else None
    positions = np.flatnonzero(mask)
    if len(positions) == rows.length:
        return rows
    return rows.take(positions) if len(positions) else None


class MfpProgram(Stage):
    """A map-filter-project, in as many pieces as it takes so that none is long to compile.

    Columns that are passed on stay lazy: their groups are narrowed, and only if rows were dropped; a map that is a bare
    column is passed on as well, unless `gathered`: then it is copied by the same loop. The projected maps become one
    new group. Columns that are not bound stay so.

    Native functions of text columns that have no codes are computed by the delta's sources (see `by_bytes`).
    """

    def __init__(self, mfp: Mfp, dictionary: TextDictionary, compiler: Compiler | None = None) -> None:
        self._context = context = Context(dictionary)
        shapes = Shape.of(mfp).cut()
        self._pieces = [Piece(shape, context, None if shape.is_too_heavy else compiler) for shape in shapes]
        self._walk = Walk(self._pieces)

    @property
    def stages(self) -> Sequence[Stage]:
        """Its pieces."""
        return self._pieces

    @property
    def walk(self) -> Walk:
        """The walk through them."""
        return self._walk

    @property
    def remembers(self) -> bool:
        """Whether it remembers what functions made of texts."""
        return self._context.remembers

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.passed`."""
        return self._walk.parts(delta)

    def run(self, delta: Delta) -> Delta | None:
        """The rows of a delta that pass, projected; None if none does. Raises NumericError. It does not write to it."""
        if not delta.length:
            return None
        passed = self._walk.all(delta)
        return passed[0] if len(passed) == 1 else concat_deltas(passed)


class Piece(Stage):
    """One loop of a program, run by the interpreter until it is compiled, and always without a compiler."""

    def __init__(self, shape: Shape, context: Context, compiler: Compiler | None) -> None:
        self.shape = shape
        self._context, self._compiler = context, compiler
        self._texts = TextInputs(self.shape, self._context)
        self.varies = bool(self._texts.expressions)
        self._casts = PlainCasts((*shape.early, *shape.maps, *shape.late))
        # Each path of a join that runs this program comes with its own layout.
        self._placed = lru_cache(_MOST_LAYOUTS)(self.shape.project)
        self._forms: dict[int, tuple[Interpreted, Fused | None]] = {0: self._form(0)}
        self.is_light = not (shape.maps or shape.early or shape.late)

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.passed`: by the interpreter."""
        if self.is_light:
            yield self._project(delta, None, [])
            return
        wanted = self.variant(delta)
        interpreted, _ = self._of(wanted)
        wanted = self._texts.bits_of(wanted)
        passed = interpreted.run(self._texts.bound(delta, wanted) if wanted else delta)
        yield NOTHING if isinstance(passed, bool) else self._project(delta, *passed)

    def variant(self, delta: Delta) -> int:
        """See `Stage.variant`: which functions of texts are read as columns."""
        return self._texts.wanted(delta) if self.varies else 0

    def leg(self, delta: Delta) -> Leg | None:
        """See `Stage.leg`: a loop, if it is compiled; not where texts would need codes to be cast by it."""
        if self.is_light:
            return Projection(*self._placed(delta.layout))
        if self._casts.gain(delta):
            return None
        _, fused = self._of(self.variant(delta))
        return None if fused is None else fused.leg(delta)

    def _of(self, wanted: int) -> tuple[Interpreted, Fused | None]:
        wanted = self._texts.bits_of(wanted)
        form = self._forms.get(wanted)
        if form is None:
            form = self._forms[wanted] = self._form(wanted)
        return form

    def _form(self, wanted: int) -> tuple[Interpreted, Fused | None]:
        shape = self._texts.rewritten(wanted) if wanted else self.shape
        fused = None
        if self._compiler is not None:
            extended = partial(self._texts.extended, wanted=wanted)
            fused = Fused(shape, self._context, self._compiler, self._placed, extended)
            if self._compiler.trial:
                shape = replace(shape, early=(), late=())
        return Interpreted(shape, self._context), fused

    def _project(self, delta: Delta, positions: Array | None, maps: list[Column | None]) -> Delta:
        used, layout = self._placed(delta.layout)
        groups = [delta.groups[g] for g in used]
        times, diffs, length = delta.times, delta.diffs, delta.length
        if positions is not None:
            groups = [g.take(positions) for g in groups]
            length = len(positions)
            times = times if isinstance(times, int) else times[positions]
            diffs = None if diffs is None else diffs[positions]
        if self.shape.kept_maps:
            groups.append(Group(Columns([column for k in self.shape.kept_maps if (column := maps[k]) is not None])))
        return Delta(groups, layout, length, times, diffs)
