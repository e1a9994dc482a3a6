"""Scalar expressions: columns by position, literals in engine form, and calls of named functions.

Every expression is typed. The binder has already inserted every cast, so a function's arguments have exactly the
types that its definition below asks for, and no consumer has to coerce.

Engine form of literals: int for the integer types; the scaled int for DECIMAL (1.25 as DECIMAL(3,2) is 125);
int days for DATE; int microseconds for TIMESTAMP; float, bool, str; None for NULL of any type.

Functions (all return NULL if an argument is NULL unless said otherwise). T stands for one type, the same on
each argument and, where the result is T, on the result:

==========================  =======================================================================================
add, sub (T, T) -> T        integers, DECIMAL (equal scale), DOUBLE; out of the type's range raises NumericError
mul (A, B) -> R             integers and DOUBLE as add; DECIMAL: scale(R) = scale(A) + scale(B), precisions differ
neg, abs (T) -> T           numbers
sign (T) -> TINYINT         numbers; 0 for NaN
div (DOUBLE, DOUBLE)        IEEE division: x/0 is inf, 0/0 is NaN (as DuckDB)
idiv, mod (T, T) -> T       integers (truncating); division by zero raises; mod also DECIMAL (equal scale), and DOUBLE,
                            whose remainder by zero is NaN
bit_and, bit_or, xor (T, T) -> T   integers
bit_not (T) -> T            integers
shift_left (T, T) -> T      integers; raises for a negative argument, a shift by the type's width and more, an overflow
shift_right (T, T) -> T     integers; 0 where the shift is negative or the type's width and more
bit_count (T) -> TINYINT    integers
gcd, lcm (T, T) -> T        BIGINT, HUGEINT; factorial (INTEGER) -> HUGEINT
eq ne lt le gt ge (T, T)    BOOLEAN. Text compares by its bytes; NaN equals NaN and is greater than all others
is_null (T)                 BOOLEAN, never NULL
is_distinct (T, T)          BOOLEAN, never NULL: NULL-safe inequality
not (BOOLEAN)               three-valued
and, or (BOOLEAN, ...)      n-ary, three-valued
case (c1, v1, ..., else)    BOOLEAN conditions, values and else of the result's type; only the taken branch may raise
coalesce (T, ...) -> T      the first that is not NULL; only the evaluated arguments may raise
nullif (T, T) -> T          NULL where equal, else the first
greatest, least (T, ...)    skip NULLs
in (T, literal, ...)        BOOLEAN with SQL's NULL semantics; the list holds literals of type T
cast (A) -> R               exact or raises NumericError; to text and from text included; DOUBLE -> DECIMAL/integer
                            rounds as DuckDB does; DECIMAL -> smaller scale rounds half away from zero
try_cast (A) -> R           cast, NULL where that raises

round, trunc (T, literal digits)   numbers; digits below 0 cut before the point
floor, ceil (T)             DECIMAL, and DOUBLE -> DOUBLE
sqrt cbrt exp ln log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh cot degrees radians even
(DOUBLE) -> DOUBLE          NaN outside their domain, never an error; so power, atan2 (DOUBLE, DOUBLE), and log, whose
                            first argument is the base
is_nan, is_inf, is_finite (DOUBLE)   BOOLEAN

extract (literal part, DATE | TIMESTAMP) -> BIGINT   year month day quarter dow isodow doy week hour minute second ...;
                            the parts epoch (seconds) and julian are DOUBLE
date_trunc (literal part, DATE | TIMESTAMP) -> TIMESTAMP   (DATE -> DATE where DuckDB does so)
date_diff (literal part, T, T) -> BIGINT   DATE or TIMESTAMP: the boundaries of the part between the two
date_sub (literal part, TIMESTAMP, TIMESTAMP) -> BIGINT   the whole parts between the two
add_days (DATE, INTEGER) -> DATE              days_between (DATE, DATE) -> BIGINT: the first minus the second
add_months (DATE | TIMESTAMP, INTEGER) -> same type   clamps to the end of the month
add_micros (TIMESTAMP, BIGINT) -> TIMESTAMP   micros_between (TIMESTAMP, TIMESTAMP) -> BIGINT: first minus second
last_day (DATE) -> DATE     the last day of the month
make_date (BIGINT year, BIGINT month, BIGINT day) -> DATE   raises if there is no such day
make_timestamp (BIGINT year, month, day, hour, minute; DOUBLE seconds) -> TIMESTAMP   likewise
from_micros (BIGINT) -> TIMESTAMP, to_micros (TIMESTAMP) -> BIGINT
strftime (TIMESTAMP, literal format) -> VARCHAR, strptime, try_strptime (VARCHAR, literal format) -> TIMESTAMP
dayname, monthname (DATE) -> VARCHAR
formatted (T, literal format) -> VARCHAR   BIGINT, HUGEINT, DOUBLE, VARCHAR; the format is one of Python's

like, ilike (VARCHAR, VARCHAR [, literal escape])   BOOLEAN
regexp_matches, regexp_full_match (VARCHAR, literal pattern)   BOOLEAN; the pattern in RE2's syntax, with its flags
regexp_replace (VARCHAR, literal pattern, literal rewrite, literal BOOLEAN every) -> VARCHAR
regexp_extract (VARCHAR, literal pattern, literal INTEGER group) -> VARCHAR
upper lower trim ltrim rtrim length strlen bit_length substring left right cut concat replace repeat lpad rpad reverse
translate split_part strpos starts_with ends_with contains ascii unicode chr levenshtein hex md5 sha1 sha256
                            text functions as DuckDB's, whose names they bear (cut is text[a:b])
==========================  =======================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import is_not

from catalog.types import BOOLEAN, Physical, SqlType

Value = int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class Column:
    """Column `index` of the input row."""

    index: int
    type: SqlType
    nullable: bool = True

    def __hash__(self) -> int:
        """By the position: columns of one row seldom differ in nothing else."""
        return hash(self.index)


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant in engine form (see the module)."""

    value: Value
    type: SqlType

    @property
    def nullable(self) -> bool:
        """Whether this is NULL."""
        return self.value is None


def some_value(type_: SqlType) -> Value:
    """A value of the type, whichever: what stands where none is looked at."""
    return _SOME.get(type_.physical, 0)


_SOME: dict[Physical, Value] = {Physical.BOOL: False, Physical.CODE: "", Physical.FLOAT64: 0.0}


class _HashedOnce:
    """Room for a hash."""

    __slots__ = ("_hash",)
    _hash: int


@dataclass(frozen=True, slots=True)
class Call(_HashedOnce):
    """`function` applied to `args`; `nullable` is False only if the result can never be NULL."""

    function: str
    args: tuple[Scalar, ...]
    type: SqlType
    nullable: bool = True

    def __hash__(self) -> int:
        """Expressions are looked up by value time and again, so each remembers its hash."""
        try:
            return self._hash
        except AttributeError:
            found = hash((self.function, self.args, self.nullable))
            object.__setattr__(self, "_hash", found)
            return found


@dataclass(frozen=True, slots=True)
class Outer:
    """Column `index` of the row that the enclosing Apply numbered `binding` is at, seen from inside its right side.

    Stands only between binding and decorrelation (`sql.decorrelate`).
    """

    binding: int
    index: int
    type: SqlType
    nullable: bool = True


Scalar = Column | Literal | Call | Outer

MAKES_NULL = frozenset(("nullif", "try_cast", "try_strptime"))
"""Functions that may be NULL though no argument is."""

STRICT = frozenset((
    "add", "sub", "mul", "neg", "abs", "div", "idiv", "mod", "eq", "ne", "lt", "le", "gt", "ge", "not", "cast",
    "like", "ilike", "extract", "date_trunc", "add_days", "days_between", "add_months", "add_micros",
    "round", "floor", "ceil", "sqrt", "ln", "exp", "power",
    "upper", "lower", "trim", "length", "substring", "replace", "starts_with", "contains",
))  # fmt: skip
"""Functions known to be NULL where an argument is, whatever the others are; there may be more."""

MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
"""For each comparison f the g with f(a, b) = g(b, a)."""

NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}
"""For each comparison f the g with NOT f(a, b) = g(a, b)."""

TRUE = Literal(True, BOOLEAN)
FALSE = Literal(False, BOOLEAN)


def walk(scalar: Scalar) -> Iterator[Scalar]:
    """Every sub-expression, the expression itself first."""
    waiting = [scalar]
    while waiting:
        found = waiting.pop()
        yield found
        if isinstance(found, Call):
            waiting.extend(reversed(found.args))


def columns_of(scalar: Scalar) -> frozenset[int]:
    """Positions of the columns that the expression reads."""
    if isinstance(scalar, Column):
        return frozenset((scalar.index,))
    found: set[int] = set()
    waiting: list[Scalar] = [scalar]
    for part in waiting:  # which grows meanwhile
        if isinstance(part, Call):
            waiting.extend(part.args)
        elif isinstance(part, Column):
            found.add(part.index)
    return frozenset(found)


def rewrite(scalar: Scalar, function: Callable[[Scalar], Scalar]) -> Scalar:
    """Apply `function` bottom-up to every sub-expression; what it leaves as it is stays the very same object."""
    if isinstance(scalar, Call):
        args = tuple([rewrite(arg, function) if isinstance(arg, Call) else function(arg) for arg in scalar.args])
        if any(map(is_not, args, scalar.args)):
            scalar = Call(scalar.function, args, scalar.type, scalar.nullable)
    return function(scalar)


def remap(scalar: Scalar, positions: Callable[[int], int]) -> Scalar:
    """The expression over a row in which column i stands at `positions(i)`."""

    def move(s: Scalar) -> Scalar:
        if not isinstance(s, Column):
            return s
        index = positions(s.index)
        return s if index == s.index else Column(index, s.type, s.nullable)

    return rewrite(scalar, move)


def substitute(scalar: Scalar, values: tuple[Scalar, ...]) -> Scalar:
    """Replace column i by `values[i]`: the expression over the input of the row that `values` compute."""
    return rewrite(scalar, lambda s: values[s.index] if isinstance(s, Column) else s)
