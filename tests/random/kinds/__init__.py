"""The kinds of values that random tables have, each declared once: types, values, literals, and expressions.

How to add a type: a `Type` of the kind that it is mixed with, or a `Kind` in one of the files beside this one. Columns,
literals, cases and queries have it then; forms of other kinds may name it.
"""

from __future__ import annotations

from random import Random

from tests.random.kinds import moments, nested, numbers, texts
from tests.random.kinds.kind import Kind, Pairs, Record, Type, Value, expanded

__all__ = ["BASIC", "KINDS", "KIND_OF", "TYPES", "Kind", "Pairs", "Record", "Type", "Value", "expanded", "random_kind"]

_ALL = (
    numbers.INT, numbers.DEC, numbers.DBL, texts.STR, moments.DATE, moments.TS, numbers.BOOL, nested.LIST, nested.REC,
    nested.ARR, nested.WORDS, nested.MAP, nested.JSN, moments.TSZ, moments.IVL, moments.TIME, texts.CI, texts.BYTES,
    texts.MOOD,
)  # fmt: skip

KINDS = {kind.name: kind for kind in _ALL}
"""All kinds by name."""

BASIC = tuple(KINDS)[:6]
"""Those that everything can be made of."""

TYPES = {name: type_ for kind in _ALL for name, type_ in kind.types.items()}
"""All types by the names that DuckDB has for them."""

KIND_OF = {name: kind for kind in _ALL for name in kind.types}
"""The kind of each type."""

_WEIGHTS = [kind.weight for kind in _ALL]


def random_kind(rng: Random) -> str:
    """The name of some kind, of those that weigh more more often."""
    return rng.choices(_ALL, _WEIGHTS)[0].name
