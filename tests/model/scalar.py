"""Scalars evaluated on one row, slowly and obviously: exact integers, three-valued logic, errors where SQL has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ivm.catalog.errors import NumericError
from ivm.catalog.types import Kind
from ivm.sql.ir.functions import FUNCTIONS
from ivm.sql.ir.functions.called import CALLED
from ivm.sql.ir.functions.series import COUNTED
from ivm.sql.ir.scalar import Call, Column, Literal, Outer, Scalar, Value
from tests.model import dates, intervals, lists, more_numbers, more_texts, numbers, texts
from tests.model.asked import asked
from tests.model.casts import cast
from tests.model.values import checked, same, sort_key

Row = Sequence[Value]


def value_of(scalar: Scalar, row: Row = ()) -> Value:
    """The value of the expression on `row`, in engine form.

    Raises:
        NumericError: an overflow, a division by zero, a cast without a result.
        NotImplementedError: the model does not know the function.
    """
    match scalar:
        case Column():
            return row[scalar.index]
        case Literal():
            return checked(scalar.value, scalar.type)
        case Outer():
            raise NotImplementedError("a column of an outer query stands for a value only once it is bound to a row")
    lazy = _LAZY.get(scalar.function)
    if lazy is not None:
        return lazy(scalar, row)
    args = [value_of(arg, row) for arg in scalar.args]
    null_aware = _NULL_AWARE.get(scalar.function)
    if null_aware is not None:
        return null_aware(args)
    strict = _STRICT.get(scalar.function)
    declared = FUNCTIONS.get(scalar.function)
    if declared is not None and declared.asked is not None:
        strict = asked
    if strict is None:
        raise NotImplementedError(f"the model does not know {scalar.function}")
    return None if None in args else checked(strict(scalar, args), scalar.type)


def is_true(scalar: Scalar, row: Row) -> bool:
    """Whether a predicate is TRUE on the row, neither FALSE nor NULL."""
    return value_of(scalar, row) is True


def _case(call: Call, row: Row) -> Value:
    for condition, value in zip(call.args[:-1:2], call.args[1::2], strict=True):
        if is_true(condition, row):
            return value_of(value, row)
    return value_of(call.args[-1], row)


def _coalesce(call: Call, row: Row) -> Value:
    for arg in call.args:
        value = value_of(arg, row)
        if value is not None:
            return value
    return None


def _called(call: Call, row: Row) -> Value:
    """What the application's function says, which is abs() in all tests of the model; or the list that has just that."""
    _, condition, argument = call.args
    given = value_of(argument, row) if is_true(condition, row) else None
    found = None if given is None else abs(given)  # type: ignore[arg-type]
    return [found] if call.type.kind is Kind.LIST else found  # type: ignore[return-value]


def _raise_if(call: Call, row: Row) -> Value:
    condition, message, value = call.args
    if is_true(condition, row):
        raise NumericError(str(value_of(message)))
    return value_of(value, row)


def _and(args: Row) -> Value:
    return False if False in args else None if None in args else True


def _or(args: Row) -> Value:
    return True if True in args else None if None in args else False


def _in(args: Row) -> Value:
    subject, *values = args
    if subject is None:
        return None
    if any(v is not None and same(subject, v) for v in values):
        return True
    return None if None in values else False


def _is_distinct(args: Row) -> Value:
    left, right = args
    if left is None or right is None:
        return (left is None) != (right is None)
    return not same(left, right)


def _nullif(args: Row) -> Value:
    left, right = args
    return None if left is not None and right is not None and same(left, right) else left


def _extreme(args: Row, last: int) -> Value:
    values = sorted((v for v in args if v is not None), key=sort_key)
    return values[last] if values else None


def _comparison(test: Callable[[object, object], object]) -> Callable[[Call, list[Value]], Value]:
    return lambda call, args: bool(test(sort_key(args[0]), sort_key(args[1])))


def _try_cast(call: Call, row: Row) -> Value:
    (arg,) = call.args
    value = value_of(arg, row)
    try:
        return None if value is None else checked(cast(value, arg.type, call.type), call.type)
    except NumericError:
        return None


_LAZY: dict[str, Callable[[Call, Row], Value]] = {
    CALLED: _called,
    "case": _case,
    "coalesce": _coalesce,
    "try_cast": _try_cast,
    "raise_if": _raise_if,
}

_NULL_AWARE: dict[str, Callable[[Row], Value]] = {
    "list_value": lists.values,
    "is_null": lambda args: args[0] is None,
    "is_distinct": _is_distinct,
    "and": _and,
    "or": _or,
    "in": _in,
    "nullif": _nullif,
    "greatest": lambda args: _extreme(args, -1),
    "least": lambda args: _extreme(args, 0),
    **more_texts.NULL_AWARE,
}

_STRICT: dict[str, Callable[[Call, list], Value]] = {  # type: ignore[type-arg]
    **dict.fromkeys(COUNTED, lists.series),
    "generate_subscripts": lists.subscripts,
    "eq": _comparison(lambda a, b: a == b),
    "ne": _comparison(lambda a, b: a != b),
    "lt": _comparison(lambda a, b: a < b),  # type: ignore[operator]
    "le": _comparison(lambda a, b: a <= b),  # type: ignore[operator]
    "gt": _comparison(lambda a, b: a > b),  # type: ignore[operator]
    "ge": _comparison(lambda a, b: a >= b),  # type: ignore[operator]
    "not": lambda call, args: not args[0],
    "cast": lambda call, args: cast(args[0], call.args[0].type, call.type),
    **numbers.FUNCTIONS,
    **dates.FUNCTIONS,
    **intervals.FUNCTIONS,
    **texts.FUNCTIONS,
    **more_numbers.FUNCTIONS,
    **more_texts.FUNCTIONS,
}


def raises(scalar: Scalar, row: Row = ()) -> bool:
    """Whether the expression has no value on the row."""
    try:
        value_of(scalar, row)
    except NumericError:
        return True
    return False
