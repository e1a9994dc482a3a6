"""The source text of a program's fused loop: filter, compute and write out in one pass over the rows.

All that it takes stands in a frame (`ivm.kernels.memory.frame`). Constants, memos and columns bear numbers in the order
of their first use, so that programs of one shape have one text, and the text is its own identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from ivm.analysis.ranges import can_raise
from ivm.catalog.types import Kind, Physical
from ivm.kernels.memory.frame import END, FIRST, HEAD, ROOM
from ivm.render.scalars.bodies.table import BODIES
from ivm.render.scalars.functions import Context
from ivm.render.scalars.interpret import interpreter
from ivm.render.scalars.scratch import is_remembered, memo_of, passes_texts
from ivm.render.scalars.shape import Shape, cost_rank
from ivm.render.scalars.text_memo import TextMemo
from ivm.render.scalars.writer import Access, Arguments, Masked, NotCompiledError, Value, Writer
from ivm.sql.ir.functions import function_of
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar, columns_of, walk

FAILED, UNKNOWN, OTHERWISE = -1, -2, -3
"""What a loop returns in place of the number of rows: a row raises; a memo does not know a string; a column does not
lie as it was written for.
"""

_PUT = {
    Physical.BOOL: "put_bool",
    Physical.INT32: "put_int32",
    Physical.INT64: "put_int64",
    Physical.WIDE: "put_int64",
    Physical.FLOAT64: "put_double",
    Physical.CODE: "put_int32",
}

_HEADER = '''"""A fused loop, written by ivm.render.scalars.codegen."""

import numpy as np
from numba import boolean, float32, float64, int8, int32, int64, uint64

from ivm.kernels.numbers.parts import *
from ivm.kernels.compiling.compiled import njit
from ivm.kernels.memory.at import MANY, int32s_at, ints_at
from ivm.kernels.memory.frame import array_in, constant, double_constant, made, narrowed, put_bool, put_double
from ivm.kernels.memory.frame import put_int32, put_int64, word_at
from ivm.kernels.memory.in_place import piece_of
from ivm.kernels.memory.located import bool_at, double_at, high_at, in_piece, int8_at, int32_at, int64_at, is_there
from ivm.kernels.memory.located import lies_otherwise, located, mask_at, pieces_at
from ivm.kernels.numbers.wide import add as wide_add, compare as wide_compare, exceeds, fits_int64, mul as wide_mul
from ivm.kernels.numbers.wide import mul_signed, neg as wide_neg, scale_down, scale_up, sub as wide_sub
from ivm.kernels.numbers.wide import to_float as wide_to_float

FAILED, UNKNOWN, OTHERWISE = -1, -2, -3
SIGNATURE = int64(int64[::1])


'''


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop's text, and what its `arguments` are. The arrays that its frame tells of are the places of each source
    that is read and the references to it, then those of memos, and what is evaluated before it.

    It gives how many rows pass.

    `stored` are the maps that it writes, in order, each to a row of the room, or to two if they are WIDE, with whether
    they have a mask, which comes behind; `left` those that the interpreter computes afterwards.
    """

    source: str
    arguments: Arguments
    stored: tuple[tuple[int, bool], ...]
    left: tuple[int, ...]


def generate(shape: Shape, access: dict[int, Access], context: Context) -> Loop:
    """The loop of a program over columns that are accessed so; NotCompiledError if it has none."""
    writer = Writer(access, context, emit)
    plain = [p for p in shape.early if cost_rank(p) == 0]
    rest = shape.early[len(plain) :]
    if plain:
        _scan(writer, plain)
        if not (rest or shape.maps or shape.late):
            return _finish(writer, shape, "passed", (), ())
    # The loop over the rows that passed so far. The result overtakes no position that is still to be read.
    writer.line("count, one = uint64(0), uint64(1)")
    with writer.block(f"for step in range({'0, int64(passed)' if plain else 'first, n'}):"):
        writer.line(f"signed = {'word_at(positions, step)' if plain else 'step'}")
        writer.line("i = uint64(signed)")
        _filter(writer, rest)
        left = _write_maps(writer, shape)
        _filter(writer, shape.late)
        stored = _store(writer, shape, left)
    return _finish(writer, shape, "count", stored, left)


def _scan(writer: Writer, predicates: list[Scalar]) -> None:
    """A loop of its own for the plain predicates, without a branch: one that is hard to predict costs 5 ns a row."""
    # Indexes are unsigned, since numba lets a negative one count from the end, which costs a test for each access.
    writer.line("passed, one = uint64(0), uint64(1)")
    with writer.block("for signed in range(first, n):"):
        writer.line("i = uint64(signed)")
        hit = writer.let(_all_true(writer, predicates))
        writer.line("put_int64(positions, passed, signed)")
        writer.line(f"passed += uint64({hit})")


def _filter(writer: Writer, predicates: tuple[Scalar, ...]) -> None:
    """Leave rows out. Predicates of one rank are evaluated together, without a branch between them, if none raises."""
    for rank, ranked in groupby(predicates, cost_rank):
        group = list(ranked)
        for together in [group] if rank <= 1 else [[each] for each in group]:
            writer.line(f"if not ({_all_true(writer, together)}):")
            writer.line("    continue")


def _all_true(writer: Writer, predicates: list[Scalar]) -> str:
    values = [emit(writer, p) for p in predicates]
    terms = [t for v in values for t in ([v.word] if v.valid is None else [v.valid, v.word])]
    return " & ".join(f"({t})" for t in terms)


def _write_maps(writer: Writer, shape: Shape) -> tuple[int, ...]:
    """Compute the maps; those left to the interpreter must not be read by anything in the loop."""
    left: list[int] = []
    for k, scalar in enumerate(shape.maps):
        mark = writer.mark()
        try:
            writer.maps[shape.width + k] = emit(writer, scalar)
        except NotCompiledError:
            writer.back(mark)
            left.append(k)
            writer.left.add(shape.width + k)
    late = {c - shape.width for p in shape.late for c in columns_of(p)}
    if late & set(left):
        raise NotCompiledError("a predicate over a map that has no compiled form")
    return tuple(left)


def _store(writer: Writer, shape: Shape, left: tuple[int, ...]) -> tuple[tuple[int, bool], ...]:
    needed = set(shape.kept_maps) | {c - shape.width for k in left for c in columns_of(shape.maps[k])}
    stored = [k for k in range(len(shape.maps)) if k in needed and k not in left]
    writer.line("put_int64(positions, count, signed)")
    for place, k in enumerate(stored):
        value, put = writer.maps[shape.width + k], _PUT[shape.maps[k].type.physical]
        if len(value.words) == 1:
            writer.line(f"{put}(m{place}, count, {value.word})")
        else:
            writer.line("twice = count + count")
            for row, word in zip(("twice", "twice + one"), value.words, strict=True):
                writer.line(f"{put}(m{place}, {row}, {word})")
        if value.valid is not None:
            writer.line(f"put_bool(m{place}v, count, {value.valid})")
    writer.line("count += one")
    return tuple((k, writer.maps[shape.width + k].valid is not None) for k in stored)


def _finish(
    writer: Writer, shape: Shape, end: str, stored: tuple[tuple[int, bool], ...], left: tuple[int, ...]
) -> Loop:
    taken = writer.arguments
    groups = 1 + max((access.group for access in writer.access.values()), default=-1)
    arrays = [name for group in range(groups) for name in (f"d{group}", f"r{group}")]
    for i, memo in enumerate(taken.memos):
        arrays += [f"t{i}"] if memo.values is None else [f"t{i}", f"u{i}"]
    for i, (_, masked) in enumerate(taken.evaluated):
        arrays += [f"p{i}", f"p{i}v"] if masked else [f"p{i}"]
    rows, row = list[str](), 0
    for place, (k, masked) in enumerate(stored):
        rows.append(f"    m{place} = made(frame, {row})")
        row += 1 + (shape.maps[k].type.physical is Physical.WIDE)
        if masked:
            rows.append(f"    m{place}v = made(frame, {row})")
            row += 1
    lines = [
        '@njit(cache=True, nogil=True, fastmath=False, _nrt=False, error_model="numpy")',
        "def loop(frame):",
        f"    first, n = frame[{FIRST}], frame[{END}]",
        *[f"    {name} = array_in(frame, {HEAD + 2 * i})" for i, name in enumerate(arrays)],
        *_constants(taken),
        f"    positions = frame[{ROOM}]",
        *rows,
        *_located(writer),
        *writer.lines,
        f"    return narrowed(frame, {len(arrays)}, int64({end}))",
    ]
    return Loop(_HEADER + "\n".join(lines) + "\n", taken, stored, left)


def _constants(taken: Arguments) -> list[str]:
    """What names the constants, which stand in this order."""
    integers, doubles = len(taken.integers), len(taken.doubles)
    behind = integers + doubles
    return [
        *[f"    k{i} = constant(frame, {i})" for i in range(integers)],
        *[f"    f{i} = double_constant(frame, {integers + i})" for i in range(doubles)],
        *[
            f"    s{i} = ints_at(constant(frame, {behind + 2 * i}), constant(frame, {behind + 2 * i + 1}))"
            for i in range(len(taken.sets))
        ],
    ]


def _located(writer: Writer) -> list[str]:
    """Where columns lie, unless they do so otherwise than the loop is written for."""
    lines: list[str] = []
    tests: list[str] = []
    for access in writer.access.values():
        slot, group = access.slot, access.group
        if slot in writer.located:
            place = f"d{group}, {writer.located[slot]}"
            lines.append(f"    c{slot} = located({place})")
            if access.masked is Masked.BYTES:
                lines.append(f"    c{slot}v = mask_at(c{slot})")
            tests.append(f"lies_otherwise({place}, {int(access.masked)}, {access.size}, {access.in_pieces})")
    if not tests:
        return lines
    pieces: list[str] = []
    for group, slot in writer.pieces.items():
        pieces.append(f"    g{group} = pieces_at(d{group}, {writer.located[slot]})")
        pieces.append(f"    g{group}p = int32s_at(word_at(g{group}, int64(0)), MANY)")
        pieces.append(f"    g{group}s = ints_at(word_at(g{group}, int64(1)), MANY)")
    return [*lines, f"    if {' | '.join(tests)}:", "        return OTHERWISE", *pieces]


def emit(writer: Writer, scalar: Scalar) -> Value:
    """Write the lines that compute the expression and say where its value is.

    What has no compiled form is evaluated by the interpreter before the loop, on all rows; that needs an
    expression over input columns that cannot raise and makes no text, or else NotCompiledError is raised.
    """
    if isinstance(scalar, Column):
        if scalar.index not in writer.maps and scalar.index not in writer.access:
            raise NotCompiledError("a text that is not made yet")
        return writer.maps.get(scalar.index) or writer.column(scalar.index, scalar.type.physical)
    if isinstance(scalar, Literal):
        return writer.literal(scalar)
    assert isinstance(scalar, Call), "decorrelation leaves no column of an outer query"
    mark = writer.mark()
    try:
        return _call(writer, scalar)
    except NotCompiledError:
        writer.back(mark)
        made = scalar.type.physical is Physical.CODE
        if made or can_raise(scalar) or not (writer.maps.keys() | writer.left).isdisjoint(columns_of(scalar)):
            raise
    return writer.precomputed(scalar, scalar.nullable or _makes_null(scalar), scalar.type.physical)


def _makes_null(scalar: Scalar) -> bool:
    """Whether the value can be NULL though no column is."""
    if isinstance(scalar, Literal):
        return scalar.value is None
    return isinstance(scalar, Call) and (function_of(scalar.function).makes_null or any(map(_makes_null, scalar.args)))


def _call(writer: Writer, call: Call) -> Value:
    lookup = _memo(writer, call)
    if lookup is not None:
        return lookup
    body = BODIES[call.function]
    if body.steps is None or passes_texts(call):
        raise NotCompiledError(call.function)
    return body.steps(writer, call, [emit(writer, call.args[place]) for place in body.places(call)])


def _memo(writer: Writer, call: Call) -> Value | None:
    """A text function through its memo; what compares codes needs none."""
    if not is_remembered(call):
        return None
    memo, _ = memo_of(call, writer.context, interpreter)
    return _lookup(writer, memo, emit(writer, next(c for c in walk(call) if isinstance(c, Column))), call)


def _lookup(writer: Writer, memo: TextMemo, code: Value, call: Call) -> Value:
    """The loop gives up at a string that the memo does not know yet."""
    place, type_ = writer.memo(memo), call.type
    state = writer.let(f"int8_at(t{place}, {code.word})")
    guard = "" if code.valid is None else f"{code.valid} and "
    writer.line(f"if {guard}{state} == 0:")
    writer.line("    return UNKNOWN")
    valid = code.valid
    if _makes_null(call):
        valid = writer.let(f"{guard}{state} != 1")
    if type_.kind is Kind.BOOLEAN:
        return Value((writer.let(f"{state} == 3"),), valid)
    return writer.load(f"u{place}", code.word, type_.physical, valid)
