"""What computes calls of the application's functions over a relation, each in a column of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ivm.sql.ir.conditions import coalesced, is_null, junction, negation
from ivm.sql.ir.functions import function_of
from ivm.sql.ir.functions.called import as_list, calls, is_called, name_of
from ivm.sql.ir.relation import Relation, Unnest
from ivm.sql.ir.scalar import FALSE, TRUE, Call, Column, Scalar


@dataclass
class Calling:
    """A relation, and above it a column for each distinct call."""

    relation: Relation
    _found: dict[tuple[Scalar, Scalar], Column] = field(default_factory=dict)

    def placed(self, scalar: Scalar, condition: Scalar = TRUE) -> Scalar:
        """The expression, computed where the condition is true, with calls read from their columns."""
        if not isinstance(scalar, Call) or not calls(scalar):
            return scalar
        if is_called(scalar):
            return self._column(scalar, condition)
        if function_of(scalar.function).lazy or scalar.function in _LOGIC:
            return replace(scalar, args=tuple(self._one_by_one(scalar, condition)))
        return replace(scalar, args=tuple(self.placed(arg, condition) for arg in scalar.args))

    def _one_by_one(self, scalar: Call, condition: Scalar) -> Iterator[Scalar]:
        """The arguments of what looks at one only where those before leave it open."""
        is_case, taken = scalar.function == "case", condition
        for place, arg in enumerate(scalar.args):
            is_value = is_case and place % 2 == 1 and place < len(scalar.args) - 1
            made = self.placed(arg, taken if is_value else condition)
            yield made
            if is_value or place == len(scalar.args) - 1:
                continue
            if is_case:
                taken = _both(condition, made)
                condition = _both(condition, negation(_certain(made, FALSE)))
            elif scalar.function == "coalesce":
                condition = _both(condition, is_null(made))
            else:
                decides = scalar.function == "or"
                known = _certain(made, FALSE if decides else TRUE)
                condition = _both(condition, negation(known) if decides else known)

    def _column(self, call: Call, condition: Scalar) -> Column:
        name, _, *args = call.args
        made = replace(call, args=(name, TRUE, *(self.placed(arg, condition) for arg in args)))
        found = self._found.get((made, TRUE)) or self._found.get((made, condition))
        if found is None:
            found = Column(len(self.relation.schema), call.type)
            self.relation = Unnest(self.relation, (as_list(made, condition),), (name_of(call),))
            self._found[made, condition] = found
        return found


_LOGIC = ("and", "or")


def _both(one: Scalar, other: Scalar) -> Scalar:
    return junction("and", [each for each in (one, other) if each != TRUE])


def _certain(condition: Scalar, instead: Scalar) -> Scalar:
    return coalesced(condition, instead) if condition.nullable else condition
