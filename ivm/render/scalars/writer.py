"""The source text of one fused loop while it is being written: lines, names, and what the loop takes as arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from ivm.catalog.types import Kind, Physical
from ivm.render.scalars.failures import Problem, overflow
from ivm.render.scalars.text_memo import TextMemo
from ivm.sql.ir.scalar import Call, Literal, Scalar


class NotCompiledError(Exception):
    """The expression has no compiled form; the interpreter evaluates it."""


@dataclass(frozen=True, slots=True)
class Value:
    """An expression's value in the loop: `words`, one name or literal of source text, or two (low, high) for
    WIDE.

    Integers, days and codes are int64 whatever their column holds. `valid` is a name that is True where the
    value is not NULL; None if it never is.
    """

    words: tuple[str, ...]
    valid: str | None = None

    @property
    def word(self) -> str:
        """The only word."""
        assert len(self.words) == 1
        return self.words[0]


_ITEMS = {
    Physical.BOOL: ("bool_at",),
    Physical.CODE: ("int32_at",),
    Physical.INT32: ("int32_at",),
    Physical.INT64: ("int64_at",),
    Physical.WIDE: ("int64_at", "high_at"),
    Physical.FLOAT64: ("double_at",),
}
"""What reads the words of a value by its address; see `ivm.kernels.memory.located`."""


_SHORT = 4


def _zero(physical: Physical) -> str:
    return {Physical.FLOAT64: "0.0", Physical.BOOL: "False"}.get(physical, "int64(0)")


class Script(ABC):
    """Where a body writes its steps: into a loop (`Writer`), or to be run at once over columns (`Arrays`)."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.lines: list[str] = []
        self._names = 0

    def line(self, text: str) -> None:
        """Another line."""
        self.lines.append(text)

    def name(self) -> str:
        """A name not used before."""
        self._names += 1
        return f"v{self._names}"

    def let(self, expression: str) -> str:
        """A name for what the expression yields."""
        (name,) = self.lets(expression, 1)
        return name

    def lets(self, expression: str, count: int) -> tuple[str, ...]:
        """A name for each of the values that the expression yields."""
        names = tuple(self.name() for _ in range(count))
        self.line(f"{', '.join(names)} = {expression}")
        return names

    def both(self, *values: Value) -> str | None:
        """The name that is True where all values are not NULL."""
        names = list(dict.fromkeys(value.valid for value in values if value.valid is not None))
        return self.let(" & ".join(names)) if len(names) > 1 else names[0] if names else None

    def literal(self, literal: Literal) -> Value:
        """A literal as a constant."""
        type_, value = literal.type, literal.value
        if value is None:
            zero = _zero(type_.physical)
            return Value((zero, zero) if type_.physical is Physical.WIDE else (zero,), "False")
        if type_.is_float:
            return Value((self.double(float(value)),))
        if type_.kind is Kind.BOOLEAN:
            return Value((str(bool(value)),))
        if type_.physical is Physical.CODE:
            return Value((self.integer(self.context.literals.code(value)),))
        if type_.physical is Physical.WIDE:
            low = int(value) & ((1 << 64) - 1)
            return Value((self.integer(low - (1 << 64) if low >> 63 else low), self.integer(int(value) >> 64)))
        return Value((self.integer(int(value)),))

    @abstractmethod
    def value(self, scalar: Scalar) -> Value:
        """What the expression yields on every row."""

    @abstractmethod
    def value_where(self, condition: str, scalar: Scalar) -> Value:
        """What it yields where the condition holds. On other rows it is anything, and does not raise."""

    @abstractmethod
    def text_order(self, a: str, b: str) -> str:
        """-1, 0 or 1 by the bytes of two texts, which have codes in no order."""

    @abstractmethod
    def integer(self, value: int) -> str:
        """An int64 constant."""

    @abstractmethod
    def double(self, value: float) -> str:
        """A float64 constant."""

    @abstractmethod
    def ordered_set(self, values: Any) -> str:
        """An ascending int64 array."""

    @abstractmethod
    def fail(self, condition: str, valid: str | None, problem: Problem = overflow) -> None:
        """A NumericError where the condition holds on a row that is not NULL."""


Steps = Callable[[Script, Call, list[Value]], Value]
"""From the values of a call's arguments to its own."""


class Masked(IntEnum):
    """How it is told which values of a column are not NULL: all are, or by bits or bytes."""

    NEVER = 0
    BITS = 1
    BYTES = 2


@dataclass(frozen=True, slots=True)
class Access:
    """How a loop reads a column, number `slot` of those it may read; see `ivm.kernels.memory.places`.

    `group`: the number of its source among those that are read, where the column has a `number`. `by_refs`: through the
    references to that source, else by the row's own number. `stride`: from an item to the next, if it is `in_pieces`.
    Values whose form is int64 are int32 where the `size` is 4.
    """

    slot: int
    group: int
    number: int
    by_refs: bool
    masked: Masked
    size: int
    in_pieces: bool
    stride: int


@dataclass(slots=True)
class Arguments:
    """What the loop takes, in the order in which the text names them: k0.., f0.., s0.., t0.., p0... ."""

    integers: list[int] = field(default_factory=list)
    doubles: list[float] = field(default_factory=list)
    sets: list[Any] = field(default_factory=list)
    memos: list[TextMemo] = field(default_factory=list)
    evaluated: list[tuple[Scalar, bool]] = field(default_factory=list)


class Writer(Script):
    """Writes the loop's body; `access[c]` for every input column c that it may read."""

    def __init__(self, access: dict[int, Access], context: Any, emit: Callable[[Writer, Scalar], Value]) -> None:
        super().__init__(context)
        self.access = access
        self._emit = emit
        self.arguments = Arguments()
        self.maps: dict[int, Value] = {}
        self.left: set[int] = set()
        """The maps that the interpreter computes behind the loop: nothing in it can read them."""
        self.located: dict[int, str] = {}
        self.pieces: dict[int, int] = {}
        self._strides: dict[int, str] = {}
        self._depth = 1
        self._scopes: list[dict[Any, Value]] = [{}]

    def line(self, text: str) -> None:
        """Another line of the body."""
        super().line("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Lines below `head`; what is loaded in there is known in there only."""
        self.line(head)
        self._depth += 1
        self._scopes.append({})
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.line("pass")
        self._scopes.pop()
        self._depth -= 1

    def value(self, scalar: Scalar) -> Value:
        """What the expression yields on every row."""
        return self._emit(self, scalar)

    def value_where(self, condition: str, scalar: Scalar) -> Value:
        """What the expression yields where the condition holds, which is asked before all but what costs nothing."""
        if condition == "True" or not isinstance(scalar, Call):
            return self.value(scalar)
        with self.block(f"if {condition}:"):
            value = self.value(scalar)
            names = tuple(self.let(word) for word in value.words)
            valid = None if value.valid is None else self.let(value.valid)
        nothing = self.literal(Literal(None, scalar.type))
        with self.block("else:"):
            for name, zero in zip(names, nothing.words, strict=True):
                self.line(f"{name} = {zero}")
            if valid is not None:
                self.line(f"{valid} = False")
        return Value(names, valid)

    def text_order(self, a: str, b: str) -> str:
        """No loop reads texts."""
        raise NotCompiledError(f"the order of {a} and {b}")

    def integer(self, value: int) -> str:
        """An int64 constant, given to the loop in its frame."""
        self.arguments.integers.append(value)
        return f"k{len(self.arguments.integers) - 1}"

    def double(self, value: float) -> str:
        """A float64 constant, given to the loop in its frame."""
        self.arguments.doubles.append(value)
        return f"f{len(self.arguments.doubles) - 1}"

    def ordered_set(self, values: Any) -> str:
        """An ascending int64 array, given to the loop by its address among the constants."""
        self.arguments.sets.append(values)
        return f"s{len(self.arguments.sets) - 1}"

    def memo(self, memo: TextMemo) -> int:
        """The number i of a memo, whose arrays lie at t{i} (states) and, unless BOOLEAN, u{i} (values)."""
        if memo not in self.arguments.memos:
            self.arguments.memos.append(memo)
        return self.arguments.memos.index(memo)

    def fail(self, condition: str, valid: str | None, problem: Problem = overflow) -> None:
        """Leave the loop where the condition holds on a row that is not NULL: the interpreter says what is wrong."""
        guarded = condition if valid is None else f"{valid} and ({condition})"
        self.line(f"if {guarded}:")
        self.line("    return FAILED")

    def column(self, index: int, physical: Physical) -> Value:
        """An input column's value, loaded once in a scope."""
        known = self._known(index)
        if known is not None:
            return known
        access = self.access[index]
        row = self._row(access.group) if access.by_refs else "i"
        return self._keep(index, self._at_address(access, row, physical))

    def precomputed(self, scalar: Scalar, masked: bool, physical: Physical) -> Value:
        """A sub-expression that the interpreter evaluates on all rows before the loop runs."""
        known = self._known(scalar)
        if known is not None:
            return known
        if (scalar, masked) not in self.arguments.evaluated:
            self.arguments.evaluated.append((scalar, masked))
        place = self.arguments.evaluated.index((scalar, masked))
        valid = self.let(f"bool_at(p{place}v, i)") if masked else None
        return self._keep(scalar, self.load(f"p{place}", "i", physical, valid))

    def load(self, place: str, row: str, physical: Physical, valid: str | None) -> Value:
        """A row's value of what lies at a place."""
        return Value(self._named(f"{item}({place}, {row})" for item in _ITEMS[physical]), valid)

    def _at_address(self, access: Access, row: str, physical: Physical) -> Value:
        """A value where it lies; under NULL in Arrow's memory, where anything may lie, zero."""
        slot = access.slot
        place, valid = f"c{slot}", None
        self.located[slot] = self.located.get(slot) or self.integer(access.number)
        if access.in_pieces:
            place = self.let(f"in_piece(word_at(c{slot}[0], int64({self._piece(access)})), {self._stride(access)})")
        if access.masked is Masked.BYTES:
            return self.load(place, row, physical, self.let(f"bool_at(c{slot}v, {row})"))
        if access.masked is Masked.BITS:
            valid = self.let(f"is_there({place}, {row})")
        items = _ITEMS[Physical.INT32 if access.size == _SHORT and physical is Physical.INT64 else physical]
        words = [f"{item}({place}, {row})" for item in items]
        zero = _zero(physical)
        return Value(self._named(words if valid is None else [f"where({valid}, {w}, {zero})" for w in words]), valid)

    def _named(self, expressions: Iterable[str]) -> tuple[str, ...]:
        return tuple(self.let(each) for each in expressions)

    def _stride(self, access: Access) -> str:
        if access.stride not in self._strides:
            self._strides[access.stride] = self.integer(access.stride)
        return self._strides[access.stride]

    def _keep(self, key: Any, value: Value) -> Value:
        self._scopes[-1][key] = value
        return value

    def _row(self, group: int) -> str:
        known = self._known(("refs", group))
        if known is None:
            known = self._keep(("refs", group), Value((self.let(f"uint64(int64_at(r{group}, i))"),)))
        return known.word

    def _piece(self, access: Access) -> str:
        """The piece of a row, which all columns of a source have in common."""
        group = access.group
        known = self._known(("piece", group))
        if known is None:
            self.pieces.setdefault(group, access.slot)
            row = f"int64({self._row(group)})" if access.by_refs else "signed"
            known = self._keep(("piece", group), Value((self.let(f"piece_of(g{group}p, g{group}s, {row})"),)))
        return known.word

    def _known(self, key: Any) -> Value | None:
        for scope in self._scopes:
            if key in scope:
                return scope[key]
        return None

    def mark(self) -> tuple[int, int, list[dict[Any, Value]]]:
        """Where the text stands, for `back`."""
        return len(self.lines), self._depth, [dict(scope) for scope in self._scopes]

    def back(self, mark: tuple[int, int, list[dict[Any, Value]]]) -> None:
        """Forget what was written since `mark`."""
        del self.lines[mark[0] :]
        self._depth, self._scopes = mark[1], mark[2]
