"""What a family of functions offers to the interpreter.

A *strict* function maps columns to a column, row by row; its arguments are evaluated on every row. A *lazy* one
decides for itself on which rows it evaluates its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ivm.render.scalars.rows import Rows
from ivm.render.scalars.text_memo import Memos
from ivm.trace.column import Column
from sql.ir.scalar import Call, Scalar

Evaluate = Callable[[Rows], Column]
Apply = Callable[..., Column]
Build = Callable[[Scalar], Evaluate]


@dataclass(frozen=True, slots=True)
class Context:
    """What functions may use beside their arguments: the text dictionary and what is remembered of its strings."""

    dictionary: Any
    memos: Memos


Lazy = Callable[[Call, Context, Build], Evaluate]
