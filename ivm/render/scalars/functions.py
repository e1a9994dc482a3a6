"""What computes functions, and what they may use: the dictionary, what is remembered, a scratch for texts."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from ivm.catalog.types import VARCHAR
from ivm.render.scalars.columns import Rows
from ivm.render.scalars.text_memo import TextMemo
from ivm.sql.ir.scalar import Scalar
from ivm.trace.columns.column import Column
from ivm.trace.text.dictionary import Literals, TextDictionary
from ivm.trace.text.texts import Texts

Evaluate = Callable[[Rows], Column]
Apply = Callable[..., Column]
Each = TypeVar("Each")

MOST = 1 << 20
"""Bytes of texts from which on a scratch is thrown away, as soon as one is asked for."""


class ScratchTexts:
    """Texts of the database by their codes in a scratch, read as a function of the column that they stand in."""

    type = VARCHAR
    memo = None

    def __init__(self, dictionary: TextDictionary, database: TextDictionary) -> None:
        self._dictionary, self._database = dictionary, database

    def of_texts(self, texts: Texts) -> Column:
        """Strings where they lie."""
        return self._dictionary.encode_texts(texts)

    def of_codes(self, column: Column) -> Column:
        """Strings that have codes of the database."""
        there = self._database.now().packed(column.values, column.valid)
        return Column(self._dictionary.encode_parts(*there, column.valid), column.valid)


class Context:
    """What the functions of an expression may use beside their arguments: the text dictionary and what is remembered of
    its strings. Literals and memos stay for as long as this does.

    A scratch is a context, too: `texts` gives the texts of the database codes of its dictionary.
    """

    def __init__(self, dictionary: TextDictionary, texts: ScratchTexts | None = None) -> None:
        self.dictionary = dictionary
        self.texts = texts
        self.literals = Literals(dictionary)
        self._memos: dict[Hashable, TextMemo] = {}
        self._scratch: Context | None = None

    def scratch(self) -> Context:
        """A scratch for who computes something now; another one once this one holds much."""
        scratch = self._scratch
        if scratch is None or scratch.dictionary.weight > MOST:
            dictionary = TextDictionary()
            scratch = self._scratch = Context(dictionary, ScratchTexts(dictionary, self.dictionary))
        return scratch

    @property
    def remembers(self) -> bool:
        """Whether it has memos, which grow with the dictionary."""
        return bool(self._memos)

    def memo(self, key: Hashable, make: Callable[[], TextMemo]) -> TextMemo:
        """The memo of a function with its constant arguments, which all expressions over the dictionary share."""
        memo = self._memos.get(key)
        if memo is None:
            memo = self._memos[key] = self.shared((TextMemo, key), make)
        return memo

    def shared(self, key: Hashable, make: Callable[[], Each]) -> Each:
        """What all who ask by this key have, made now if nobody has it."""
        known: Each | None = self.dictionary.shared.get(key)
        if known is None:
            known = self.dictionary.shared[key] = make()
        return known


Interpreter = Callable[[Scalar, Context], Evaluate]
