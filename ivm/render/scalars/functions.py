"""What a family of functions offers to the interpreter.

A *strict* function maps columns to a column, row by row. A *lazy* one builds what it reads of its arguments for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from ivm.render.scalars.columns import Rows
from ivm.render.scalars.text_memo import TextMemo
from ivm.trace.column import Column
from ivm.trace.dictionary import Literals, TextDictionary
from sql.ir.scalar import Call, Scalar

Evaluate = Callable[[Rows], Column]
Apply = Callable[..., Column]
Build = Callable[[Scalar], Evaluate]
Each = TypeVar("Each")


class Context:
    """What the functions of an expression may use beside their arguments: the text dictionary and what is remembered of
    its strings. Literals and memos stay for as long as this does.
    """

    def __init__(self, dictionary: TextDictionary) -> None:
        self.dictionary = dictionary
        self.literals = Literals(dictionary)
        self._memos: dict[Hashable, TextMemo] = {}

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


Lazy = Callable[[Call, Context, Build], Evaluate]
