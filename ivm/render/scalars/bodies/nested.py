"""What makes lists and structs of their parts, and takes them apart."""

from __future__ import annotations

from collections.abc import Callable

from ivm.catalog.types import Physical
from ivm.render.scalars.bodies.body import Body
from ivm.render.scalars.columns import dense
from ivm.render.scalars.functions import Apply, Context
from ivm.sql.ir.scalar import Call, Literal, columns_of
from ivm.trace.columns.column import Column
from ivm.trace.columns.nested_parts import element_at, field_at, lengths_of, structs_of_values
from ivm.trace.text.dictionary import TextDictionary

Apart = Callable[[Call, list[Column], TextDictionary], Column]
"""The value of a call by the columns of its arguments, all of one length."""


def _by(compute: Apart) -> Callable[[Call, Context], Apply]:
    """How the interpreter computes it; of constants once, whose codes stay for as long as the context does."""

    def bound(call: Call, context: Context) -> Apply:
        known: list[Column] = []
        is_constant = not columns_of(call)

        def apply(*columns: Column) -> Column:
            if known:
                return known[0]
            length = max((len(column.values) for column in columns), default=1)
            found = compute(call, [dense(column, length) for column in columns], context.dictionary)
            if is_constant:
                if call.type.physical is Physical.CODE:
                    context.literals.hold(found.values)
                known.append(found)
            return found

        return apply

    return bound


def _field(call: Call, columns: list[Column], dictionary: TextDictionary) -> Column:
    place = call.args[1]
    assert isinstance(place, Literal), "the binder has looked for it"
    assert isinstance(place.value, int), "it counts"
    return field_at(columns[0], call.args[0].type, place.value, dictionary)


def _element(call: Call, columns: list[Column], dictionary: TextDictionary) -> Column:
    lists, places = columns
    return element_at(lists, call.args[0].type, places, dictionary)


BODIES = (
    Body("struct_pack", strict=_by(lambda call, columns, texts: structs_of_values(columns, call.type, texts))),
    Body("field", values=(0,), strict=_by(_field)),
    Body("element", strict=_by(_element)),
    Body("list_length", strict=_by(lambda call, columns, texts: lengths_of(columns[0], call.args[0].type, texts))),
)
