"""Source text of one expression within a fused loop: the compiled half of `interpret`."""

from __future__ import annotations

from catalog.types import Kind, Physical
from ivm.analysis.ranges import can_raise
from ivm.render.scalars.bodies.table import BODIES
from ivm.render.scalars.text_memo import TextMemo
from ivm.render.scalars.texts import memo_of
from ivm.render.scalars.writer import NotCompiledError, Value, Writer
from sql.ir.functions import function_of
from sql.ir.scalar import Call, Column, Literal, Scalar, columns_of


def emit(writer: Writer, scalar: Scalar) -> Value:
    """Write the lines that compute the expression and say where its value is.

    What has no compiled form is evaluated by the interpreter before the loop, on all rows; that needs an
    expression over input columns that cannot raise, or else NotCompiledError is raised.
    """
    if isinstance(scalar, Column):
        return writer.maps[scalar.index] if scalar.index in writer.maps else _column(writer, scalar)
    if isinstance(scalar, Literal):
        return writer.literal(scalar)
    assert isinstance(scalar, Call), "decorrelation leaves no column of an outer query"
    mark = writer.mark()
    try:
        return _call(writer, scalar)
    except NotCompiledError:
        writer.back(mark)
        if can_raise(scalar) or not columns_of(scalar) <= writer.access.keys():
            raise
    reads_null = any(writer.access[c].masked for c in columns_of(scalar))
    masked = (scalar.nullable and reads_null) or _makes_null(scalar)
    return writer.precomputed(scalar, masked, scalar.type.physical)


def _makes_null(scalar: Scalar) -> bool:
    """Whether the value can be NULL though no column is."""
    if isinstance(scalar, Literal):
        return scalar.value is None
    return isinstance(scalar, Call) and (function_of(scalar.function).makes_null or any(map(_makes_null, scalar.args)))


def _column(writer: Writer, column: Column) -> Value:
    return writer.column(column.index, column.type.physical)


def _call(writer: Writer, call: Call) -> Value:
    lookup = _memo(writer, call)
    if lookup is not None:
        return lookup
    body = BODIES[call.function]
    if body.steps is None:
        raise NotCompiledError(call.function)
    return body.steps(writer, call, [emit(writer, call.args[place]) for place in body.places(call)])


def _memo(writer: Writer, call: Call) -> Value | None:
    """A text function through its memo; what compares codes needs none."""
    if not any(a.type.kind is Kind.VARCHAR for a in call.args) or BODIES[call.function].by_code:
        return None
    found = memo_of(call, writer.context)
    return None if found is None else _lookup(writer, found[0], emit(writer, call.args[found[1]]), call)


def _lookup(writer: Writer, memo: TextMemo, code: Value, call: Call) -> Value:
    """The loop gives up at a string that the memo does not know yet; a failed one is the interpreter's to report."""
    place, type_ = writer.memo(memo), call.type
    state = writer.let(f"t{place}[uint64({code.word})]")
    guard = "" if code.valid is None else f"{code.valid} and "
    writer.line(f"if {guard}{state} == 0:")
    writer.line("    return UNKNOWN")
    if memo.failure is not None:
        writer.fail(f"{state} == 4", code.valid)
    valid = code.valid
    if function_of(call.function).makes_null:
        valid = writer.let(f"{guard}{state} != 1")
    if type_.kind is Kind.BOOLEAN:
        return Value((writer.let(f"{state} == 3"),), valid)
    array = f"u{place}[uint64({code.word})"
    if type_.physical is Physical.WIDE:
        return Value((writer.let(f"{array}, 0]"), writer.let(f"{array}, 1]")), valid)
    return Value((writer.let(f"{array}]" if type_.physical is Physical.FLOAT64 else f"int64({array}])"),), valid)
