"""Three-valued logic and the functions that evaluate an argument only on the rows that need it."""

from __future__ import annotations

from ivm.analysis.ranges import can_raise
from ivm.catalog.errors import NumericError
from ivm.render.scalars.bodies.body import Body
from ivm.render.scalars.writer import Script, Value
from ivm.sql.ir.scalar import Call, Literal


def negation(script: Script, call: Call, args: list[Value]) -> Value:
    """not(a)."""
    return Value((script.let(f"{args[0].word} ^ True"),), args[0].valid)  # what is constant stays a truth value


def junction(script: Script, call: Call, args: list[Value]) -> Value:
    """and(a, ...), or(a, ...): an argument that can raise is evaluated only where those before it leave it open."""
    decided, terms = "False", list[Value]()
    for arg in call.args:
        term = script.value_where(f"{decided} ^ True", arg) if terms and can_raise(arg) else script.value(arg)
        terms.append(term)
        hit = term.word if call.function == "or" else f"({term.word} ^ True)"
        decided = script.let(f"{decided} | {hit}" if term.valid is None else f"{decided} | {term.valid} & {hit}")
    valid = script.both(*terms)  # where an argument was left out, it is decided without it
    word = decided if call.function == "or" else script.let(f"{decided} ^ True")
    return Value((word,), None if valid is None else script.let(f"{valid} | {decided}"))


def case(script: Script, call: Call, args: list[Value]) -> Value:
    """case(c1, v1, ..., else): what can raise is evaluated only where its condition is the first to hold."""
    left, branches, guarded = "True", list[tuple[str, Value]](), any(map(can_raise, call.args))
    for condition, then in zip(call.args[:-1:2], call.args[1::2], strict=True):
        asked = script.value_where(left, condition) if branches and can_raise(condition) else script.value(condition)
        hit = script.let(_holds(asked))
        branches.append((hit, script.value_where(f"{left} & {hit}" if guarded else hit, then)))
        if guarded:
            left = script.let(f"{left} & ({hit} ^ True)")
    found = script.value_where(left, call.args[-1])
    for hit, value in reversed(branches):
        found = _chosen(script, hit, value, found)
    return found


def coalesce(script: Script, call: Call, args: list[Value]) -> Value:
    """coalesce(a, ...): the first that is not NULL."""
    found = script.value(call.args[0])
    for arg in call.args[1:]:
        if found.valid is None:
            break
        other = script.value_where(f"{found.valid} ^ True", arg)
        found = _chosen(script, found.valid, Value(found.words), other)
    return found


def _holds(value: Value) -> str:
    """The condition that a BOOLEAN value is TRUE."""
    return value.word if value.valid is None else f"{value.valid} & {value.word}"


def _chosen(script: Script, hit: str, then: Value, otherwise: Value) -> Value:
    """`then` where hit, else `otherwise`."""
    pairs = zip(then.words, otherwise.words, strict=True)
    words = tuple(script.let(f"where({hit}, {one}, {other})") for one, other in pairs)
    if then.valid is None and otherwise.valid is None:
        return Value(words)
    return Value(words, script.let(f"where({hit}, {then.valid or 'True'}, {otherwise.valid or 'True'})"))


def raise_if(script: Script, call: Call, args: list[Value]) -> Value:
    """raise_if(condition, message, value): the value, or NumericError with the message."""
    (condition, value), message = args, call.args[1]
    assert isinstance(message, Literal), "the message is a literal"
    script.fail(condition.word, condition.valid, lambda attempt: NumericError(str(message.value)))
    return value


def collate(script: Script, call: Call, args: list[Value]) -> Value:
    """collate(text, collation): the text."""
    return args[0]


BODIES = (
    Body("not", negation),
    *(Body(name, junction, values=(), narrow=True) for name in ("and", "or")),
    Body("case", case, values=(), narrow=True),
    Body("coalesce", coalesce, values=(), narrow=True),
    Body("collate", collate, values=(0,), narrow=True),
    Body("raise_if", raise_if, values=(0, 2), narrow=True),
)
